//! One request of a step: asked when it is the task's turn, told as it goes on.

use super::runner::Runner;
use crate::client::pending_request::{Outcome, PendingRequest, left, new_id, reason};
use crate::protocol::event::{AgentError, Event};
use crate::protocol::mode::{Effect, Mode};
use crate::protocol::request::Request;
use crate::protocol::task::{Task, TaskStatus, Waits};
use crate::protocol::tool::Tool;
use crate::redaction::Secrets;
use crate::store::{SentStep, Slot};
use serde_json::{Value, json};

impl Runner<'_> {
    pub(super) fn prepare(&self, task: &Task, number: usize, request: Request, mode: Mode) -> PendingRequest {
        let why = if self.order.reason.is_empty() {
            let what = self.order.steps.get(number - 1).map(Tool::reason).unwrap_or_default();
            format!("step {number} of {}: {what}", self.order.steps.len())
        } else {
            self.order.reason.clone()
        };
        PendingRequest {
            request,
            id: new_id(),
            mode,
            reason: reason(&why),
            task: task.id.clone(),
            claimed_uid: self.order.owner.claimed_uid(),
            session: (self.session)(),
            wait_ms: self.order.wait_ms,
        }
    }

    pub(super) async fn ask_once(
        &mut self,
        task: &mut Task,
        number: usize,
        request: Request,
        mode: Mode,
    ) -> Outcome {
        if let Some(known) = self.approved.of(&request, mode) {
            return known;
        }
        let asked = request.clone();
        let outcome = self.ask_helper(task, number, request, mode).await;
        self.approved.took(&asked, mode, &outcome);
        outcome
    }

    async fn ask_helper(&mut self, task: &mut Task, number: usize, request: Request, mode: Mode) -> Outcome {
        let mut ask = self.prepare(task, number, request, mode);
        let mut cancel = self.cancel.clone();
        // Another task may act while this one waited for a person.
        tokio::select! {
            () = self.slot.take() => {}
            _ = cancel.wait_for(|cancelled| *cancelled) => {
                let fault = AgentError::new("cancelled", "before it was asked");
                return Outcome::ended(&ask, Event::Error(fault));
            }
        }
        // An id tells when it was sent; one that was perhaps sent before goes on under its own.
        ask.id = new_id();
        if ask.effect() == Effect::Possible {
            // Another choice of files is another request: the helper refuses it under the id of the first.
            let is_it =
                |sent: &SentStep| sent.verb == ask.request.verb() && sent.target == ask.request.target();
            ask.id = self.left.again.take_if(|sent| is_it(sent)).map_or(ask.id, |sent| sent.id);
        }
        self.claim(task, number, &ask);
        let secrets = self.secrets;
        let mut rule = String::new();
        let (slot, on, rule) = (&mut *self.slot, &mut *self.on, &mut rule);
        let mut telling = EventRelay { slot, on, secrets, ask: &ask, number, rule, together: &[] };
        if *cancel.borrow() {
            let end = Event::Error(AgentError::new("cancelled", "before it was asked").not_begun());
            telling.tell(task, &end);
            return Outcome::ended(&ask, end);
        }
        // Only the helper gets the values; all that is said and kept of the request has their names.
        let filled = PendingRequest { request: secrets.filled(ask.request.clone()), ..ask.clone() };
        let mut tell = |event: &Event| telling.tell(task, event);
        let ended = tokio::select! {
            outcome = Box::pin(self.transport.ask(&filled, &mut tell)) => Some(outcome),
            _ = cancel.wait_for(|cancelled| *cancelled) => None,
        };
        let outcome = ended.unwrap_or_else(|| {
            let waiting_for = task.waiting.as_ref().map(|waits| waits.approval_id.as_str());
            Outcome::ended(&ask, Event::Error(left(&ask.id, waiting_for)))
        });
        telling.tell(task, &outcome.end);
        outcome
    }
}

impl Runner<'_> {
    /// Says which request is about to be sent for a step: it is kept before it is sent.
    pub(super) fn claim(&mut self, task: &Task, number: usize, ask: &PendingRequest) {
        let data = json!({
            "step": number, "request_id": ask.id, "effect": ask.effect(), "undoes": ask.request.undoes(),
            "verb": ask.request.verb(), "target": ask.request.target(), "of": ask.request.recalls(),
            "left_out": self.left_out,
        });
        (self.on)("request", data, task);
    }
}

/// Passes the events of one request on, and keeps the task's record in step with them.
pub(super) struct EventRelay<'a> {
    pub slot: &'a mut Slot,
    pub on: &'a mut (dyn FnMut(&'static str, Value, &Task) + Send + 'a),
    pub secrets: &'a Secrets,
    pub ask: &'a PendingRequest,
    pub number: usize,
    pub rule: &'a mut String,
    /// The approvals that are asked for together with this one, itself among them.
    pub together: &'a [String],
}

impl EventRelay<'_> {
    /// The values of a command, for people: those that are held or look like a credential are taken out.
    fn parameters(&self) -> Vec<String> {
        self.ask.request.parameters().iter().map(|one| self.secrets.text(one).0).collect()
    }

    pub(super) fn tell(&mut self, task: &mut Task, event: &Event) {
        match event {
            // Said again after a lost connection, while it still waits.
            Event::Accepted(accepted) if accepted.attached => {}
            Event::Accepted(accepted) => self.rule.clone_from(&accepted.rule),
            Event::Waiting(waiting) => {
                task.status = TaskStatus::Waiting;
                task.begin_waiting(Waits {
                    approval_id: waiting.approval_id.clone(),
                    expires_unix_s: waiting.expires_unix_s,
                    step: self.number,
                    request_id: self.ask.id.clone(),
                    verb: self.ask.request.verb().to_owned(),
                    target: self.ask.request.target(),
                    parameters: self.parameters(),
                    rule: self.rule.clone(),
                });
                self.slot.give();
            }
            Event::Progress(_)
            | Event::Output(_)
            | Event::Completed(_)
            | Event::Refused(_)
            | Event::Error(_) => {
                if task.end_waiting(&self.ask.id) {
                    task.status = TaskStatus::Running;
                }
            }
        }
        // Output comes in pieces, and a secret may be parted by them: the step's result has it whole.
        if matches!(event, Event::Output(_)) && !self.secrets.is_empty() {
            return;
        }
        let mut data = event.data();
        self.secrets.values_of(&mut data);
        data["step"] = self.number.into();
        if matches!(event, Event::Waiting(_)) && self.together.len() > 1 {
            data["together"] = json!(self.together);
        }
        (self.on)(event.name(), data, task);
    }
}
