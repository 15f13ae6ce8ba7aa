//! The command line.

mod asking;
mod can;
mod console;
mod conversation;
mod doctor;
mod editing;
#[expect(clippy::disallowed_methods, reason = "the person names the program")]
mod exec;
mod ids;
mod insights;
mod knowledge;
mod listing;
mod mcp;
mod model;
mod options;
mod pager;
mod patching;
mod picking;
mod plans;
mod progress;
mod question;
mod reading;
mod runbooks;
mod schedules;
mod session;
mod shell;
mod since;
mod subcommands;
mod tasks;
mod terminal;
mod typed;
mod undo;
mod verbs;
mod view;

pub use console::Console;

use crate::client::agent::AgentClient;
use crate::client::helper::Helper;
use crate::client::operators;
use crate::client::person::PersonSession;
use crate::client::transport::Transport;
use crate::config::host::Host;
use crate::protocol::args::Of;
use crate::protocol::event::AgentError;
use crate::protocol::exit::Exit;
use crate::protocol::request::Request;
use crate::protocol::task::Work;
use crate::protocol::trace::{self, Trace};
use crate::shell_policy::Rules;
use crate::{config, service};
use clap::{CommandFactory, Parser};
use hyper::Method;
use options::{Cli, Command, Config, Tasks};
use serde_json::json;
use session::{Session, usage};
use std::ffi::OsString;
use std::io::Read;
use subcommands::{Runbooks, Schedules};
use tasks::{Going, RunRequest};
use verbs::File;

/// The grammar, for manual pages and completions.
#[must_use]
pub fn command() -> clap::Command {
    Cli::command()
}

/// Runs a command line, its first element the program's name.
pub async fn run(args: impl IntoIterator<Item = OsString>, host: &Host, console: &mut Console) -> Exit {
    let cli = match Cli::try_parse_from(args) {
        Ok(cli) => cli,
        Err(error) => return usage(&error, console),
    };
    // With a request id given by the person the trace is that id: a repeated request must have the same bytes.
    let named = cli.global.request_id.as_deref().and_then(Trace::of_request);
    let trace = named.unwrap_or_default();
    let person = PersonSession::new(&host.person_socket, &host.agent_user);
    let mut session = Session { host, console, global: cli.global, person, conversation: None };
    let exit = match cli.command {
        // Each of its requests has a trace of its own.
        Some(command @ (Command::Serve | Command::Mcp(_))) => Box::pin(session.run(command)).await,
        Some(command) => Box::pin(trace::within(trace, session.run(command))).await,
        None => Box::pin(session.conversation()).await,
    };
    session.tell_session().await;
    if session.console.is_broken {
        session.console.say("postern: the results could not be written");
        return Exit::Failed;
    }
    exit
}

impl Session<'_> {
    async fn run(&mut self, command: Command) -> Exit {
        match command {
            Command::Run { plan: Some(file), when, .. } => self.run_plan(&file, &when).await,
            Command::Run { task, go_on, plan: None, when } => {
                let going = if go_on { Going::On } else { Going::Anew };
                let wanted = RunRequest {
                    task: task.join(" "),
                    steps: Vec::new(),
                    work: Work::Task,
                    going,
                    runbook: None,
                };
                Box::pin(self.run_or_schedule(wanted, &when)).await
            }
            Command::Plan { task } => self.plan(task.join(" ")).await,
            Command::Tasks { command } => self.tasks(command.unwrap_or(Tasks::List)).await,
            Command::Schedule { command } => self.schedules(command.unwrap_or(Schedules::List)).await,
            Command::Runbook { command } => Box::pin(self.runbook(command.unwrap_or(Runbooks::List))).await,
            Command::Kb(command) => self.knowledge(command).await,
            Command::Insights { since } => self.insights(since).await,
            Command::Can { command } => Box::pin(self.can(command)).await,
            Command::Health => self.health().await,
            Command::Doctor => self.doctor().await,
            Command::Config(command) => self.config(command),
            Command::Model(command) => self.model(command).await,
            Command::Shell(command) => self.shell(command).await,
            Command::Mcp(command) => self.mcp(command).await,
            Command::Exec { command } => self.exec(&command),
            Command::TellOperators { id } => self.tell_operators(&id),
            Command::Serve => match service::serve(self.host).await {
                Ok(()) => Exit::Done,
                Err(error) => self.fail(&AgentError::new("internal", format!("cannot serve: {error}"))),
            },
            Command::Words(words) => match words.as_slice() {
                [task] if task.contains(char::is_whitespace) => {
                    self.run_task(task.clone(), Going::Anew).await
                }
                _ => {
                    let commands = self::command();
                    let known = commands.get_subcommands().filter(|command| !command.is_hide_set());
                    let known = known.map(clap::Command::get_name);
                    let message = postern_text::unknown("command", &words.join(" "), known);
                    self.fail(&AgentError::new("invalid_argument", message))
                }
            },
            Command::File(File::Patch(patch)) => self.patch(patch).await,
            Command::File(File::Edit { path }) => self.edit(path).await,
            Command::Undo { id, task } => Box::pin(self.undo(id, task)).await,
            Command::Result { id } => match self.whole_id(&id).await {
                Ok(of) => self.typed(Request::RequestResult(Of { of }), self.mode()).await,
                Err(fault) => self.fail(&fault),
            },
            Command::Keep { id } => match self.whole_id(&id).await {
                Ok(of) => self.typed(Request::RequestKeep(Of { of }), self.mode()).await,
                Err(fault) => self.fail(&fault),
            },
            typed => match self.request(typed) {
                Ok(request) => {
                    let mode = self.mode();
                    self.typed(request, mode).await
                }
                Err(why) => self.fail(&AgentError::new("invalid_argument", why)),
            },
        }
    }

    /// The request that a typed command stands for.
    fn request(&mut self, command: Command) -> Result<Request, String> {
        match command {
            Command::Package(command) => Ok(typed::package(command)),
            Command::Service(command) => Ok(typed::service(command)),
            Command::Host(command) => typed::host(&command),
            Command::File(command) => typed::file(command, &mut self.console.input),
            Command::Command { name, parameters } => {
                typed::command(name, &parameters, &mut self.console.input)
            }
            Command::Undo { id: Some(of), task: None } => Ok(Request::RequestUndo(Of { of })),
            Command::Result { id } => Ok(Request::RequestResult(Of { of: id })),
            Command::Keep { id } => Ok(Request::RequestKeep(Of { of: id })),
            Command::Run { .. }
            | Command::Plan { .. }
            | Command::Undo { .. }
            | Command::Tasks { .. }
            | Command::Schedule { .. }
            | Command::Runbook { .. }
            | Command::Kb(_)
            | Command::Insights { .. }
            | Command::Can { .. }
            | Command::Health
            | Command::Doctor
            | Command::Config(_)
            | Command::Model(_)
            | Command::Shell(_)
            | Command::Mcp(_)
            | Command::Exec { .. }
            | Command::TellOperators { .. }
            | Command::Serve
            | Command::Words(_) => Err("this is no single request".to_owned()),
        }
    }

    async fn health(&mut self) -> Exit {
        let health = if self.global.direct {
            let helper = service::probe(&Transport::Helper(Helper::new(&self.host.helper_socket))).await;
            json!({ "helper": helper })
        } else {
            let agent = AgentClient::new(&self.host.agent_socket);
            // With a fault the agent answers 503, and says which.
            match agent.call(Method::GET, "/health", None).await {
                Ok(answer) if answer.body["agent"].is_string() => answer.body,
                Ok(answer) => {
                    let fault = answer.error().unwrap_or_else(|| AgentError::new("internal", "no health"));
                    return self.fail(&fault);
                }
                Err(lost) => return self.fail(&tasks::unreachable(&agent, &lost)),
            }
        };
        if self.global.json.is_some() {
            self.console.json(&health);
        } else {
            for part in ["agent", "llm", "rag", "helper"] {
                if let Some(state) = health[part].as_str() {
                    self.console.result(&format!("{part:<7} {state}\n"));
                }
            }
            for (kind, count) in health["repaired"].as_object().into_iter().flatten() {
                self.console.result(&format!("replies repaired ({kind}): {count}\n"));
            }
        }
        if health["helper"] == "ok" { Exit::Done } else { Exit::Unreachable }
    }

    /// `config check` and `config show`.
    fn config(&mut self, command: Config) -> Exit {
        match (config::read(&self.host.config), command) {
            (Err(why), _) => self.fail(&AgentError::new("failed", why)),
            (Ok(_), Config::Check) => match Rules::load(&self.host.shell_rules()) {
                Ok(_) => Exit::Done,
                Err(why) => self.fail(&AgentError::new("failed", why)),
            },
            (Ok(config), Config::Show) => {
                self.console.json(&config);
                Exit::Done
            }
        }
    }

    /// Does the work of `postern-announce@.service`, which passes the id on standard input.
    fn tell_operators(&mut self, id: &str) -> Exit {
        let mut line = String::new();
        let id = if id == "-" {
            // The id and its line feed; more makes it none.
            let read = self.console.input.by_ref().take(34).read_to_string(&mut line);
            read.map_or("", |_| line.strip_suffix('\n').unwrap_or(&line))
        } else {
            id
        };
        let Some(id) = operators::approval_id(id) else {
            return self.fail(&AgentError::new("invalid_argument", "an approval's id is 32 hex digits"));
        };
        match operators::tell(self.host, id) {
            Ok(count) => {
                let plural = if count == 1 { "" } else { "s" };
                self.console.say(&format!("told {count} terminal{plural} of operators"));
                Exit::Done
            }
            Err(why) => self.fail(&AgentError::new("failed", why)),
        }
    }
}
