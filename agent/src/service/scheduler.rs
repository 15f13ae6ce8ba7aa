//! Starts the tasks of schedules.
//!
//! The next run is in the database alone, in wall-clock time, and compared with the clock twice a minute: a host that
//! slept, a clock that was set and an agent that was off all leave a time that is over, whose run is started once.

use super::calendar::{self, CalendarError};
use crate::client::pending_request::new_id;
use crate::config::host::Host;
use crate::inspect::failures::unit_states;
use crate::offline_planner;
use crate::protocol::schedule::{OnFailure, Schedule, Trigger};
use crate::protocol::task::{Scheduled, TaskOrder, Work};
use crate::store::{Entry, Queue, Store, StoredSchedule};
use futures_util::StreamExt;
use std::collections::{BTreeSet, HashMap};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

/// Longest time between two comparisons with the clock.
const CLOCK_CHECK: i64 = 30;
/// Time between two checks of units, in seconds.
const UNIT_CHECK: i64 = 5;
/// Longest wait for systemd, also where all units are asked about, or for the user database.
const READ_TIME: Duration = Duration::from_secs(10);
/// Programs that tell next times, at a time.
const PLANNING: usize = 4;

/// The note of a schedule that cannot be planned.
const NO_TIME: &str = "the next time is not known: ";

/// Starts runs.
pub struct Scheduler {
    pub host: Host,
    pub store: Arc<Store>,
    pub queue: Arc<Queue>,
    /// Whether a model makes the steps of tasks.
    pub has_model: bool,
    memory: Memory,
}

/// State that no restart needs.
#[derive(Default)]
struct Memory {
    /// The last fault that was logged, by schedule.
    faults: Mutex<HashMap<String, String>>,
    /// Failures of units during a run, by schedule: they start no other.
    ignored: Mutex<HashMap<String, u64>>,
}

impl Memory {
    /// Forgets schedules that were removed.
    fn keep(&self, all: &[StoredSchedule]) {
        let is_there = |id: &String| all.iter().any(|stored| stored.schedule.id == *id);
        self.faults.lock().unwrap_or_else(PoisonError::into_inner).retain(|id, _| is_there(id));
        self.ignored.lock().unwrap_or_else(PoisonError::into_inner).retain(|id, _| is_there(id));
    }

    /// Remembers a fault; true if it is another one than before.
    fn is_new_fault(&self, schedule: &str, why: &str) -> bool {
        let mut faults = self.faults.lock().unwrap_or_else(PoisonError::into_inner);
        faults.insert(schedule.to_owned(), why.to_owned()).is_none_or(|before| before != why)
    }

    fn forget_fault(&self, schedule: &str) {
        self.faults.lock().unwrap_or_else(PoisonError::into_inner).remove(schedule);
    }

    /// Ignores a failure; true if it is the first one since the last run ended.
    fn ignore(&self, schedule: &str, failed_us: u64) -> bool {
        let mut ignored = self.ignored.lock().unwrap_or_else(PoisonError::into_inner);
        ignored.insert(schedule.to_owned(), failed_us).is_none()
    }

    fn is_ignored(&self, schedule: &str, failed_us: Option<u64>) -> bool {
        let ignored = self.ignored.lock().unwrap_or_else(PoisonError::into_inner);
        failed_us.is_some() && ignored.get(schedule).copied() == failed_us
    }

    fn ignore_no_more(&self, schedule: &str) {
        self.ignored.lock().unwrap_or_else(PoisonError::into_inner).remove(schedule);
    }
}

/// Why a run was not started.
pub enum NotBegun {
    /// The task of an earlier one has not ended.
    Running(String),
    /// As many tasks of its person wait as may.
    Full(String),
    /// A model was to carry out the words, there is none now, and the offline planner does not understand them.
    NotUnderstood(String),
    /// Somebody changed the schedule meanwhile.
    Changed,
    /// The database fails.
    Failed(String),
}

/// Reads on a thread of its own, whose end nobody awaits after [`READ_TIME`].
///
/// # Errors
/// Why it cannot be read, or that `who` does not answer.
pub async fn in_time<T: Send + 'static>(
    who: &str,
    read: impl FnOnce() -> Result<T, String> + Send + 'static,
) -> Result<T, String> {
    match tokio::time::timeout(READ_TIME, tokio::task::spawn_blocking(read)).await {
        Ok(read) => read.unwrap_or_else(|error| Err(error.to_string())),
        Err(_) => Err(format!("{who} does not answer")),
    }
}

impl Scheduler {
    /// Returns one that has started nothing yet.
    pub fn new(host: &Host, store: &Arc<Store>, queue: &Arc<Queue>, has_model: bool) -> Arc<Self> {
        let (store, queue) = (Arc::clone(store), Arc::clone(queue));
        Arc::new(Self { host: host.clone(), store, queue, has_model, memory: Memory::default() })
    }

    /// Starts what is due, for ever.
    pub async fn work(self: Arc<Self>) {
        loop {
            let pause = self.check().await;
            tokio::select! {
                () = tokio::time::sleep(pause) => {}
                () = self.store.schedules.changed() => {}
            }
        }
    }

    /// Checks all schedules once, and returns the time until the next check.
    async fn check(&self) -> Duration {
        let seconds = |seconds: i64| Duration::from_secs(seconds.max(0).unsigned_abs());
        // The database logs its fault.
        let Ok(all) = self.store.schedules.all() else { return seconds(CLOCK_CHECK) };
        self.memory.keep(&all);
        let (units, timed): (Vec<_>, Vec<_>) = all
            .into_iter()
            .filter(|stored| stored.schedule.is_active())
            .partition(|stored| matches!(stored.schedule.trigger, Trigger::OnFailed(_)));
        let now = self.host.clock.now();
        // Due runs start first: nothing slow is ahead of them.
        for stored in timed.iter().filter(|stored| stored.schedule.is_due(now)) {
            let mut schedule = stored.schedule.clone();
            schedule.take_due(now);
            self.begin_or_skip(stored, schedule, now);
        }
        let unplanned = timed.iter().filter(|stored| stored.schedule.needs_plan(now));
        futures_util::stream::iter(unplanned)
            .for_each_concurrent(PLANNING, |stored| self.plan(stored, now))
            .await;
        let mut pause = if units.is_empty() { CLOCK_CHECK } else { UNIT_CHECK };
        self.check_units(units).await;
        let next = timed.iter().filter_map(|stored| stored.schedule.next_unix_s).filter(|next| *next > now);
        pause = next.min().map_or(pause, |next| pause.min(next.saturating_sub(self.host.clock.now())));
        seconds(pause)
    }

    /// Plans the next run. A fault stands in the note, and is tried again unless systemd knows no such event.
    async fn plan(&self, stored: &StoredSchedule, now: i64) {
        let old = &stored.schedule;
        let mut schedule = old.clone();
        if old.was_set_back(now) {
            tracing::warn!(event = "schedule_planned", schedule = old.id, "the clock was set back");
        }
        let next = match &old.trigger {
            Trigger::At(event) => {
                let from = old.plan_from(now);
                let times = calendar::next_times(&self.host.calendar, event, from, 1).await;
                times.map(|times| times.first().copied())
            }
            Trigger::EveryS(interval) => Ok(Some(now.saturating_add(interval.seconds()))),
            Trigger::OnFailed(_) => return,
        };
        match next {
            Ok(next) => {
                self.memory.forget_fault(&old.id);
                if schedule.note.starts_with(NO_TIME) {
                    schedule.note.clear();
                }
                schedule.plan(now, next);
            }
            Err(CalendarError::Invalid(why)) => {
                tracing::warn!(event = "schedule_paused", schedule = old.id, "{why}");
                schedule.pause(&why);
            }
            Err(CalendarError::Unavailable(why)) => {
                if self.memory.is_new_fault(&old.id, &why) {
                    tracing::error!(event = "schedule_unplanned", schedule = old.id, "tried again: {why}");
                }
                schedule.note = format!("{NO_TIME}{why}");
                if schedule == *old {
                    return;
                }
            }
        }
        self.replace(stored, &schedule);
    }

    async fn check_units(&self, watching: Vec<StoredSchedule>) {
        let name = |stored: &StoredSchedule| match &stored.schedule.trigger {
            Trigger::OnFailed(unit) => Some(unit.as_str().to_owned()),
            Trigger::At(_) | Trigger::EveryS(_) => None,
        };
        let names: BTreeSet<String> = watching.iter().filter_map(name).collect();
        if names.is_empty() {
            return;
        }
        let (names, root) = (names.into_iter().collect::<Vec<_>>(), self.host.root.clone());
        let asked = names.clone();
        let read = in_time("systemd", move || unit_states(&root, &asked)).await;
        let states = read.unwrap_or_else(|why| vec![Err(why); names.len()]);
        let states: HashMap<_, _> = names.into_iter().zip(states).collect();
        for stored in &watching {
            let id = &stored.schedule.id;
            match name(stored).and_then(|name| states.get(&name)) {
                Some(Ok(state)) => {
                    self.memory.forget_fault(id);
                    self.check_unit(stored, state.failed_us);
                }
                Some(Err(why)) if self.memory.is_new_fault(id, why) => {
                    tracing::error!(event = "schedule_unwatched", schedule = id, "tried again: {why}");
                }
                Some(Err(_)) | None => {}
            }
        }
    }

    fn check_unit(&self, stored: &StoredSchedule, failed_us: Option<u64>) {
        let now = self.host.clock.now();
        let mut schedule = stored.schedule.clone();
        let id = schedule.id.clone();
        // Whether it runs is known from the database alone: if that fails, nothing is started.
        let Ok(running) = self.store.running(&id) else { return };
        match schedule.on_failure(now, failed_us, running.is_some()) {
            OnFailure::Nothing | OnFailure::Wait => {}
            OnFailure::Run if self.memory.is_ignored(&id, failed_us) => {}
            OnFailure::Run => {
                schedule.seen_failure_us = failed_us;
                self.begin_or_skip(stored, schedule, now);
            }
            OnFailure::LeaveOut(why) => {
                // Once a run: a unit that fails every second writes nothing more.
                if failed_us.is_some_and(|failed_us| self.memory.ignore(&id, failed_us)) {
                    self.skip(stored, schedule, &why);
                }
            }
            OnFailure::Pause(why) => {
                schedule.pause(&why);
                tracing::warn!(event = "schedule_paused", schedule = id, "{why}");
                self.replace(stored, &schedule);
            }
        }
    }

    fn begin_or_skip(&self, stored: &StoredSchedule, schedule: Schedule, now: i64) {
        match self.begin(stored, schedule.clone(), Some(now)) {
            // A changed schedule is checked again as it is now. A database that fails logs that itself.
            Ok(_) | Err(NotBegun::Changed | NotBegun::Failed(_)) => {}
            Err(NotBegun::Running(task)) => {
                let why = format!("the run before it, task {task}, has not ended");
                self.skip(stored, schedule, &why);
            }
            Err(NotBegun::NotUnderstood(why)) => self.skip(stored, schedule, &why),
            // Still due: tried again at the next check.
            Err(NotBegun::Full(why)) => {
                if self.memory.is_new_fault(&schedule.id, &why) {
                    tracing::warn!(event = "schedule_waits", schedule = schedule.id, "tried again: {why}");
                }
            }
        }
    }

    fn skip(&self, stored: &StoredSchedule, mut schedule: Schedule, why: &str) {
        tracing::warn!(event = "schedule_skipped", schedule = schedule.id, "no run: {why}");
        schedule.note = format!("a run was skipped: {why}");
        self.replace(stored, &schedule);
    }

    fn replace(&self, stored: &StoredSchedule, schedule: &Schedule) {
        // A schedule that somebody changed meanwhile is checked again; a database that fails logs that itself.
        let _ = self.store.schedules.replace(stored, schedule);
    }

    /// Starts a run for the schedule's person, at a time of its trigger or because the person says so, and keeps the
    /// schedule's new record.
    ///
    /// # Errors
    /// Why it is not started.
    pub fn begin(
        &self,
        stored: &StoredSchedule,
        mut schedule: Schedule,
        by_trigger: Option<i64>,
    ) -> Result<Arc<Entry>, NotBegun> {
        if let Some(task) = self.store.running(&schedule.id).map_err(NotBegun::Failed)? {
            return Err(NotBegun::Running(task));
        }
        // Nothing waits for anything from here on: the room stays.
        if !self.queue.has_room(stored.owner) {
            return Err(NotBegun::Full(format!("{} tasks of its person are waiting", self.queue.limit())));
        }
        let order = self.order(stored)?;
        let id = new_id();
        schedule.begin(by_trigger, &id);
        let added = self.store.add_run(stored, &schedule, (id.clone(), order));
        let entry = added.map_err(NotBegun::Failed)?.ok_or(NotBegun::Changed)?;
        self.queue.push_back(Arc::clone(&entry));
        self.memory.ignore_no_more(&schedule.id);
        self.memory.forget_fault(&schedule.id);
        tracing::info!(event = "schedule_begins", schedule = schedule.id, task = id, "a run begins");
        Ok(entry)
    }

    /// Makes the order of a run. Words that a model was to carry out are the offline planner's where there is none now.
    fn order(&self, stored: &StoredSchedule) -> Result<TaskOrder, NotBegun> {
        let Schedule { id, person, .. } = &stored.schedule;
        let order = self.store.schedules.order(id).map_err(NotBegun::Failed)?.ok_or(NotBegun::Changed)?;
        let scheduled = Scheduled { schedule: id.clone(), person: person.clone() };
        let mut order = TaskOrder { scheduled: Some(scheduled), ..order };
        if !self.has_model && order.steps.is_empty() && order.work == Work::Task {
            let planned = offline_planner::plan(&order.task);
            order.steps = planned.map_err(|why| NotBegun::NotUnderstood(why.to_string()))?;
        }
        Ok(order)
    }
}
