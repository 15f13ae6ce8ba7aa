//! The tasks that the service knows. In memory: the one place that persistence will replace.

use super::question::{Answer, Person};
use super::{Order, Owner, Requests, Right, Task, TaskStatus};
use serde_json::Value;
use std::collections::VecDeque;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use tokio::sync::{mpsc, watch};

/// Finished tasks that are kept, and the bytes that their results may have together.
const KEPT_TASKS: usize = 200;
const KEPT_BYTES: usize = 8 << 20;
/// Events of a task that a late listener can still get.
const KEPT_NOTES: usize = 2000;
/// Finished tasks whose events are kept whole; of older ones only those of the steps are.
const KEPT_WHOLE: usize = 8;

/// All tasks, and who asked for which request.
#[derive(Default)]
pub struct Store {
    tasks: Mutex<VecDeque<Arc<Entry>>>,
    /// Requests by whom they were sent for.
    pub requests: Requests,
}

/// One task with its events.
pub struct Entry {
    /// What was ordered.
    pub order: Order,
    /// Set to end it.
    pub cancel: watch::Sender<bool>,
    /// Where its person's answers go.
    answers: mpsc::Sender<(u32, Answer)>,
    person: Mutex<Option<Person>>,
    task: Mutex<Task>,
    notes: Mutex<VecDeque<Note>>,
    last: watch::Sender<u64>,
}

/// One event of a task.
#[derive(Clone, Debug)]
pub struct Note {
    /// Counts from 1.
    pub number: u64,
    /// The event's name.
    pub name: &'static str,
    /// Its members.
    pub data: Value,
}

/// What a search by id or by its beginning found.
pub enum Find {
    /// That one.
    One(Arc<Entry>),
    /// None of this person's.
    None,
    /// The beginning of several.
    Several,
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

impl Store {
    /// Takes a new task in.
    pub fn add(&self, id: String, order: Order) -> Arc<Entry> {
        let (answers, questioner) = mpsc::channel(4);
        let person = if order.interactive { Person::Present(questioner) } else { Person::Absent };
        let entry = Arc::new(Entry {
            answers,
            person: Mutex::new(Some(person)),
            task: Mutex::new(Task::new(id, &order)),
            order,
            cancel: watch::Sender::new(false),
            notes: Mutex::default(),
            last: watch::Sender::new(0),
        });
        lock(&self.tasks).push_back(Arc::clone(&entry));
        entry
    }

    /// Takes a task out that was never run.
    pub fn forget(&self, id: &str) {
        lock(&self.tasks).retain(|entry| entry.task().id != id);
    }

    /// A task that somebody has this right over, by its id or the beginning of it.
    pub fn find(&self, who: Owner, right: Right, id: &str) -> Find {
        let tasks = lock(&self.tasks);
        let own = |entry: &&Arc<Entry>| who.has(right, entry.order.owner) && entry.task().id.starts_with(id);
        let mut found = tasks.iter().filter(own);
        match (found.next(), found.next()) {
            (Some(entry), None) => Find::One(Arc::clone(entry)),
            (None, _) => Find::None,
            (Some(_), Some(_)) => Find::Several,
        }
    }

    /// The tasks that somebody may see, the newest first.
    pub fn list(&self, who: Owner) -> Vec<Task> {
        lock(&self.tasks)
            .iter()
            .rev()
            .filter(|entry| who.has(Right::See, entry.order.owner))
            .map(|entry| entry.task())
            .collect()
    }

    /// Lets the oldest finished tasks go, and events before them, when there are too many or they are too large.
    pub fn tidy(&self) {
        let mut tasks = lock(&self.tasks);
        let (mut count, mut bytes) = (0, 0);
        let mut kept = VecDeque::with_capacity(tasks.len());
        for entry in tasks.drain(..).rev() {
            let task = entry.task();
            if task.status.is_final() {
                count += 1;
                bytes += serde_json::to_string(&task).map_or(0, |text| text.len());
                if count > KEPT_TASKS || (bytes > KEPT_BYTES && count > 1) {
                    continue;
                }
                if count > KEPT_WHOLE {
                    lock(&entry.notes).retain(|note| note.name == "step");
                }
            }
            kept.push_front(entry);
        }
        *tasks = kept;
    }
}

impl Entry {
    /// The record as it stands.
    pub fn task(&self) -> Task {
        lock(&self.task).clone()
    }

    /// Puts the record in place.
    pub fn update(&self, task: &Task) {
        lock(&self.task).clone_from(task);
    }

    /// Ends a task that has not begun; true if it did.
    pub fn cancel_queued(&self) -> bool {
        let mut task = lock(&self.task);
        let is_queued = task.status == TaskStatus::Queued;
        if is_queued {
            task.status = TaskStatus::Cancelled;
            "cancelled before it began".clone_into(&mut task.summary);
        }
        is_queued
    }

    /// Takes a task that is still queued to run it; `None` if it was cancelled meanwhile.
    pub fn begin(&self) -> Option<Task> {
        let mut task = lock(&self.task);
        (task.status == TaskStatus::Queued).then(|| {
            task.status = TaskStatus::Running;
            task.clone()
        })
    }

    /// The person to ask, for the one that runs the task.
    pub fn person(&self) -> Person {
        lock(&self.person).take().unwrap_or(Person::Absent)
    }

    /// Answers the question of this number; false if it is not the one that stands.
    pub fn answer(&self, number: u32, answer: Answer) -> bool {
        let stands = lock(&self.task).question.as_ref().is_some_and(|question| question.number == number);
        stands && self.answers.try_send((number, answer)).is_ok()
    }

    /// Adds an event. Progress takes the place of the progress before it.
    pub fn note(&self, name: &'static str, data: Value) {
        let mut notes = lock(&self.notes);
        let number = *self.last.borrow() + 1;
        if name == "progress" && notes.back().is_some_and(|note| note.name == "progress") {
            notes.pop_back();
        } else if notes.len() == KEPT_NOTES {
            notes.pop_front();
        }
        notes.push_back(Note { number, name, data });
        self.last.send_replace(number);
    }

    /// Ends the listeners' waiting: the record says how the task ended.
    pub fn close(&self) {
        let number = *self.last.borrow();
        self.last.send_replace(number);
    }

    /// The events after a number.
    pub fn notes_after(&self, number: u64) -> Vec<Note> {
        lock(&self.notes).iter().filter(|note| note.number > number).cloned().collect()
    }

    /// Tells of new events.
    pub fn listen(&self) -> watch::Receiver<u64> {
        self.last.subscribe()
    }
}
