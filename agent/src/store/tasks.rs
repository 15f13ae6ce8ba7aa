//! The tasks that the service knows: all of them in the database, those that have not ended also here.

use super::allowed::Allowed;
use super::database::{Database, Wait};
use super::entry::{Entry, earlier, head, text, word};
use super::idempotency::{self, IdempotencyKey, KnownOrder};
use super::messages::Messages;
use super::requests::Requests;
use super::schedules::{Schedules, StoredSchedule};
use crate::agent_loop::memory::Memory;
use crate::protocol::owner::{Owner, Right};
use crate::protocol::schedule::Schedule;
use crate::protocol::task::{Task, TaskOrder, TaskStatus};
use rusqlite::{Connection, OptionalExtension, params};
use std::collections::{BTreeSet, HashMap};
use std::io;
use std::path::Path;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// Finished tasks that are kept, and the bytes that what is kept of them may have together: once for what
/// people ordered, and once for each person's schedules, so that no schedule displaces anything of another person.
const KEPT_TASKS: i64 = 200;
const KEPT_BYTES: i64 = 8 << 20;
/// Finished tasks of one schedule that are kept.
const KEPT_OF_SCHEDULE: i64 = 10;
/// Finished tasks whose events are kept whole; of older ones only those of the steps are.
const KEPT_WHOLE: i64 = 8;

/// The statuses after which nothing more happens, for SQL.
const FINAL: &str = "status NOT IN ('queued', 'running', 'waiting')";

/// All tasks, and who asked for which request.
pub struct Store {
    pub(super) database: Arc<Database>,
    /// Tasks that have not ended: somebody may wait for them or end them.
    open: Mutex<HashMap<String, Arc<Entry>>>,
    /// Requests by whom they were sent for.
    pub requests: Requests,
    /// Tasks that begin by themselves.
    pub schedules: Schedules,
}

/// Result of a search by id or its beginning.
pub enum Find {
    /// That one.
    One(Arc<Entry>),
    /// None of this person's.
    None,
    /// The beginning of several.
    Several,
    /// The stored task cannot be read.
    Unreadable(String),
}

/// The result of adding an order as a task.
pub enum Added {
    /// A new task.
    New(Arc<Entry>),
    /// Its key was used before.
    Known(KnownOrder),
}

impl Store {
    /// The store in a directory. One whose file cannot be opened keeps nothing; see [`Self::fault`].
    ///
    /// # Errors
    /// There is no memory for it.
    pub fn open(directory: &Path) -> io::Result<Self> {
        let database = Arc::new(Database::open(directory)?);
        let requests = Requests::new(Arc::clone(&database));
        let schedules = Schedules::new(Arc::clone(&database));
        Ok(Self { database, open: Mutex::default(), requests, schedules })
    }

    /// The commands that people let run always.
    pub fn allowed(&self) -> Allowed {
        Allowed::new(&self.database)
    }

    /// The webhook's messages that wait.
    pub fn messages(&self) -> Messages {
        Messages::new(&self.database)
    }

    /// Returns the database's error, if any.
    pub fn fault(&self) -> Option<String> {
        self.database.fault()
    }

    fn lock(&self) -> MutexGuard<'_, HashMap<String, Arc<Entry>>> {
        self.open.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Finds the order that a person gave under an idempotency key before.
    ///
    /// # Errors
    /// The database cannot be read.
    pub fn known_order(&self, owner: Owner, key: &IdempotencyKey) -> Result<Option<KnownOrder>, String> {
        idempotency::known(&self.database, owner, key)
    }

    /// Takes a new task in, unless its key is known by now.
    ///
    /// # Errors
    /// It cannot be kept: it could not go on after the end of this process.
    pub fn add(&self, id: String, order: TaskOrder, key: Option<&IdempotencyKey>) -> Result<Added, String> {
        if let Some(why) = self.database.unused() {
            return Err(format!("the agent's database is not in use: {why}"));
        }
        let task = Task::new(id, &order);
        let row = self.database.write(Wait::ForKernel, |sql| {
            if let Some(key) = key {
                if let Some(known) = key.find(sql, order.owner)? {
                    return Ok(Err(known));
                }
                key.keep(sql, order.owner, &task.id)?;
            }
            insert(sql, &order, &task).map(Ok)
        })?;
        Ok(match row {
            Ok(row) => Added::New(self.opened(row, order, task)),
            Err(known) => Added::Known(known),
        })
    }

    /// Takes the task of a schedule's run in and the schedule's new record, both or none; `None` if somebody changed
    /// the schedule meanwhile.
    ///
    /// # Errors
    /// They cannot be kept.
    pub fn add_run(
        &self,
        stored: &StoredSchedule,
        schedule: &Schedule,
        (id, order): (String, TaskOrder),
    ) -> Result<Option<Arc<Entry>>, String> {
        let task = Task::new(id, &order);
        let row = self.database.write(Wait::ForDisk, |sql| {
            if !stored.replace(sql, schedule)? {
                return Ok(None);
            }
            insert(sql, &order, &task).map(Some)
        })?;
        // The next run is to be planned.
        self.schedules.notify();
        Ok(row.map(|row| self.opened(row, order, task)))
    }

    fn opened(&self, row: i64, order: TaskOrder, task: Task) -> Arc<Entry> {
        let id = task.id.clone();
        let entry = Entry::new(row, order, task, 0, Arc::clone(&self.database));
        self.lock().insert(id, Arc::clone(&entry));
        entry
    }

    /// Returns the tasks of a schedule that are kept, the newest first.
    ///
    /// # Errors
    /// The database cannot be read.
    pub fn runs(&self, schedule: &str) -> Result<Vec<Task>, String> {
        let records = self.database.read(|sql| {
            let mut runs = sql.prepare("SELECT record FROM tasks WHERE schedule = ? ORDER BY seq DESC")?;
            let rows = runs.query_map([schedule], |row| row.get(0))?;
            rows.collect::<rusqlite::Result<Vec<String>>>()
        })?;
        // One that cannot be read is told of where it is asked for by its id.
        Ok(records.iter().filter_map(|record| serde_json::from_str(record).ok()).collect())
    }

    /// Finds the task of a schedule that has not ended.
    ///
    /// # Errors
    /// The database cannot be read: whether one runs is not known then.
    pub fn running(&self, schedule: &str) -> Result<Option<String>, String> {
        let running = format!("SELECT id FROM tasks WHERE schedule = ? AND NOT ({FINAL}) LIMIT 1");
        self.database.read(|sql| sql.query_row(&running, [schedule], |row| row.get(0)).optional())
    }

    /// Takes a task out that was never run.
    pub fn forget(&self, id: &str) {
        self.lock().remove(id);
        let delete = |sql: &Connection| {
            sql.execute("DELETE FROM idempotency_keys WHERE task = ?", [id])?;
            sql.execute("DELETE FROM tasks WHERE id = ?", [id])
        };
        // Left in place it would be run after a restart; the database says then what is wrong with it.
        let _ = self.database.write(Wait::ForKernel, delete);
    }

    /// A task that somebody has this right over, by its id or the beginning of it.
    pub fn find(&self, who: Owner, right: Right, id: &str) -> Find {
        let found = self.database.read(|sql| {
            let mut find = sql.prepare(
                "SELECT seq, owner FROM tasks WHERE substr(id, 1, length(?1)) = ?1 ORDER BY seq DESC",
            )?;
            let rows = find.query_map([id], |row| Ok((row.get(0)?, row.get(1)?)))?;
            rows.collect::<rusqlite::Result<Vec<(i64, String)>>>()
        });
        let found = match found {
            Ok(found) => found,
            Err(why) => return Find::Unreadable(why),
        };
        let mut own = found
            .into_iter()
            .filter(|(_, owner)| serde_json::from_str(owner).is_ok_and(|owner: Owner| who.has(right, owner)));
        match (own.next(), own.next()) {
            (Some((row, _)), None) => match self.entry(row) {
                Ok(Some(entry)) => Find::One(entry),
                Ok(None) => Find::None,
                Err(why) => Find::Unreadable(why),
            },
            (None, _) => Find::None,
            (Some(_), Some(_)) => Find::Several,
        }
    }

    /// The tasks that somebody may see, the newest first, at most `most` of those older than the task `before`; `None` if
    /// there is no such task of theirs. One that cannot be read stands among them, and says so.
    ///
    /// # Errors
    /// The database cannot be read.
    pub fn list(&self, who: Owner, before: Option<&str>, most: usize) -> Result<Option<Vec<Task>>, String> {
        let rows = self.database.read(|sql| {
            let mut list = sql.prepare("SELECT seq, owner, id FROM tasks ORDER BY seq DESC")?;
            let rows = list.query_map([], |row| Ok((row.get(0)?, row.get(1)?, row.get(2)?)))?;
            rows.collect::<rusqlite::Result<Vec<(i64, String, String)>>>()
        })?;
        let mut own = rows.into_iter().filter(|(_, owner, _)| {
            serde_json::from_str(owner).is_ok_and(|owner: Owner| who.has(Right::See, owner))
        });
        if before.is_some_and(|before| !own.any(|(_, _, id)| id == before)) {
            return Ok(None);
        }
        let task = |(row, _, id): (i64, String, String)| match self.entry(row) {
            Ok(entry) => entry.map(|entry| entry.task()),
            Err(why) => Some(Task::unreadable(id, why)),
        };
        Ok(Some(own.filter_map(task).take(most).collect()))
    }

    /// How many tasks have each status, with 0 for those that none has.
    ///
    /// # Errors
    /// The database cannot be read.
    pub fn by_status(&self) -> Result<Vec<(String, i64)>, String> {
        let counted = self.database.read(|sql| {
            let mut count = sql.prepare("SELECT status, count(*) FROM tasks GROUP BY status")?;
            let rows = count.query_map([], |row| Ok((row.get(0)?, row.get(1)?)))?;
            rows.collect::<rusqlite::Result<HashMap<String, i64>>>()
        })?;
        let number = |status: &TaskStatus| {
            let name = word(*status);
            let number = counted.get(&name).copied().unwrap_or_default();
            (name, number)
        };
        Ok(TaskStatus::ALL.iter().map(number).collect())
    }

    /// A task by its place in the database; `None` if there is none.
    ///
    /// # Errors
    /// It cannot be read, or one of its results: without them it would begin anew.
    fn entry(&self, row: i64) -> Result<Option<Arc<Entry>>, String> {
        let kept = self.database.read(|sql| {
            let find = "SELECT id, ordered, record, (SELECT max(number) FROM notes WHERE task = seq) FROM tasks \
                        WHERE seq = ?";
            sql.prepare(find)?
                .query_row([row], |row| {
                    let last: Option<i64> = row.get(3)?;
                    Ok((row.get(0)?, row.get(1)?, row.get(2)?, last.unwrap_or_default()))
                })
                .optional()
        })?;
        let Some((id, ordered, record, last)): Option<(String, String, String, i64)> = kept else {
            return Ok(None);
        };
        if let Some(entry) = self.lock().get(&id) {
            return Ok(Some(Arc::clone(entry)));
        }
        let cannot = |what: &str, error: serde_json::Error| {
            tracing::error!(event = "database", task = id, "{what} of a kept task cannot be read: {error}");
            format!("{what} of the task {id} cannot be read: {error}")
        };
        let order = serde_json::from_str(&ordered).map_err(|error| cannot("the order", error))?;
        let task: Task = serde_json::from_str(&record).map_err(|error| cannot("the record", error))?;
        let results = self.database.read(|sql| {
            let mut steps = sql.prepare("SELECT result FROM steps WHERE task = ? ORDER BY number")?;
            let rows = steps.query_map([row], |row| row.get(0))?;
            rows.collect::<rusqlite::Result<Vec<String>>>()
        })?;
        let results = serde_json::from_str(&format!("[{}]", results.join(",")))
            .map_err(|error| cannot("a step's result", error))?;
        let last = u64::try_from(last).unwrap_or_default();
        Ok(Some(Entry::new(row, order, Task { results, ..task }, last, Arc::clone(&self.database))))
    }

    /// Loads the memory that a task leaves to the ones after it; empty if it is gone.
    ///
    /// # Errors
    /// It cannot be read.
    pub(super) fn memory(&self, id: &str) -> Result<Memory, String> {
        let memory: Option<String> = self.database.read(|sql| {
            sql.query_row("SELECT memory FROM tasks WHERE id = ?", [id], |row| row.get(0))
                .optional()
                .map(Option::flatten)
        })?;
        let Some(memory) = memory else { return Ok(Memory::default()) };
        serde_json::from_str(&memory)
            .map_err(|error| format!("what the task {id} left cannot be read: {error}"))
    }

    /// A person's newest task, in a session or, if that is empty, in any: its id and its session.
    ///
    /// # Errors
    /// The database cannot be read.
    pub fn newest(&self, owner: Owner, session: &str) -> Result<Option<(String, String)>, String> {
        self.database.read(|sql| {
            let newest = "SELECT id, session FROM tasks WHERE owner = ?1 AND schedule IS NULL AND (?2 = '' OR session = ?2)
                          ORDER BY seq DESC LIMIT 1";
            let row = |row: &rusqlite::Row<'_>| Ok((row.get(0)?, row.get(1)?));
            sql.query_row(newest, [&text(&owner), session], row).optional()
        })
    }

    /// Gives an interrupted task back to be queued, its person perhaps there now; `None` if it is not one.
    pub fn resume(&self, entry: &Entry, interactive: bool) -> Option<Arc<Entry>> {
        entry.requeue().then(|| self.reopen(entry, interactive))
    }

    /// A task of an earlier process as one of this.
    fn reopen(&self, entry: &Entry, interactive: bool) -> Arc<Entry> {
        let reopened = entry.reopened(interactive);
        self.lock().insert(reopened.task().id, Arc::clone(&reopened));
        reopened
    }

    /// Takes up what an earlier process left: tasks that it ran are marked, those that had not begun are given
    /// back to be queued. One that cannot be read has failed.
    ///
    /// # Errors
    /// The database cannot be read: what is queued stays so until the agent is started again.
    pub fn take_up(&self) -> Result<Vec<Arc<Entry>>, String> {
        let rows = self.database.read(|sql| {
            let open = format!("SELECT seq FROM tasks WHERE NOT ({FINAL}) ORDER BY seq");
            let mut open = sql.prepare(&open)?;
            let rows = open.query_map([], |row| row.get(0))?;
            rows.collect::<rusqlite::Result<Vec<i64>>>()
        })?;
        let mut queued = Vec::new();
        for row in rows {
            let entry = match self.entry(row) {
                Ok(Some(entry)) => entry,
                Ok(None) => continue,
                Err(why) => {
                    self.give_up(row, &why);
                    continue;
                }
            };
            let task = entry.task();
            if task.status == TaskStatus::Queued {
                // Nobody is at the other end to be asked.
                queued.push(self.reopen(&entry, false));
            } else {
                entry.interrupted();
                // Without the earlier tasks' memory if that cannot be read; the journal has the error.
                let before = entry.order.after.as_deref().map(|id| self.memory(id));
                let mut memory = before.and_then(Result::ok).unwrap_or_default();
                memory.add(earlier(&entry.task(), String::new()), Vec::new(), &BTreeSet::new());
                entry.remember(&memory);
            }
        }
        self.tidy();
        Ok(queued)
    }

    /// Ends a task of which too little can be read to go on with it.
    fn give_up(&self, row: i64, why: &str) {
        let record = "CASE WHEN json_valid(record)
                      THEN json_set(record, '$.status', 'failed', '$.summary', ?1) ELSE record END";
        let change = format!("UPDATE tasks SET status = 'failed', record = {record} WHERE seq = ?2");
        // Told of in the journal; the next start tries again.
        let _ = self.database.write(Wait::ForKernel, |sql| sql.execute(&change, params![why, row]));
    }

    /// Lets the oldest finished tasks go, and events before them, when there are too many or they are too large.
    pub fn tidy(&self) {
        self.lock().retain(|_, entry| !entry.task().status.is_final());
        let gone = format!(
            "WITH ended AS (
                 SELECT seq, row_number() OVER newest AS place, schedule IS NOT NULL AS is_run,
                     row_number() OVER (PARTITION BY schedule ORDER BY seq DESC) AS run,
                     sum(octet_length(record) + octet_length(ordered)
                     + (SELECT total(octet_length(result)) FROM steps WHERE task = seq)
                     + (SELECT total(octet_length(said)) FROM dialogue WHERE task = seq)) OVER newest AS bytes
                 FROM tasks WHERE {FINAL} WINDOW newest AS
                     (PARTITION BY CASE WHEN schedule IS NULL THEN '' ELSE owner END ORDER BY seq DESC)
             )
             DELETE FROM tasks WHERE seq IN
                 (SELECT seq FROM ended WHERE place > ?1 OR (bytes > ?2 AND place > 1) OR (is_run AND run > ?3))"
        );
        let short = format!(
            "DELETE FROM notes WHERE name <> 'step' AND task IN
                 (SELECT seq FROM (SELECT seq, row_number() OVER
                     (PARTITION BY schedule IS NULL ORDER BY seq DESC) AS place FROM tasks WHERE {FINAL}) WHERE place > ?1)"
        );
        // Of those that can be resumed it is kept as long as they are.
        let forgotten = format!(
            "DELETE FROM dialogue WHERE task IN
                 (SELECT seq FROM (SELECT seq, row_number() OVER
                     (PARTITION BY schedule IS NULL ORDER BY seq DESC) AS place
                     FROM tasks WHERE {FINAL} AND NOT interrupted) WHERE place > ?1)"
        );
        // Told of in the journal and in health; the next end of a task tries again.
        let _ = self.database.write(Wait::ForKernel, |sql| {
            sql.prepare(&gone)?.execute([KEPT_TASKS, KEPT_BYTES, KEPT_OF_SCHEDULE])?;
            sql.prepare(&short)?.execute([KEPT_WHOLE])?;
            sql.prepare(&forgotten)?.execute([KEPT_WHOLE])
        });
        self.requests.tidy();
        self.database.shrink();
    }
}

/// Writes a new task, and returns its place.
fn insert(sql: &Connection, order: &TaskOrder, task: &Task) -> rusqlite::Result<i64> {
    let record = head(&mut task.clone());
    let insert = "INSERT INTO tasks (id, owner, session, status, ordered, record, schedule)
                  VALUES (?, ?, ?, ?, ?, ?, ?)";
    sql.prepare(insert)?.execute(params![
        task.id,
        text(&order.owner),
        order.session,
        word(task.status),
        text(order),
        record,
        task.schedule
    ])?;
    Ok(sql.last_insert_rowid())
}
