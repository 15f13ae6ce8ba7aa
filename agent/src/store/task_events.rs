//! Stores the events of a task while it runs.

use super::entry::{Entry, earlier};
use super::requests::{Part, SentStep, Took};
use super::tasks::Store;
use crate::agent_loop::history::HistoryEntry;
use crate::agent_loop::memory::Memory;
use crate::protocol::event::Event;
use crate::protocol::mode::Effect;
use crate::protocol::step::StepResult;
use crate::protocol::task::Task;
use serde::Deserialize;
use serde_json::Value;
use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::sync::Arc;
use std::time::{Duration, Instant};

/// State of an interrupted task, and the memory of the tasks before it.
#[derive(Debug, Default)]
pub struct ResumeState {
    /// The dialogue with the model.
    pub said: Vec<HistoryEntry>,
    /// Results that the dialogue does not know yet, the oldest first.
    pub results: VecDeque<StepResult>,
    /// Interrupted steps and requests, in words.
    pub begun: Vec<String>,
    /// The requests of that step, the oldest first.
    pub sent: Vec<SentStep>,
    /// A request that was perhaps sent, of which the helper has no outcome.
    pub again: Option<SentStep>,
    /// Memory of earlier tasks, for the model.
    pub memory: Memory,
}

/// Keeps one task's events.
pub struct TaskEvents<'k> {
    store: &'k Store,
    entry: &'k Arc<Entry>,
    /// By step: several of one reply may be under way.
    asked: BTreeMap<usize, SentRequest>,
    leaves: DialogueSummary,
    is_unkept: bool,
}

/// A request that a task asks.
#[derive(Default, Deserialize)]
#[serde(default)]
struct SentRequest {
    request_id: String,
    step: usize,
    verb: String,
    target: String,
    effect: Effect,
    undoes: Option<String>,
    left_out: Vec<String>,
    /// The request whose recorded outcome is asked for.
    of: Option<String>,
    #[serde(skip)]
    timer: Timer,
}

/// Measures how long a request takes.
struct Timer {
    sent: Instant,
    waiting: Option<Instant>,
    waited: Duration,
}

impl Default for Timer {
    fn default() -> Self {
        Self { sent: Instant::now(), waiting: None, waited: Duration::ZERO }
    }
}

impl Timer {
    /// Notes that the request waits for a person, or goes on.
    fn note(&mut self, is_waiting: bool) {
        let since = self.waiting.take();
        self.waited += since.map_or(Duration::ZERO, |since| since.elapsed());
        self.waiting = is_waiting.then(Instant::now);
    }

    fn took(&self) -> Took {
        Took { work: self.sent.elapsed().saturating_sub(self.waited), waited: self.waited }
    }
}

/// Results of a dialogue, for the tasks that continue it.
#[derive(Default, Deserialize)]
#[serde(default)]
struct DialogueSummary {
    remaining: String,
    failed_approaches: Vec<String>,
    well: BTreeSet<String>,
    policy: String,
}

impl Store {
    /// Returns the writer of a running task's events.
    pub fn keeper<'k>(&'k self, entry: &'k Arc<Entry>) -> TaskEvents<'k> {
        TaskEvents {
            store: self,
            entry,
            asked: BTreeMap::new(),
            leaves: DialogueSummary::default(),
            is_unkept: false,
        }
    }

    /// Loads the state of a task before it is run.
    ///
    /// # Errors
    /// Some of it cannot be read. The task must not be run: steps could be repeated.
    pub fn left(&self, entry: &Entry, task: &Task) -> Result<ResumeState, String> {
        let (said, known) = entry.said()?;
        let mut begun = entry.begun()?;
        // Its result was kept, that it is told was not.
        begun.retain(|(step, _)| !task.results.iter().any(|result| result.is_own() && result.step == *step));
        let steps: BTreeSet<usize> = begun.iter().map(|(step, _)| *step).collect();
        let sent: Result<Vec<Vec<SentStep>>, String> =
            steps.iter().map(|step| self.requests.of_step(&task.id, *step)).collect();
        let unknown = task.results.iter().skip(known).filter(|result| result.is_own());
        Ok(ResumeState {
            results: if said.is_empty() { VecDeque::new() } else { unknown.cloned().collect() },
            said,
            sent: sent?.into_iter().flatten().collect(),
            begun: begun.into_iter().map(|(_, what)| what).collect(),
            again: None,
            memory: match entry.order.after.as_deref() {
                Some(id) => self.memory(id)?,
                None => Memory::default(),
            },
        })
    }
}

impl TaskEvents<'_> {
    /// Takes an event in.
    pub fn on(&mut self, name: &'static str, data: Value, task: &Task) {
        match name {
            // A task's ids are made here and nobody else's.
            "request" => {
                let asked: SentRequest = serde_json::from_value(data).unwrap_or_default();
                let SentRequest { request_id, step, verb, target, effect, undoes, left_out, .. } = &asked;
                let part = Part { task: &task.id, step: *step, verb, target, left_out };
                let owner = self.entry.order.owner;
                let requests = &self.store.requests;
                if requests.claim(owner, request_id, undoes.is_some(), *effect, Some(&part)) != Ok(true) {
                    // Sent all the same, it could not be found again after a kill: it is not sent.
                    self.is_unkept = true;
                    self.entry.cancel.send_replace(true);
                }
                self.asked.insert(asked.step, asked);
            }
            "said" => self.entry.keep(&data, task.results.len()),
            "leaves" => self.leaves = serde_json::from_value(data).unwrap_or_default(),
            _ => {
                let step = data["step"].as_u64().and_then(|step| usize::try_from(step).ok());
                if let (Ok(end), Some(asked)) =
                    (Event::from_parts(name, &data), step.and_then(|step| self.asked.get_mut(&step)))
                {
                    asked.timer.note(matches!(end, Event::Waiting(_)));
                    let SentRequest { request_id, of, undoes, timer, .. } = asked;
                    match of {
                        Some(recalled) => self.store.requests.recalled(recalled, &end),
                        None => {
                            self.store.requests.settle(
                                request_id,
                                undoes.as_deref(),
                                &end,
                                Some(timer.took()),
                            );
                        }
                    }
                }
                self.entry.update(task);
                self.entry.note(name, &data);
            }
        }
    }

    /// Keeps how the task ended, and what a task that goes on from it will know.
    pub fn end(self, task: &mut Task, mut memory: Memory) {
        if self.is_unkept {
            let why = "ended by the agent itself: its database cannot be written; see `postern health`";
            task.warnings.push(why.to_owned());
        }
        let earlier = earlier(task, self.leaves.remaining);
        if !self.leaves.policy.is_empty() {
            memory.policy = self.leaves.policy;
        }
        memory.add(earlier, self.leaves.failed_approaches, &self.leaves.well);
        self.entry.remember(&memory);
        self.entry.update(task);
        self.entry.close();
        self.store.tidy();
    }
}
