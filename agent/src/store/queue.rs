//! The tasks that wait to be run. Those of one session run one after the other: each finds what the one before
//! it left. All others run beside each other, as far as there are slots.

use super::entry::Entry;
use super::slots::Slots;
use crate::protocol::owner::Owner;
use crate::protocol::task::TaskStatus;
use std::collections::VecDeque;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use tokio::sync::Notify;

/// The queue, and what has left it and runs.
pub struct Queue {
    limit: usize,
    /// Which of those that run may act.
    pub slots: Arc<Slots>,
    lines: Mutex<Lines>,
    news: Notify,
}

#[derive(Default)]
struct Lines {
    waiting: VecDeque<Arc<Entry>>,
    running: Vec<Arc<Entry>>,
}

/// A task that left the queue to run; its session is free for the next one when this is dropped.
pub struct QueueSlot {
    /// The task.
    pub entry: Arc<Entry>,
    queue: Arc<Queue>,
}

impl Queue {
    /// A queue for so many tasks of each person, of which so many act at once.
    #[must_use]
    pub fn new(limit: usize, parallel: usize) -> Arc<Self> {
        Arc::new(Self { limit, slots: Slots::new(parallel), lines: Mutex::default(), news: Notify::new() })
    }

    fn lines(&self) -> MutexGuard<'_, Lines> {
        self.lines.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// How many tasks of one person may wait.
    #[must_use]
    pub fn limit(&self) -> usize {
        self.limit
    }

    /// Lets a task wait; false if too many of its person's do. Those that have begun and wait for somebody count
    /// with those that have not, those that act do not: nobody's fill the memory, and nobody's keep another person's out.
    #[must_use]
    pub fn push(&self, entry: &Arc<Entry>) -> bool {
        let has_room = self.has_room(entry.order.owner);
        if has_room {
            self.push_back(Arc::clone(entry));
        }
        has_room
    }

    /// Returns whether one more task of this person may wait.
    #[must_use]
    pub fn has_room(&self, owner: Owner) -> bool {
        let lines = self.lines();
        let own: Vec<TaskStatus> = lines
            .waiting
            .iter()
            .chain(&lines.running)
            .filter(|other| other.order.owner == owner)
            .map(|other| other.status())
            .collect();
        drop(lines);
        let count = |wanted: TaskStatus| own.iter().filter(|status| **status == wanted).count();
        let (queued, waiting) = (count(TaskStatus::Queued), count(TaskStatus::Waiting));
        queued < self.limit && queued + waiting <= self.limit
    }

    /// Names the task that a new one waits for; `None` if it can begin.
    #[must_use]
    pub fn ahead(&self, entry: &Arc<Entry>) -> Option<String> {
        let lines = self.lines();
        let after = entry.order.after.as_deref();
        let place = session(entry);
        let is_ahead = |other: &&Arc<Entry>| {
            !Arc::ptr_eq(other, entry)
                && (place.is_some() && session(other) == place || after.is_some_and(|id| other.id() == id))
        };
        let ahead = lines.running.iter().chain(&lines.waiting).find(is_ahead)?;
        let id = ahead.id();
        Some(format!("your earlier task {} of this session", id.get(..8).unwrap_or(&id)))
    }

    /// Lets a task wait that had waited before the agent was started anew.
    pub fn push_back(&self, entry: Arc<Entry>) {
        self.lines().waiting.push_back(entry);
        self.news.notify_one();
    }

    /// Takes a task out that was cancelled.
    pub fn remove(&self, entry: &Arc<Entry>) {
        self.lines().waiting.retain(|waiting| !Arc::ptr_eq(waiting, entry));
    }

    /// The next task that nothing of its session is ahead of. For one worker.
    pub async fn next(self: &Arc<Self>) -> QueueSlot {
        loop {
            if let Some(entry) = self.lines().next() {
                return QueueSlot { entry, queue: Arc::clone(self) };
            }
            self.news.notified().await;
        }
    }
}

impl Lines {
    fn next(&mut self) -> Option<Arc<Entry>> {
        let is_free = |entry: &Arc<Entry>| {
            let place = session(entry);
            let is_alone = place.is_none() || self.running.iter().all(|running| session(running) != place);
            let after = entry.order.after.as_deref();
            let mut unfinished = self.running.iter().chain(&self.waiting);
            is_alone && after.is_none_or(|id| unfinished.all(|other| other.id() != id))
        };
        let index = self.waiting.iter().position(is_free)?;
        let entry = self.waiting.remove(index)?;
        self.running.push(Arc::clone(&entry));
        Some(entry)
    }
}

impl Drop for QueueSlot {
    fn drop(&mut self) {
        self.queue.lines().running.retain(|running| !Arc::ptr_eq(running, &self.entry));
        self.queue.news.notify_one();
    }
}

fn session(entry: &Entry) -> Option<(Owner, &str)> {
    let session = entry.order.session.as_str();
    (!session.is_empty()).then_some((entry.order.owner, session))
}
