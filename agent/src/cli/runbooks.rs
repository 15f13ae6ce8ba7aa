//! `postern runbook`.

use super::ids::is_part;
use super::session::Session;
use super::subcommands::{Runbooks, When};
use super::tasks::{Going, RunRequest};
use crate::protocol::event::AgentError;
use crate::protocol::exit::Exit;
use crate::protocol::plan::Plan;
use crate::protocol::request::Request;
use crate::protocol::task::{Task, Work};
use crate::render::Table;
use crate::runbooks::{
    self, Grants, Loaded, Origin, Remark, Report, Runbook, Values, located, parts, read_draft,
};
use crate::shell_policy::Rules;
use hyper::Method;
use serde_json::json;
use std::path::Path;

fn invalid(why: impl Into<String>) -> AgentError {
    AgentError::new("invalid_argument", why)
}

impl Session<'_> {
    pub(super) async fn runbook(&mut self, command: Runbooks) -> Exit {
        let done = match command {
            Runbooks::List => self.list_runbooks().await,
            Runbooks::Show { name } => self.show_runbook(&name),
            Runbooks::Check { runbook, values } => self.check_runbook(&runbook, &values).await,
            Runbooks::FromTask { id } => self.draft_runbook(&id).await,
            Runbooks::Run { name, values, when } => self.run_runbook(&name, &values, &when).await,
        };
        done.unwrap_or_else(|fault| self.fail(&fault))
    }

    async fn list_runbooks(&mut self) -> Result<Exit, AgentError> {
        let rules = self.runbook_rules()?;
        let all = runbooks::load(self.host);
        let prepare = self.questions();
        let transport = self.transport();
        let mut grants = Grants::new(&transport, &prepare);
        let (mut rows, mut table) = (Vec::new(), Vec::new());
        for Loaded { name, path, origin, replaces, runbook } in &all {
            let mut row = json!({ "name": name, "path": path, "origin": origin, "replaces": replaces });
            match runbook {
                Ok(runbook) => {
                    let plan = runbook.plan(&runbook.samples()).map_err(invalid)?;
                    let is_open = |part: &runbooks::PlannedPart| runbook.is_open(part.part, part.number);
                    let report = grants.decide(&parts(&plan, &rules), &is_open).await;
                    let state = if report.state() == "granted" && !report.later.is_empty() {
                        "depends on values"
                    } else {
                        report.state()
                    };
                    let of = match origin {
                        Origin::Site if *replaces => " (of this site, in place of the package's)",
                        Origin::Site => " (of this site)",
                        Origin::Package => "",
                    };
                    table.push((name.clone(), state, format!("{}{of}", runbook.title), lines(&report.lacks)));
                    if let Some(why) = &report.unknown {
                        table.push((
                            String::new(),
                            "",
                            format!("the policy could not be asked: {why}"),
                            Vec::new(),
                        ));
                    }
                    row["state"] = json!(state);
                    row["title"] = json!(runbook.title);
                    row["parameters"] = json!(runbook.parameters);
                    row["decision"] = json!(report);
                }
                Err(fault) => {
                    let why = located(path, fault);
                    row["state"] = json!("invalid");
                    row["fault"] = json!(why);
                    table.push((name.clone(), "invalid", why, Vec::new()));
                }
            }
            rows.push(row);
        }
        if self.global.json.is_some() {
            self.console.json(&rows);
            return Ok(Exit::Done);
        }
        let mut head = Table::default();
        for (name, state, title, _) in &table {
            head.row([name.as_str(), state, title]);
        }
        let text = head.render("", self.console.width);
        for (line, (.., lacks)) in text.lines().zip(&table) {
            self.console.result(&format!("{line}\n"));
            for lack in lacks {
                self.console.result(&format!("    lacks {}\n", postern_text::line(lack)));
            }
        }
        if all.is_empty() {
            self.console.say("there are no runbooks");
        }
        Ok(Exit::Done)
    }

    fn show_runbook(&mut self, name: &str) -> Result<Exit, AgentError> {
        let (loaded, runbook) = runbooks::find(self.host, name)?;
        if self.global.json.is_some() {
            let mut whole = runbooks::whole(&runbook);
            (whole["path"], whole["origin"]) = (json!(loaded.path), json!(loaded.origin));
            self.console.json(&whole);
        } else {
            let text = runbooks::text(&runbook, self.console.width);
            self.console.result(&text);
        }
        Ok(Exit::Done)
    }

    async fn check_runbook(&mut self, named: &str, values: &[String]) -> Result<Exit, AgentError> {
        let runbook = if named.contains('/') || Path::new(named).extension().is_some_and(|end| end == "yaml")
        {
            let path = Path::new(named);
            read_draft(path).map_err(|fault| invalid(located(path, &fault)))?
        } else {
            runbooks::find(self.host, named)?.1
        };
        let (plan, _, report) = self.decided(&runbook, values).await?;
        if let Some(why) = &report.unknown {
            return Err(unasked(why));
        }
        if self.global.json.is_some() {
            self.console.json(
                &json!({ "name": runbook.name, "state": report.state(), "decision": report, "plan": plan }),
            );
        } else {
            let text = crate::plan::table(&plan, self.console.width);
            self.console.result(&text);
            self.remark(&report);
            self.console.result(&format!("{}: {}\n", runbook.name, report.state()));
        }
        Ok(match report.state() {
            "not granted" => Exit::Refused,
            "with approval" => Exit::NotApproved,
            _ => Exit::Done,
        })
    }

    async fn draft_runbook(&mut self, id: &str) -> Result<Exit, AgentError> {
        if !is_part(id) {
            return Err(invalid("a task's id is hex digits and dashes"));
        }
        let answer = self.of_agent(Method::GET, &format!("/tasks/{id}"), None).await?;
        let task: Task = serde_json::from_value(answer).map_err(|error| {
            AgentError::new("internal", format!("the agent's answer is no task: {error}"))
        })?;
        let draft = runbooks::draft(&task).map_err(|why| AgentError::new("failed", why))?;
        if self.global.json.is_some() {
            let runbooks::Draft { name, text, left_out } = draft;
            self.console.json(&json!({ "name": name, "text": text, "left_out": left_out }));
        } else {
            self.console.result(&draft.text);
        }
        Ok(Exit::Done)
    }

    async fn run_runbook(&mut self, name: &str, values: &[String], when: &When) -> Result<Exit, AgentError> {
        let (_, runbook) = runbooks::find(self.host, name)?;
        let (plan, values, report) = self.decided(&runbook, values).await?;
        if let Some(why) = &report.unknown {
            return Err(unasked(why));
        }
        if !report.lacks.is_empty() {
            let lacks = lines(&report.lacks).join("; ");
            let why = format!(
                "{name} is not offered: the policy does not grant all of it: {lacks}; nothing has been done"
            );
            return Err(AgentError::new("no_grant", why));
        }
        if !self.is_silent() {
            for line in lines(&report.asks) {
                self.console.say(&postern_text::line(&line));
            }
        }
        let task = plan.goal().to_owned();
        let wanted = RunRequest {
            task,
            steps: Vec::new(),
            work: Work::CarryOut(Box::new(plan)),
            going: Going::Anew,
            runbook: Some((runbook.name.clone(), values)),
        };
        Ok(self.run_or_schedule(wanted, when).await)
    }

    /// The plan of a runbook with these values, and the policy's word about it.
    async fn decided(
        &mut self,
        runbook: &Runbook,
        values: &[String],
    ) -> Result<(Plan, Values, Report), AgentError> {
        let values = runbook.values(&given(values)?).map_err(invalid)?;
        let plan = runbook.plan(&values).map_err(|why| invalid(format!("{}: {why}", runbook.name)))?;
        let rules = self.runbook_rules()?;
        let prepare = self.questions();
        let transport = self.transport();
        let report = Grants::new(&transport, &prepare).decide(&parts(&plan, &rules), &|_| false).await;
        Ok((plan, values, report))
    }

    /// The rules of the agent's own commands, as `shell check` reads them.
    fn runbook_rules(&self) -> Result<Rules, AgentError> {
        Rules::load(&self.host.shell_rules()).map_err(|why| AgentError::new("failed", why))
    }

    /// Makes the questions about grants.
    fn questions(
        &self,
    ) -> impl Fn(Request) -> crate::client::pending_request::PendingRequest + Send + Sync + use<> {
        let template = self.prepare(Request::PolicyDescribe(crate::protocol::args::Nothing {}), self.mode());
        move |request| {
            let mut ask = template.clone();
            ask.request = request;
            ask.id = crate::client::pending_request::new_id();
            "whether a runbook is granted".clone_into(&mut ask.reason);
            ask
        }
    }

    fn remark(&mut self, report: &Report) {
        for (head, list) in [("lacks", &report.lacks), ("asks", &report.asks), ("later", &report.later)] {
            for line in lines(list) {
                self.console.result(&format!("  {head} {}\n", postern_text::line(&line)));
            }
        }
    }
}

fn unasked(why: &str) -> AgentError {
    let (code, message) = why.split_once(": ").unwrap_or(("failed", why));
    AgentError::new(code, format!("the policy could not be asked: {message}; nothing has been done"))
}

fn lines(remarks: &[Remark]) -> Vec<String> {
    let line = |one: &Remark| format!("{} {} ({}): {}", one.part, one.number, one.words, one.why);
    remarks.iter().map(line).collect()
}

/// `KEY=VALUE`, each once.
fn given(values: &[String]) -> Result<Values, AgentError> {
    let mut given = Values::new();
    for value in values {
        let Some((name, value)) = value.split_once('=') else {
            return Err(invalid(format!("{value:?}: a parameter is given as KEY=VALUE")));
        };
        if given.insert(name.to_owned(), value.to_owned()).is_some() {
            return Err(invalid(format!("{name} is given twice")));
        }
    }
    Ok(given)
}
