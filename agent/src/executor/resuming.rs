//! A step that was under way when an earlier process ended: what became of it is asked, not tried again.

use super::agreed::tell_left_out;
use super::runner::Runner;
use super::step::result;
use crate::client::pending_request::Outcome;
use crate::protocol::args::Of;
use crate::protocol::event::{Event, Status};
use crate::protocol::mode::Mode;
use crate::protocol::request::Request;
use crate::protocol::step::{StepResult, StepStatus};
use crate::protocol::task::{Change, Task};
use crate::protocol::tool::Tool;
use crate::protocol::tool_request::request;
use crate::store::SentStep;

impl Runner<'_> {
    /// The result of a step whose requests were perhaps sent. `None` where it is to be carried out: nothing of it
    /// was sent, or doing it goes on under the same request id.
    pub(super) async fn take_up(
        &mut self,
        task: &mut Task,
        number: usize,
        tool: &Tool,
    ) -> Option<StepResult> {
        if matches!(tool, Tool::Shell { .. }) || !self.was_begun(tool) {
            return None;
        }
        let mut last = None;
        // Calls of one reply may have been sent together.
        let (own, others): (Vec<SentStep>, Vec<SentStep>) =
            std::mem::take(&mut self.left.sent).into_iter().partition(|sent| sent.step == number);
        self.left.sent = others;
        for sent in own {
            last = Some((self.recall(task, number, sent.clone()).await, sent));
        }
        let (mut outcome, sent) = last?;
        let is_repeatable = request(tool).is_some_and(|request| request.is_repeatable());
        // A tool that ensures a state checks it again afterwards.
        let looks = matches!(tool, Tool::EnsureRunning { .. }) && matches!(outcome.end, Event::Completed(_));
        if looks || self.is_open(task, &outcome, &sent, is_repeatable) {
            return None;
        }
        tell_left_out(task, &mut outcome, &sent.left_out);
        Some(result(number, tool, &outcome, self.secrets))
    }

    /// Returns the result of a command that was interrupted: its effect is unknown, and it is not run again.
    /// Changes that its programs made through the helper are known.
    pub(super) async fn lost(&mut self, task: &mut Task, number: usize, tool: &Tool) -> Option<StepResult> {
        if !self.was_begun(tool) {
            return None;
        }
        for sent in std::mem::take(&mut self.left.sent) {
            self.recall(task, number, sent).await;
        }
        let why =
            "interrupted: the agent was stopped while this ran; look at what it left before you repeat it";
        Some(StepResult {
            error: Some(why.to_owned()),
            ..StepResult::new(number, tool.clone(), StepStatus::Error)
        })
    }

    /// The outcome of a request that was perhaps sent; `None` where it is to be sent.
    pub(super) async fn recalled(
        &mut self,
        task: &mut Task,
        number: usize,
        request: &Request,
        mode: Mode,
    ) -> Option<Outcome> {
        let is_it = |sent: &SentStep| sent.verb == request.verb() && sent.target == request.target();
        let place = self.left.sent.iter().position(is_it).filter(|_| mode == Mode::Execute)?;
        let sent = self.left.sent.remove(place);
        let mut outcome = self.recall(task, number, sent.clone()).await;
        if self.is_open(task, &outcome, &sent, request.is_repeatable()) {
            return None;
        }
        tell_left_out(task, &mut outcome, &sent.left_out);
        Some(outcome)
    }

    fn was_begun(&mut self, tool: &Tool) -> bool {
        let what = tool.describe();
        let place = self.left.begun.iter().position(|begun| *begun == what);
        place.map(|place| self.left.begun.remove(place)).is_some()
    }

    /// Asks what became of a request; a change that it made is the task's.
    pub(super) async fn recall(&mut self, task: &mut Task, number: usize, sent: SentStep) -> Outcome {
        let request = Request::RequestResult(Of { of: sent.id.clone() });
        let mut outcome = self.ask_once(task, number, request, Mode::Execute).await;
        outcome.id.clone_from(&sent.id);
        if let Event::Completed(done) = &outcome.end
            && matches!(done.status, Status::Done | Status::Partly | Status::Interrupted)
            && task.changes.iter().all(|change| change.request_id != sent.id)
        {
            let done = done.clone();
            let undo = self.undo_id(task, &sent.verb, &sent.id, &done).await;
            task.changes.push(Change { request_id: sent.id, verb: sent.verb, target: sent.target, undo });
        }
        outcome
    }

    /// Whether a request is still to be made, or made to its end.
    fn is_open(&mut self, task: &mut Task, outcome: &Outcome, sent: &SentStep, is_repeatable: bool) -> bool {
        match &outcome.end {
            // It never arrived, or it goes on: under its id the helper acts once.
            Event::Refused(refused) if matches!(refused.code.as_str(), "unknown_request" | "busy") => {
                self.left.again = Some(sent.clone());
                true
            }
            Event::Completed(done) if done.status == Status::Interrupted && is_repeatable => {
                task.warnings.push("the helper was stopped meanwhile, too; asked again".to_owned());
                true
            }
            Event::Completed(_)
            | Event::Refused(_)
            | Event::Error(_)
            | Event::Accepted(_)
            | Event::Waiting(_)
            | Event::Progress(_)
            | Event::Output(_) => false,
        }
    }
}
