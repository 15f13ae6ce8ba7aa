//! A step that was under way when an earlier process ended: what became of it is asked, not tried again.

use super::step::result;
use super::{Runner, requests::request};
use crate::args::Of;
use crate::ask::Mode;
use crate::event::{Event, Status};
use crate::request::Request;
use crate::task::{Change, StepResult, Task};
use crate::tool::Tool;

impl Runner<'_> {
    /// The result of a step whose requests were perhaps sent. `None` where it is to be carried out: nothing of it
    /// was sent, or doing it goes on under the same request id.
    pub(super) async fn take_up(
        &mut self,
        task: &mut Task,
        number: usize,
        tool: &Tool,
    ) -> Option<StepResult> {
        let mut last = None;
        for sent in std::mem::take(&mut self.left.sent) {
            let recall = Request::RequestResult(Of { of: sent.id.clone() });
            let mut outcome = self.ask_once(task, number, recall, Mode::Execute).await;
            outcome.id.clone_from(&sent.id);
            if let Event::Completed(done) = &outcome.end
                && matches!(done.status, Status::Done | Status::Partly | Status::Interrupted)
                && task.changes.iter().all(|change| change.request_id != sent.id)
            {
                let undo = done.undoable.then(|| sent.id.clone());
                task.changes.push(Change { request_id: sent.id, verb: sent.verb, target: sent.target, undo });
            }
            last = Some(outcome);
        }
        let outcome = last?;
        match &outcome.end {
            // It never arrived, or it goes on: asked for under its id, the helper acts once.
            Event::Refused(refused) if matches!(refused.code.as_str(), "unknown_request" | "busy") => {
                self.left.again = Some(outcome.id);
                None
            }
            Event::Completed(done)
                if done.status == Status::Interrupted
                    && request(tool).is_some_and(|request| request.is_repeatable()) =>
            {
                task.warnings.push("the helper was stopped during this, too; asked again".to_owned());
                None
            }
            // What it does first it did; that it looks afterwards is the point of it.
            Event::Completed(_) if matches!(tool, Tool::EnsureRunning { .. }) => None,
            Event::Completed(_)
            | Event::Refused(_)
            | Event::Error(_)
            | Event::Accepted(_)
            | Event::Waiting(_)
            | Event::Progress(_)
            | Event::Output(_) => Some(result(number, tool, &outcome)),
        }
    }
}
