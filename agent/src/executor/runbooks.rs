//! Reviewed runbooks for a model: summaries in its prompt, the tool `runbook`, and what it did otherwise.

use super::reviewed::Reviewed;
use super::runner::Runner;
use crate::client::pending_request::{PendingRequest, new_id};
use crate::inspect::ReadResult;
use crate::protocol::mode::Mode;
use crate::protocol::request::Request;
use crate::protocol::runbook::Followed;
use crate::protocol::step::{StepResult, StepStatus};
use crate::protocol::task::Task;
use crate::protocol::tool::Tool;
use crate::runbooks::{
    self, Fitting, Grants, PlannedPart, Report, Runbook, Situation, Values, compare, fitting, parts,
    summaries,
};
use serde_json::json;
use std::sync::Arc;

/// Said in the prompt before the summaries.
const OFFER: &str = "Reviewed runbooks that fit (data). Look at one with the tool runbook, and follow it, adapt it or leave it";

impl Runner<'_> {
    /// Names the runbooks that fit the task, as far as the policy grants their steps; one line for the prompt, or empty.
    pub(super) async fn runbooks_that_fit(&mut self, task: &Task, failed_units: Vec<String>) -> String {
        let (host, rules, words) = (self.host.clone(), self.commands.rules(), self.order.task.clone());
        let found = tokio::task::spawn_blocking(move || {
            let loaded = runbooks::load(&host).into_iter();
            let all: Vec<Runbook> = loaded.filter_map(|loaded| loaded.runbook.ok()).collect();
            let situation = Situation { task: &words, failed_units: &failed_units, root: &host.root };
            let fit =
                rules.as_ref().as_ref().map(|rules| fitting(&all, rules, situation)).unwrap_or_default();
            (all, fit)
        });
        let Ok((all, fit)) = found.await else { return String::new() };
        let mut offered = Vec::new();
        for Fitting { runbook, parts } in &fit {
            let report = self.decided(task, parts, &|part| runbook.is_open(part.part, part.number)).await;
            match report.state() {
                "granted" => offered.push((runbook, false)),
                "with approval" => offered.push((runbook, true)),
                // It is not offered. Where the policy cannot be asked, no other is either.
                "unknown" => break,
                _ => {}
            }
        }
        let line = summaries(&offered);
        self.reviewed = Reviewed { all: Arc::new(all), is_offered: !line.is_empty() };
        if line.is_empty() { line } else { format!("\n{OFFER}: {line}") }
    }

    /// Asks the policy about parts of a runbook; nothing is done.
    async fn decided(
        &mut self,
        task: &Task,
        parts: &[PlannedPart],
        is_open: &(dyn Fn(&PlannedPart) -> bool + Send + Sync),
    ) -> Report {
        let (id, session, claimed_uid) = (task.id.clone(), (self.session)(), self.order.owner.claimed_uid());
        let prepare = move |request: Request| PendingRequest {
            request,
            id: new_id(),
            mode: Mode::Check,
            reason: "whether a runbook is granted".to_owned(),
            task: id.clone(),
            claimed_uid,
            session: session.clone(),
            wait_ms: 0,
        };
        Grants::new(self.transport, &prepare).decide(parts, is_open).await
    }

    /// `runbook`: the whole of one; with values, the calls that it is. One that is not granted is not followed.
    pub(super) async fn runbook(&mut self, task: &Task, name: &str, follow: Option<&Values>) -> ReadResult {
        let failed = |code: &str, why: &str| ReadResult::failed(StepStatus::Error, code, why);
        let all = Arc::clone(&self.reviewed.all);
        let Some(runbook) = all.iter().find(|runbook| runbook.name == name) else {
            let known = all.iter().map(|runbook| runbook.name.as_str());
            return failed("not_found", &postern_text::unknown("runbook", name, known));
        };
        let Some(given) = follow else {
            let (status, text) = (StepStatus::Ok, Some(runbooks::text(runbook, None)));
            return ReadResult { status, content: runbooks::whole(runbook), text, error: None };
        };
        let planned = runbook.values(given).and_then(|values| Ok((runbook.plan(&values)?, values)));
        let (plan, values) = match planned {
            Ok(planned) => planned,
            Err(why) => return failed("invalid_argument", &why),
        };
        let (rules, of_plan) = (self.commands.rules(), plan.clone());
        let needs = tokio::task::spawn_blocking(move || {
            rules.as_ref().as_ref().map(|rules| parts(&of_plan, rules)).map_err(Clone::clone)
        });
        let needs = match needs.await {
            Ok(Ok(needs)) => needs,
            Ok(Err(why)) => return failed("failed", &why),
            Err(error) => return failed("internal", &format!("it could not be judged: {error}")),
        };
        let report = self.decided(task, &needs, &|_| false).await;
        if let Some(why) = &report.unknown {
            return failed("failed", &format!("the policy could not be asked: {why}"));
        }
        if !report.lacks.is_empty() {
            let result = failed("no_grant", &format!("{name} is not granted, so it is not followed"));
            return ReadResult { content: json!({ "lacks": report.lacks }), ..result };
        }
        let mut content = runbooks::as_calls(runbook, &values, &plan);
        if !report.asks.is_empty() {
            content["asks"] = json!(report.asks);
        }
        let text = Some(crate::plan::table(&plan, None));
        ReadResult { status: StepStatus::Ok, content, text, error: None }
    }

    /// Puts into the task's record which runbooks its model followed, and what of these steps is otherwise.
    pub(super) fn record_followed(&self, task: &mut Task, done: &[StepResult]) {
        let mut followed: Vec<Followed> = Vec::new();
        for result in task.results.iter().filter(|result| result.went_well()) {
            if let Tool::Runbook { name, follow: Some(values) } = &result.tool {
                // With other values it is followed anew.
                followed.retain(|other| &other.runbook != name);
                let (runbook, values) = (name.clone(), values.clone());
                followed.push(Followed { runbook, values, differences: Vec::new() });
            }
        }
        let plan = |one: &Followed| {
            let runbook = self.reviewed.all.iter().find(|runbook| runbook.name == one.runbook)?;
            runbook.plan(&runbook.values(&one.values).ok()?).ok()
        };
        let (known, plans): (Vec<_>, Vec<_>) =
            followed.into_iter().filter_map(|one| plan(&one).map(|plan| (one, plan))).unzip();
        let differences = compare(&plans.iter().collect::<Vec<_>>(), done);
        let with = known.into_iter().zip(differences);
        task.follows = with.map(|(one, differences)| Followed { differences, ..one }).collect();
    }
}
