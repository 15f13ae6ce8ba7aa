//! Calls of one reply that need approval are sent together, so that people see all of them at once and decide once.
//!
//! Only calls whose order does not matter: once it is approved, each runs by itself.

use super::agreed::Agreed;
use super::ahead::EarlyResult;
use super::asking::EventRelay;
use super::model::tool;
use super::runner::Runner;
use crate::client::pending_request::{Outcome, PendingRequest, left};
use crate::llm::tools::Call;
use crate::protocol::event::{AgentError, Decision, Event, Phase, Status};
use crate::protocol::mode::Mode;
use crate::protocol::request::{Request, overlap};
use crate::protocol::task::Task;
use crate::protocol::tool::{FileTool, Tool};
use crate::protocol::tool_request::request as request_of;
use futures_util::future::join_all;
use serde_json::json;
use std::pin::pin;
use tokio::sync::mpsc;

/// A call that may be sent with others.
struct Candidate {
    number: usize,
    tool: Tool,
    request: Request,
}

/// An event or the end of one of the concurrent requests.
enum News {
    Event(Box<Event>),
    End(Box<Outcome>),
}

impl Runner<'_> {
    /// Whether a step was carried out before its turn.
    pub(super) fn is_ahead(&self, number: usize) -> bool {
        self.ahead.iter().any(|ahead| ahead.number == number)
    }

    /// Sends those calls of a reply at once that need approval and do not depend on the calls before them, if there
    /// are several. Their results are kept for their turns.
    pub(super) async fn ask_together(&mut self, task: &mut Task, calls: &[&Call]) {
        if self.order.mode != Mode::Execute || self.asking_verbs.is_empty() {
            return;
        }
        let candidates = self.candidates(task.results.next_number(), calls);
        if candidates.len() < 2 {
            return;
        }
        let mut group = Vec::new();
        for candidate in candidates {
            let Candidate { number, request, .. } = &candidate;
            let may = self.ask_once(task, *number, request.clone(), Mode::Check).await;
            let is_asked = matches!(&may.end, Event::Completed(done)
                if done.status == Status::Previewed && done.decision == Decision::Ask);
            if is_asked {
                group.push(candidate);
            }
        }
        if group.len() < 2 {
            return;
        }
        // The answer to a session's first change holds for all that are sent with it.
        if let Some(Candidate { number, request, .. }) = group.first() {
            let (number, request) = (*number, request.clone());
            // Without views of files there is no choice among them.
            if let Agreed::Nothing(outcome) = Box::pin(self.first_change(task, number, &request, &[])).await {
                let outcome = *outcome;
                self.ahead.push(EarlyResult { number, request, outcome });
                return;
            }
        }
        self.send_together(task, group).await;
    }

    /// Returns the changes of a reply that may be sent before their turns: each is independent of every change
    /// before it. Read-only calls may come between them.
    fn candidates(&self, first: usize, calls: &[&Call]) -> Vec<Candidate> {
        let mut found: Vec<Candidate> = Vec::new();
        let mut earlier: Vec<Request> = Vec::new();
        for (number, call) in (first..).zip(calls) {
            let Ok(tool) = tool(call) else { break };
            if !call.is_effect() && !matches!(tool, Tool::Shell { .. }) {
                continue;
            }
            // Before its turn nobody knows what a command line or an edit changes: nothing after it is sent ahead of it.
            let Some(request) = plain(&tool) else { break };
            let may_join = self.asking_verbs.contains(request.verb())
                && self.secrets.check_call(call.tool(), &json!(call)).is_ok()
                && self.secrets.check(&tool.name(), &request).is_ok()
                && earlier.iter().all(|other| is_independent(other, &request));
            earlier.push(request.clone());
            if may_join {
                found.push(Candidate { number, tool, request });
            }
        }
        found
    }

    async fn send_together(&mut self, task: &mut Task, group: Vec<Candidate>) {
        let mut cancel = self.cancel.clone();
        tokio::select! {
            () = self.slot.take() => {}
            _ = cancel.wait_for(|cancelled| *cancelled) => return,
        }
        let mut asks = Vec::new();
        for Candidate { number, tool, request } in group {
            self.announce(task, number, &tool, "running");
            let ask = self.prepare(task, number, request, Mode::Execute);
            self.claim(task, number, &ask);
            asks.push((number, ask));
        }
        if *cancel.borrow() {
            // One of them could not be kept: none is sent.
            for (number, ask) in &asks {
                let end = Event::Error(AgentError::new("cancelled", "before it was asked").not_begun());
                self.telling(ask, *number, &mut String::new(), &[]).tell(task, &end);
            }
            return;
        }
        let outcomes = self.follow_together(task, &asks).await;
        for ((number, ask), outcome) in asks.into_iter().zip(outcomes) {
            self.approved.took(&ask.request, Mode::Execute, &outcome);
            // As many wait as may: it is asked for again in its turn.
            if outcome.end.code() != "too_many_pending" {
                self.ahead.push(EarlyResult { number, request: ask.request, outcome });
            }
        }
    }

    /// Follows all of them to their ends. Nothing is told before each has ended, has begun or waits: whoever is asked is
    /// asked about all of them.
    async fn follow_together(&mut self, task: &mut Task, asks: &[(usize, PendingRequest)]) -> Vec<Outcome> {
        let (to, mut news) = mpsc::unbounded_channel();
        let (transport, secrets) = (self.transport, self.secrets);
        let mut asking = pin!(join_all(asks.iter().enumerate().map(|(at, (_, ask))| {
            let to = to.clone();
            async move {
                // Only the helper gets the values of secrets.
                let filled = PendingRequest { request: secrets.filled(ask.request.clone()), ..ask.clone() };
                let mut on = |event: &Event| {
                    let _ = to.send((at, News::Event(Box::new(event.clone()))));
                };
                let outcome = transport.ask(&filled, &mut on).await;
                let _ = to.send((at, News::End(Box::new(outcome))));
            }
        })));
        let mut cancel = self.cancel.clone();
        let mut outcomes: Vec<Option<Outcome>> = asks.iter().map(|_| None).collect();
        let mut rules = vec![String::new(); asks.len()];
        let mut held: Option<Vec<(usize, Event)>> = Some(Vec::new());
        let mut is_settled = vec![false; asks.len()];
        let mut is_asking = true;
        while outcomes.iter().any(Option::is_none) {
            let (at, event) = tokio::select! {
                biased;
                Some((at, news)) = news.recv() => match news {
                    News::Event(event) => (at, *event),
                    News::End(outcome) => {
                        let end = outcome.end.clone();
                        if let Some(place) = outcomes.get_mut(at) {
                            *place = Some(*outcome);
                        }
                        (at, end)
                    }
                },
                _ = &mut asking, if is_asking => {
                    is_asking = false;
                    continue;
                }
                _ = cancel.wait_for(|cancelled| *cancelled) => break,
            };
            if let Some(settled) = is_settled.get_mut(at) {
                *settled |= is_settling(&event);
            }
            match &mut held {
                Some(held) => held.push((at, event)),
                None => self.tell_one(task, asks, &mut rules, (at, event), &[]),
            }
            if is_settled.iter().all(|settled| *settled) {
                self.tell_all(task, asks, &mut rules, held.take().unwrap_or_default());
            }
        }
        self.tell_all(task, asks, &mut rules, held.take().unwrap_or_default());
        let mut ended = Vec::new();
        for (outcome, (number, ask)) in outcomes.into_iter().zip(asks) {
            let outcome = outcome.unwrap_or_else(|| {
                let waits = task.waits().find(|waits| waits.request_id == ask.id);
                let approval = waits.map(|waits| waits.approval_id.clone());
                let end = Event::Error(left(&ask.id, approval.as_deref()));
                self.telling(ask, *number, &mut String::new(), &[]).tell(task, &end);
                Outcome::ended(ask, end)
            });
            ended.push(outcome);
        }
        ended
    }

    fn tell_all(
        &mut self,
        task: &mut Task,
        asks: &[(usize, PendingRequest)],
        rules: &mut [String],
        held: Vec<(usize, Event)>,
    ) {
        let waiting = |(_, event): &(usize, Event)| match event {
            Event::Waiting(waiting) => Some(waiting.approval_id.clone()),
            _ => None,
        };
        let together: Vec<String> = held.iter().filter_map(waiting).collect();
        for news in held {
            self.tell_one(task, asks, rules, news, &together);
        }
    }

    fn tell_one(
        &mut self,
        task: &mut Task,
        asks: &[(usize, PendingRequest)],
        rules: &mut [String],
        (at, event): (usize, Event),
        together: &[String],
    ) {
        if let (Some((number, ask)), Some(rule)) = (asks.get(at), rules.get_mut(at)) {
            self.telling(ask, *number, rule, together).tell(task, &event);
        }
    }

    fn telling<'t>(
        &'t mut self,
        ask: &'t PendingRequest,
        number: usize,
        rule: &'t mut String,
        together: &'t [String],
    ) -> EventRelay<'t> {
        EventRelay { slot: self.slot, on: self.on, secrets: self.secrets, ask, number, rule, together }
    }
}

/// The one request that a tool is, where nothing has to be found out before.
fn plain(tool: &Tool) -> Option<Request> {
    match tool {
        Tool::PkgInstall { .. }
        | Tool::Package(_)
        | Tool::Service { .. }
        | Tool::UnitsReload {}
        | Tool::RunCommand { .. }
        | Tool::File(
            FileTool::Mkdir { .. }
            | FileTool::SetMode { .. }
            | FileTool::SetOwner { .. }
            | FileTool::Remove { .. },
        ) => request_of(tool).filter(Request::is_effect),
        _ => None,
    }
}

/// Whether two requests come to the same in either order: verbs of one kind for other objects, neither within the other.
/// A package brings units and files and a command may change anything, so that across kinds the order counts.
fn is_independent(one: &Request, other: &Request) -> bool {
    let share = |a: &String| other.objects().iter().any(|b| overlap(a, b));
    match (one, other) {
        // One command with other values.
        (Request::CommandRun(a), Request::CommandRun(b)) => a.name == b.name && a.parameters != b.parameters,
        _ => kind(one) == kind(other) && !one.objects().iter().any(share),
    }
}

/// Verbs of which the order does not count among different objects; others are a kind by themselves.
fn kind(request: &Request) -> &'static str {
    match request {
        Request::FileMkdir(_)
        | Request::FileSetMode(_)
        | Request::FileSetOwner(_)
        | Request::FileRemove(_) => "entries of directories",
        Request::PackageHold(_) | Request::PackageUnhold(_) => "holds",
        other => other.verb(),
    }
}

/// Whether it is known by this event if somebody is asked.
fn is_settling(event: &Event) -> bool {
    match event {
        Event::Accepted(_) => false,
        Event::Progress(progress) => progress.phase != Phase::Waiting,
        Event::Waiting(_) | Event::Output(_) | Event::Completed(_) | Event::Refused(_) | Event::Error(_) => {
            true
        }
    }
}
