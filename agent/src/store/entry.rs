//! One task with its events, and how the database learns of them.

use super::database::{Database, Wait};
use super::live::Live;
use crate::agent_loop::history::HistoryEntry;
use crate::agent_loop::memory::{Earlier, Memory};
use crate::llm::conversation::Reply;
use crate::protocol::owner::Owner;
use crate::protocol::question::{Person, UserAnswer};
use crate::protocol::task::{INTERRUPTED, Task, TaskOrder, TaskStatus};
use rusqlite::params;
use serde::{Deserialize, Serialize};
use serde_json::Value;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use tokio::sync::{mpsc, watch};

/// Events of a task that a late listener can still get, and the bytes that they may have.
const KEPT_NOTES: u64 = 2000;
const KEPT_NOTE_BYTES: usize = 4 << 20;

/// One task with its events.
pub struct Entry {
    /// The order.
    pub order: TaskOrder,
    /// Set to end it.
    pub cancel: watch::Sender<bool>,
    /// Its place in the database.
    row: i64,
    /// Where its person's answers go.
    answers: mpsc::Sender<(u32, UserAnswer)>,
    person: Mutex<Option<Person>>,
    /// The token of the person's session, in memory alone.
    session: Mutex<String>,
    task: Mutex<StoredTask>,
    noted: Mutex<Noted>,
    last: watch::Sender<u64>,
    /// The model's words as they come.
    pub live: Live,
    database: Arc<Database>,
}

/// The record, and what the database has of it.
struct StoredTask {
    task: Task,
    head: String,
    results: usize,
}

/// Stored part of the events.
#[derive(Default)]
struct Noted {
    first: u64,
    bytes: usize,
    is_progress: bool,
}

/// A step in an event to listeners.
#[derive(Deserialize)]
struct StepNote {
    step: usize,
    what: String,
    status: String,
}

/// One event of a task.
#[derive(Clone, Debug)]
pub struct Note {
    /// Counts from 1.
    pub number: u64,
    /// The event's name.
    pub name: String,
    /// Its members, as JSON.
    pub data: String,
}

impl Entry {
    /// A task as the database has it, after so many events.
    pub(super) fn new(
        row: i64,
        order: TaskOrder,
        mut task: Task,
        last: u64,
        database: Arc<Database>,
    ) -> Arc<Self> {
        let (answers, questioner) = mpsc::channel(4);
        let person = if order.interactive { Person::Present(questioner) } else { Person::Absent };
        let kept = StoredTask { head: head(&mut task), results: task.results.entry_count(), task };
        Arc::new(Self {
            row,
            answers,
            person: Mutex::new(Some(person)),
            session: Mutex::default(),
            task: Mutex::new(kept),
            order,
            cancel: watch::Sender::new(false),
            noted: Mutex::new(Noted { first: last + 1, ..Noted::default() }),
            last: watch::Sender::new(last),
            live: Live::open(),
            database,
        })
    }

    fn kept(&self) -> MutexGuard<'_, StoredTask> {
        self.task.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The token of the person's session; empty where none was quoted.
    pub fn session(&self) -> String {
        self.session.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// Quotes this session from now on, if it is the owner's.
    pub fn quote(&self, caller: Owner, token: String) {
        if caller == self.order.owner && !token.is_empty() {
            *self.session.lock().unwrap_or_else(PoisonError::into_inner) = token;
        }
    }

    /// The task's id.
    pub fn id(&self) -> String {
        self.kept().task.id.clone()
    }

    /// Where it stands.
    pub fn status(&self) -> TaskStatus {
        self.kept().task.status
    }

    /// The record as it stands.
    pub fn task(&self) -> Task {
        self.kept().task.clone()
    }

    /// Puts the record in place.
    pub fn update(&self, task: &Task) {
        let mut kept = self.kept();
        kept.task.clone_from(task);
        self.write(&mut kept);
    }

    /// Writes what the database does not have yet.
    fn write(&self, kept: &mut StoredTask) {
        let head = head(&mut kept.task);
        let results = kept.task.results.entry_count();
        if head == kept.head && results == kept.results {
            return;
        }
        let written = self.database.write(Wait::ForKernel, |sql| {
            for (result, number) in kept.task.results.texts_after(kept.results).iter().zip(kept.results..) {
                sql.prepare("INSERT OR REPLACE INTO steps (task, number, result) VALUES (?, ?, ?)")?
                    .execute(params![self.row, i64::try_from(number).unwrap_or(i64::MAX), result])?;
            }
            sql.prepare("UPDATE tasks SET status = ?, record = ? WHERE seq = ?")?.execute(params![
                word(kept.task.status),
                head,
                self.row
            ])
        });
        // A failed write is repeated with the next change; after a restart in between the task is as it was last
        // written.
        if written.is_ok() {
            kept.head = head;
            kept.results = results;
        }
    }

    /// Ends a task that has not begun; true if it did.
    pub fn cancel_queued(&self) -> bool {
        let mut kept = self.kept();
        let is_queued = kept.task.status == TaskStatus::Queued;
        if is_queued {
            kept.task.status = TaskStatus::Cancelled;
            "cancelled before it began".clone_into(&mut kept.task.summary);
            self.write(&mut kept);
        }
        is_queued
    }

    /// Takes a task that is still queued to run it; `None` if it was cancelled meanwhile.
    pub fn begin(&self) -> Option<Task> {
        let mut kept = self.kept();
        (kept.task.status == TaskStatus::Queued).then(|| {
            kept.task.status = TaskStatus::Running;
            self.write(&mut kept);
            kept.task.clone()
        })
    }

    /// Ends a task that an earlier process ran when it ended.
    pub(super) fn interrupted(&self) {
        self.stop("the agent was stopped while it ran this");
    }

    /// Ends a task that is queued, since its person may give none any longer; false if it is not queued.
    pub fn refuse(&self, why: &str) -> bool {
        let mut kept = self.kept();
        let is_queued = kept.task.status == TaskStatus::Queued;
        if is_queued {
            let task = &mut kept.task;
            // One that an earlier process ran is queued again.
            let not = if task.results.entry_count() == 0 { "not run" } else { "not continued" };
            task.status = if task.changes.is_empty() { TaskStatus::Refused } else { TaskStatus::Partial };
            task.summary = format!("{not}: {why}");
            self.write(&mut kept);
        }
        is_queued
    }

    /// Ends a task where it stands, for a reason that is not its own: it can be resumed.
    pub fn stop(&self, why: &str) {
        let mut kept = self.kept();
        let id = kept.task.id.clone();
        let task = &mut kept.task;
        task.status = if task.changes.is_empty() { TaskStatus::Failed } else { TaskStatus::Partial };
        (task.waiting, task.question) = (None, None);
        task.also_waiting.clear();
        task.summary = format!("{why}; to go on: postern tasks resume {id}");
        task.warnings.push(format!("{INTERRUPTED}postern tasks resume {id}"));
        // Before the record, which says so: killed between the two, the next process marks the task again.
        let mark = "UPDATE tasks SET interrupted = 1 WHERE seq = ?";
        // Told of in the journal; the task then cannot be resumed, but its record stands.
        let _ = self.database.write(Wait::ForKernel, |sql| sql.execute(mark, [self.row]));
        self.write(&mut kept);
    }

    /// Queues a task again that an earlier process was stopped in; false if it was not.
    pub(super) fn requeue(&self) -> bool {
        let mut kept = self.kept();
        // In one: a task that is neither marked nor queued would be lost by a kill between the two.
        let queued = word(TaskStatus::Queued);
        let take = "UPDATE tasks SET interrupted = 0, status = ?1, record = json_set(record, '$.status', ?1)
                    WHERE seq = ?2 AND interrupted";
        let taken = self.database.write(Wait::ForKernel, |sql| sql.execute(take, params![queued, self.row]));
        if taken != Ok(1) {
            return false;
        }
        let task = &mut kept.task;
        task.status = TaskStatus::Queued;
        task.summary.clear();
        task.warnings.retain(|warning| !warning.starts_with(INTERRUPTED));
        let step = task.results.next_number();
        task.warnings.push(format!("the agent was stopped during step {step}; the task went on from there"));
        self.write(&mut kept);
        true
    }

    /// The same task with a person who is there, or is not.
    pub(super) fn reopened(&self, interactive: bool) -> Arc<Self> {
        let order = TaskOrder { interactive, ..self.order.clone() };
        Self::new(self.row, order, self.task(), *self.last.borrow(), Arc::clone(&self.database))
    }

    /// Keeps a piece of the dialogue, with how many results the task has by now.
    pub(super) fn keep(&self, said: &Value, results: usize) {
        // Without it the dialogue is taken up from the piece before it, and what came of a call is asked again.
        let _ = self.database.write(Wait::ForKernel, |sql| {
            sql.prepare(
                "INSERT INTO dialogue (task, number, said, results)
                 VALUES (?1, (SELECT count(*) FROM dialogue WHERE task = ?1), ?2, ?3)",
            )?
            .execute(params![
                self.row,
                said.to_string(),
                i64::try_from(results).unwrap_or(i64::MAX)
            ])
        });
    }

    /// Returns the model's replies as they came, the oldest first. They are kept of the newest finished tasks only.
    ///
    /// # Errors
    /// They cannot be read.
    pub fn replies(&self) -> Result<Vec<Reply>, String> {
        let reply = |said| match said {
            HistoryEntry::Reply(reply) => Some(reply),
            HistoryEntry::Result(_) | HistoryEntry::Compacted => None,
        };
        Ok(self.said()?.0.into_iter().filter_map(reply).collect())
    }

    /// The dialogue, and how many results it knows.
    ///
    /// # Errors
    /// A piece of it cannot be read: without it a call would be made again.
    pub(super) fn said(&self) -> Result<(Vec<HistoryEntry>, usize), String> {
        let rows: Vec<(String, i64)> = self.database.read(|sql| {
            let mut said =
                sql.prepare("SELECT said, results FROM dialogue WHERE task = ? ORDER BY number")?;
            let rows = said.query_map([self.row], |row| Ok((row.get(0)?, row.get(1)?)))?;
            rows.collect()
        })?;
        let known = rows.last().and_then(|(_, results)| usize::try_from(*results).ok()).unwrap_or_default();
        let said: Result<_, _> = rows.iter().map(|(said, _)| serde_json::from_str(said)).collect();
        Ok((said.map_err(|error| format!("the dialogue with the model cannot be read: {error}"))?, known))
    }

    /// The steps that were begun and have no result, each with what it is.
    ///
    /// # Errors
    /// One cannot be read: it would be carried out again.
    pub(super) fn begun(&self) -> Result<Vec<(usize, String)>, String> {
        let steps: Vec<String> = self.database.read(|sql| {
            let mut steps =
                sql.prepare("SELECT data FROM notes WHERE task = ? AND name = 'step' ORDER BY number")?;
            let rows = steps.query_map([self.row], |row| row.get(0))?;
            rows.collect()
        })?;
        let mut begun = Vec::new();
        for data in &steps {
            let note: StepNote = serde_json::from_str(data)
                .map_err(|error| format!("a step that was begun cannot be read: {error}"))?;
            begun.retain(|(step, what)| (*step, what) != (note.step, &note.what));
            if note.status == "running" {
                begun.push((note.step, note.what));
            }
        }
        Ok(begun)
    }

    /// Keeps what a task that goes on from this one will know.
    pub(super) fn remember(&self, memory: &Memory) {
        // Not kept, the next task begins without it; told of in the journal.
        let _ = self.database.write(Wait::ForKernel, |sql| {
            sql.execute("UPDATE tasks SET memory = ? WHERE seq = ?", params![text(memory), self.row])
        });
    }

    /// The person to ask, for the one that runs the task.
    pub fn person(&self) -> Person {
        self.person.lock().unwrap_or_else(PoisonError::into_inner).take().unwrap_or(Person::Absent)
    }

    /// Answers the question of this number; false if it is not the one that stands.
    pub fn answer(&self, number: u32, answer: UserAnswer) -> bool {
        let stands = self.kept().task.question.as_ref().is_some_and(|question| question.number == number);
        stands && self.answers.try_send((number, answer)).is_ok()
    }

    /// Adds an event. Progress takes the place of the progress before it.
    pub fn note(&self, name: &str, data: &Value) {
        let mut noted = self.noted.lock().unwrap_or_else(PoisonError::into_inner);
        let number = *self.last.borrow() + 1;
        let data = data.to_string();
        let is_progress = name == "progress";
        let replaced = (is_progress && noted.is_progress).then_some(number - 1);
        (noted.is_progress, noted.bytes) = (is_progress, noted.bytes + data.len());
        if number - noted.first >= KEPT_NOTES || noted.bytes > KEPT_NOTE_BYTES {
            noted.first = noted.first.midpoint(number);
            noted.bytes = data.len();
        }
        // An event that is not kept is not told: the task's record, which comes last, has all that counts.
        let _ =
            self.database.write(Wait::ForKernel, |sql| {
                sql.prepare(
                    "DELETE FROM notes WHERE task = ?1 AND ((number < ?2 AND name <> 'step') OR number = ?3)",
                )?
                .execute(params![self.row, int(noted.first), replaced.map(int)])?;
                sql.prepare("INSERT INTO notes (task, number, name, data) VALUES (?, ?, ?, ?)")?
                    .execute(params![self.row, int(number), name, data])
            });
        self.last.send_replace(number);
    }

    /// Ends the listeners' waiting: the record says how the task ended.
    pub fn close(&self) {
        let number = *self.last.borrow();
        self.last.send_replace(number);
    }

    /// The events after a number.
    ///
    /// # Errors
    /// They cannot be read.
    pub fn notes_after(&self, number: u64) -> Result<Vec<Note>, String> {
        self.database.read(|sql| {
            let mut notes = sql.prepare(
                "SELECT number, name, data FROM notes WHERE task = ? AND number > ? ORDER BY number",
            )?;
            let rows = notes.query_map(params![self.row, int(number)], |row| {
                let number: i64 = row.get(0)?;
                let number = u64::try_from(number).unwrap_or_default();
                Ok(Note { number, name: row.get(1)?, data: row.get(2)? })
            })?;
            rows.collect()
        })
    }

    /// Tells of new events.
    pub fn listen(&self) -> watch::Receiver<u64> {
        self.last.subscribe()
    }
}

/// A task without its results, which the database has one by one.
pub(super) fn head(task: &mut Task) -> String {
    let results = std::mem::take(&mut task.results);
    let head = text(task);
    task.results = results;
    head
}

/// A value as JSON.
pub(super) fn text(value: &impl Serialize) -> String {
    serde_json::to_string(value).unwrap_or_default()
}

fn int(number: u64) -> i64 {
    i64::try_from(number).unwrap_or(i64::MAX)
}

/// A status as the database has it.
pub fn word(status: TaskStatus) -> String {
    text(&status).trim_matches('"').to_owned()
}

/// A task as the next one knows it.
pub(super) fn earlier(task: &Task, remaining: String) -> Earlier {
    let changes = task.changes.iter().map(|change| format!("{} {}", change.verb, change.target));
    Earlier {
        task: task.task.clone(),
        status: word(task.status),
        summary: task.summary.clone(),
        changes: changes.collect(),
        remaining,
    }
}
