//! Schedules in the database. A change is written only where the schedule is still as it was read: the scheduler and
//! people change them at the same time.

use super::database::{Database, Wait};
use super::entry::text;
use crate::protocol::owner::{Owner, Right};
use crate::protocol::schedule::{SCHEDULES_LIMIT, Schedule};
use crate::protocol::task::TaskOrder;
use rusqlite::{Connection, OptionalExtension, Row, params};
use std::sync::Arc;
use tokio::sync::Notify;

/// All schedules.
pub struct Schedules {
    database: Arc<Database>,
    news: Notify,
}

/// A schedule as it was read.
#[derive(Clone, Debug)]
pub struct StoredSchedule {
    /// Whose it is.
    pub owner: Owner,
    /// The record.
    pub schedule: Schedule,
    /// The record's text.
    record: String,
}

/// Whether a schedule was taken in.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum AddedSchedule {
    /// It was.
    Yes,
    /// Its person has as many as one may have.
    TooMany,
}

const ALL: &str = "SELECT owner, record FROM schedules";

impl Schedules {
    pub(super) fn new(database: Arc<Database>) -> Self {
        Self { database, news: Notify::new() }
    }

    /// Waits until a schedule is changed.
    pub async fn changed(&self) {
        self.news.notified().await;
    }

    /// Wakes the scheduler.
    pub(super) fn notify(&self) {
        self.news.notify_one();
    }

    /// Takes a schedule in.
    ///
    /// # Errors
    /// It cannot be kept.
    pub fn add(&self, order: &TaskOrder, schedule: &Schedule) -> Result<AddedSchedule, String> {
        if let Some(why) = self.database.unused() {
            return Err(format!("the agent's database is not in use: {why}"));
        }
        let owner = text(&order.owner);
        let added = self.database.write(Wait::ForDisk, |sql| {
            let count = "SELECT count(*) FROM schedules WHERE owner = ?";
            let own: i64 = sql.query_row(count, [&owner], |row| row.get(0))?;
            if usize::try_from(own).is_ok_and(|own| own >= SCHEDULES_LIMIT) {
                return Ok(AddedSchedule::TooMany);
            }
            let add = "INSERT INTO schedules (id, owner, ordered, record) VALUES (?, ?, ?, ?)";
            sql.execute(add, params![schedule.id, owner, text(order), text(schedule)])?;
            Ok(AddedSchedule::Yes)
        })?;
        self.news.notify_one();
        Ok(added)
    }

    /// Returns all that can be read, the oldest first.
    ///
    /// # Errors
    /// The database cannot be read.
    pub fn all(&self) -> Result<Vec<StoredSchedule>, String> {
        let rows = self.database.read(|sql| {
            let mut all = sql.prepare(&format!("{ALL} ORDER BY id"))?;
            let rows = all.query_map([], columns)?;
            rows.collect::<rusqlite::Result<Vec<_>>>()
        })?;
        Ok(rows.into_iter().filter_map(stored).collect())
    }

    /// Finds those that somebody has this right over, by their id or its beginning; all of them by an empty one.
    ///
    /// # Errors
    /// The database cannot be read.
    pub fn find(&self, who: Owner, right: Right, id: &str) -> Result<Vec<StoredSchedule>, String> {
        let mut all = self.all()?;
        all.retain(|stored| who.has(right, stored.owner) && stored.schedule.id.starts_with(id));
        Ok(all)
    }

    /// Returns the one with this id.
    ///
    /// # Errors
    /// The database cannot be read.
    pub fn get(&self, id: &str) -> Result<Option<StoredSchedule>, String> {
        let row = self
            .database
            .read(|sql| sql.query_row(&format!("{ALL} WHERE id = ?"), [id], columns).optional())?;
        Ok(row.and_then(stored))
    }

    /// Returns the order of each run; `None` if the schedule is gone.
    ///
    /// # Errors
    /// It cannot be read.
    pub fn order(&self, id: &str) -> Result<Option<TaskOrder>, String> {
        let find = "SELECT ordered FROM schedules WHERE id = ?";
        let ordered: Option<String> =
            self.database.read(|sql| sql.query_row(find, [id], |row| row.get(0)).optional())?;
        let read = |ordered: String| serde_json::from_str(&ordered).map_err(|error| error.to_string());
        ordered.map(read).transpose()
    }

    /// Puts another record in place of the one that was read; false if that is not in place any longer.
    ///
    /// # Errors
    /// It cannot be written.
    pub fn replace(&self, stored: &StoredSchedule, schedule: &Schedule) -> Result<bool, String> {
        let replaced = self.database.write(Wait::ForDisk, |sql| stored.replace(sql, schedule))?;
        self.news.notify_one();
        Ok(replaced)
    }

    /// Pauses one for a reason, whatever else changes it meanwhile.
    ///
    /// # Errors
    /// It cannot be read or written.
    pub fn pause(&self, id: &str, why: &str) -> Result<(), String> {
        while let Some(stored) = self.get(id)? {
            let mut schedule = stored.schedule.clone();
            schedule.pause(why);
            if self.replace(&stored, &schedule)? {
                break;
            }
        }
        Ok(())
    }

    /// Removes one; its tasks stay.
    ///
    /// # Errors
    /// It cannot be written.
    pub fn remove(&self, id: &str) -> Result<(), String> {
        self.database.write(Wait::ForDisk, |sql| sql.execute("DELETE FROM schedules WHERE id = ?", [id]))?;
        Ok(())
    }
}

impl StoredSchedule {
    /// Puts another record in place; false if this one is not in place any longer.
    pub(super) fn replace(&self, sql: &Connection, schedule: &Schedule) -> rusqlite::Result<bool> {
        let replace = "UPDATE schedules SET record = ? WHERE id = ? AND record = ?";
        let replaced = sql.execute(replace, params![text(schedule), schedule.id, self.record])?;
        Ok(replaced == 1)
    }
}

type Columns = (String, String);

fn columns(row: &Row<'_>) -> rusqlite::Result<Columns> {
    Ok((row.get(0)?, row.get(1)?))
}

/// Reads a row. One that cannot be read begins nothing; the journal says so.
fn stored((owner, record): Columns) -> Option<StoredSchedule> {
    let read = || -> serde_json::Result<StoredSchedule> {
        Ok(StoredSchedule {
            owner: serde_json::from_str(&owner)?,
            schedule: serde_json::from_str(&record)?,
            record: record.clone(),
        })
    };
    read().inspect_err(|error| tracing::error!(event = "database", "a schedule cannot be read: {error}")).ok()
}
