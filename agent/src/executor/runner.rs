//! Runs an order, and sends each of its requests once, recorded as a change.

use super::agreed::{Agreed, leave_out, tell_left_out};
use super::ahead::EarlyResult;
use super::approved::ApprovedReads;
use super::command_runner::Commands;
use super::reviewed::Reviewed;
use crate::agent_loop::budget::Budget;
use crate::audit::{AuditLog, Record};
use crate::client::pending_request::Outcome;
use crate::client::transport::Transport;
use crate::client::undo::{Earlier, UndoGrants, has_inverse};
use crate::config::host::Host;
use crate::inspect::ReadTools;
use crate::knowledge::KnowledgeBase;
use crate::protocol::args::Of;
use crate::protocol::event::{AgentError, Completed, Event, Status};
use crate::protocol::exit::Exit;
use crate::protocol::file_view::FileView;
use crate::protocol::mode::Mode;
use crate::protocol::question::Person;
use crate::protocol::request::Request;
use crate::protocol::step::{StepResult, StepStatus};
use crate::protocol::task::{Change, Task, TaskOrder};
use crate::protocol::tool::Tool;
use crate::redaction::Secrets;
use crate::render;
use crate::store::Confirmation;
use crate::store::Live;
use crate::store::ResumeState;
use crate::store::Slot;
use serde_json::{Value, json};
use std::collections::BTreeSet;
use tokio::sync::watch;
use tokio::time::Instant;

/// Failures that a skipped earlier step can cause.
const MAY_FOLLOW: &[&str] = &[
    "not_found",
    "precondition_failed",
    "directory_missing",
    "unit_failed",
    "validation_failed",
    "already_exists",
];

/// Carries out one order.
pub struct Runner<'a> {
    /// The way to the helper.
    pub transport: &'a Transport,
    /// The agent's own read-only tools.
    pub local: &'a ReadTools,
    /// The knowledge base, where there is one.
    pub knowledge: Option<&'a KnowledgeBase>,
    /// The host: its runbooks are there.
    pub host: &'a Host,
    /// Its runbooks, once they are read.
    pub reviewed: Reviewed,
    /// The order.
    pub order: &'a TaskOrder,
    /// The token of the person's session as it is quoted last; empty where they have left.
    pub session: &'a (dyn Fn() -> String + Send + Sync),
    /// True once the person wants it to end.
    pub cancel: watch::Receiver<bool>,
    /// The person behind it, to be asked in the middle.
    pub person: Person,
    /// Secrets that calls may use and that are redacted from output.
    pub secrets: &'a Secrets,
    /// The tool of the step that is carried out.
    pub tool: String,
    /// The files that the person left out of the patch that is sent.
    pub left_out: Vec<String>,
    /// The care that a model's steps need; the person's own need none.
    pub confirmation: Option<Confirmation>,
    /// The questions that were put so far.
    pub questions: u32,
    /// Its place among the other tasks.
    pub slot: &'a mut Slot,
    /// The channel of the model's words as they come.
    pub live: Live,
    /// The site's text for every model.
    pub site: &'a str,
    /// Files that operators let it read.
    pub approved: ApprovedReads,
    /// The verbs of which some request needs an operator's approval, as the policy describes itself.
    pub asking_verbs: BTreeSet<String>,
    /// Whether the policy grants a reboot, so that the model gets its tool.
    pub may_reboot: bool,
    /// Results of calls that were run before their turn.
    pub ahead: Vec<EarlyResult>,
    /// The digest of the policy as it was described; empty before.
    pub policy: String,
    /// Somebody is logged in who may approve.
    pub is_operator_here: bool,
    /// State that an earlier process left.
    pub left: ResumeState,
    /// Settings for sandboxed commands.
    pub commands: &'a Commands,
    /// Grants to undo its changes.
    pub undo_grants: UndoGrants,
    /// Budget of the task; requests of programs in its commands count too.
    pub budget: Budget,
    /// Finds an earlier request by its id, the beginning of it or `last`.
    pub earlier: &'a (dyn Fn(&str) -> Result<Earlier, AgentError> + Send + Sync),
    /// The log of what the agent does itself.
    pub audit: &'a AuditLog,
    /// When the steps that run began; programs in a command have its number.
    pub begun: Vec<(usize, Instant)>,
    /// Gets each event: its name, its JSON, and the task as it stands.
    pub on: &'a mut (dyn FnMut(&'static str, Value, &Task) + Send),
}

impl Runner<'_> {
    pub(super) fn announce(&mut self, task: &Task, number: usize, tool: &Tool, status: &str) {
        let mut data = json!({ "step": number, "what": tool.describe(), "status": status });
        // How many there will be is known only of a person's own steps.
        if number <= self.order.steps.len() {
            data["of"] = self.order.steps.len().into();
        }
        if self.confirmation.as_ref().is_some_and(Confirmation::is_needed) {
            data["by"] = json!("model");
        }
        if status == "running" {
            self.begun.push((number, Instant::now()));
        }
        if let (Some(result), true) = (task.results.last(), status != "running") {
            let began = self.begun.iter().rposition(|(step, _)| *step == number);
            let length = began.map(|at| self.begun.remove(at).1.elapsed()).unwrap_or_default();
            self.audit.append(&Record::step(task, result, length));
            data["result"] = serde_json::to_value(result).unwrap_or_default();
            let code = result.error.as_deref().and_then(|error| error.split(':').next());
            let (exit_code, task) = (result.exit_code.map(i64::from), &task.id);
            tracing::info!(event = "step", task, step = number, status, exit_code, code, "step ended");
        }
        (self.on)("step", data, task);
    }

    /// In a dry run nothing ahead of a step has happened, so that it may lack what they would bring.
    pub(super) fn forgive(&self, task: &mut Task, result: &mut StepResult) {
        let is_later = self.order.mode == Mode::Preview && result.step > 1;
        let code = result.error.as_deref().and_then(|error| error.split(':').next()).unwrap_or_default();
        if is_later && result.status == StepStatus::Error && MAY_FOLLOW.contains(&code) {
            let why = result.error.take().unwrap_or_default();
            task.warnings.push(format!(
                "step {} cannot be foreseen before the steps ahead of it are done ({why})",
                result.step
            ));
            result.status = StepStatus::Ok;
        }
    }

    /// One request of a step. An outcome that the helper itself does not know is asked for once more,
    /// under a new id, where doing it twice is doing it once.
    pub(super) async fn ask(
        &mut self,
        task: &mut Task,
        number: usize,
        request: Request,
        mode: Mode,
    ) -> Outcome {
        self.ask_seen(task, number, request, mode, (&[], Vec::new())).await
    }

    /// The same of files whose change is known, and of which a person left some out.
    pub(super) async fn ask_seen(
        &mut self,
        task: &mut Task,
        number: usize,
        request: Request,
        mode: Mode,
        (views, mut left_out): (&[FileView], Vec<String>),
    ) -> Outcome {
        if let Some(outcome) = self.recalled(task, number, &request, mode).await {
            return outcome;
        }
        if let Err(why) = self.secrets.check(&self.tool, &request) {
            return self.not_asked(task, number, request, AgentError::new("placeholder_refused", why));
        }
        let mut request = request;
        if mode == Mode::Execute {
            match Box::pin(self.first_change(task, number, &request, views)).await {
                Agreed::Whole => {}
                Agreed::Files(files) => left_out.extend(leave_out(&mut request, &files)),
                Agreed::Nothing(outcome) => return *outcome,
            }
        }
        // Kept with the request, so that a successor of this process can tell the model of them.
        self.left_out.clone_from(&left_out);
        let mut outcome = self.ask_once(task, number, request.clone(), mode).await;
        self.left_out.clear();
        let unknown = matches!(&outcome.end, Event::Completed(c) if c.status == Status::Interrupted);
        if unknown && request.is_repeatable() {
            task.warnings.push(format!("the helper was stopped during {}; asked again", request.verb()));
            outcome = self.ask_once(task, number, request.clone(), mode).await;
        }
        if mode == Mode::Execute {
            self.record(task, &request, &outcome).await;
        }
        tell_left_out(task, &mut outcome, &left_out);
        outcome
    }

    /// Puts a change that was made into the task's record.
    async fn record(&mut self, task: &mut Task, request: &Request, outcome: &Outcome) {
        if let Event::Completed(done) = &outcome.end
            && matches!(done.status, Status::Done | Status::Partly | Status::Interrupted)
            && request.is_effect()
            && !outcome.has_no_effect()
        {
            let (done, id) = (done.clone(), outcome.id.clone());
            let undo = self.undo_id(task, request.verb(), &id, &done).await;
            let (verb, target) = (request.verb().to_owned(), request.target());
            // The person may look at nothing but the task's end.
            if let Some(line) = render::deadline(&done, &id) {
                task.warnings.push(format!("{verb} {target}: {line}"));
            }
            task.changes.push(Change { request_id: id, verb, target, undo });
        }
    }

    /// Takes the result of a step that was run before its turn.
    pub(super) async fn come_ahead(&mut self, task: &mut Task, number: usize) -> Option<Outcome> {
        let at = self.ahead.iter().position(|ahead| ahead.number == number)?;
        let EarlyResult { request, outcome, .. } = self.ahead.remove(at);
        self.record(task, &request, &outcome).await;
        Some(outcome)
    }
}

impl Runner<'_> {
    /// The id to take a change back by, where its inverse exists and is granted.
    pub(super) async fn undo_id(
        &mut self,
        task: &Task,
        verb: &str,
        id: &str,
        done: &Completed,
    ) -> Option<String> {
        if !has_inverse(verb, done) {
            return None;
        }
        let ask = self.prepare(task, 1, Request::RequestUndo(Of { of: id.to_owned() }), Mode::Check);
        self.undo_grants.is_granted(self.transport, &ask, verb, id).await.then(|| id.to_owned())
    }
}

/// The word for a step's status, for programs.
pub fn status_word(status: StepStatus) -> &'static str {
    match status {
        StepStatus::Ok => "ok",
        StepStatus::Error => "error",
        StepStatus::Refused => "refused",
        StepStatus::Truncated => "truncated",
        StepStatus::Denied => "denied",
        StepStatus::Timeout => "timeout",
        StepStatus::Cancelled => "cancelled",
    }
}

/// A step's status from its last request's end.
pub fn step_status(end: &Event, truncated: bool) -> StepStatus {
    let code = match end {
        Event::Completed(done) => match done.status {
            Status::Done | Status::Unchanged | Status::Previewed if truncated => {
                return StepStatus::Truncated;
            }
            Status::Done | Status::Unchanged | Status::Previewed => return StepStatus::Ok,
            Status::Failed | Status::Partly | Status::Interrupted | Status::Unspecified => &done.code,
        },
        Event::Refused(refused) => &refused.code,
        Event::Error(fault) => &fault.code,
        Event::Accepted(_) | Event::Waiting(_) | Event::Progress(_) | Event::Output(_) => {
            return StepStatus::Error;
        }
    };
    match (code.as_str(), Exit::of_end(end)) {
        ("cancelled", _) => StepStatus::Cancelled,
        ("timeout", _) => StepStatus::Timeout,
        ("placeholder_refused", _) | (_, Exit::Refused) => StepStatus::Refused,
        (_, Exit::NotApproved) => StepStatus::Denied,
        _ => StepStatus::Error,
    }
}
