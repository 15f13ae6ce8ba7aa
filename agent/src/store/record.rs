//! Reads tasks, steps and requests in parts for `insights`: neither memory nor the database's lock grows with their number.

use super::tasks::Store;
use crate::protocol::owner::{Owner, Right};
use crate::protocol::task::{Task, TaskStatus};
use rusqlite::params;
use serde::Deserialize;

/// Requests and tasks that are read under one lock.
const REQUESTS: i64 = 500;
const TASKS: i64 = 20;

/// A request that was sent, as the database has it.
#[derive(Clone, Debug)]
pub struct RequestRow {
    /// Whether it is the reader's to see.
    pub is_visible: bool,
    /// Its id.
    pub id: String,
    /// The verb; empty of a request that an earlier version kept.
    pub verb: String,
    /// Its target.
    pub target: String,
    /// Why it was not done; empty if it was, or that is not known.
    pub code: String,
    /// `allow` or `ask` of one that was carried out.
    pub decision: String,
    /// The rule that decided.
    pub rule: String,
    /// Milliseconds without the waits for people, and those waits.
    pub took_ms: Option<(u64, u64)>,
}

/// A task that has ended.
#[derive(Clone, Debug)]
pub struct TaskRow {
    /// The record; with the results of its steps only where it was not completed.
    pub task: Task,
    /// Kinds and milliseconds of the commands of the agent's own.
    pub commands: Vec<(String, u64)>,
}

/// The part of a step's result that every step is read for.
#[derive(Deserialize)]
struct StepTime {
    #[serde(default)]
    tool: String,
    #[serde(default)]
    duration_ms: Option<u64>,
}

impl Store {
    /// Hands over every request but undos, the oldest first; also those of others, which are marked.
    ///
    /// # Errors
    /// The database cannot be read.
    pub fn each_request(&self, who: Owner, mut take: impl FnMut(RequestRow)) -> Result<(), String> {
        let mut last = 0;
        loop {
            let part = self.database.read(|sql| {
                let mut part = sql.prepare(
                    "SELECT seq, owner, id, coalesce(verb, ''), coalesce(target, ''), code, decision, rule, took_ms,
                         coalesce(waited_ms, 0)
                     FROM requests WHERE seq > ? AND NOT is_undo ORDER BY seq LIMIT ?",
                )?;
                let rows = part.query_map(params![last, REQUESTS], |row| {
                    let owner: String = row.get(1)?;
                    let (took, waited): (Option<i64>, i64) = (row.get(8)?, row.get(9)?);
                    let request = RequestRow {
                        is_visible: sees(who, &owner),
                        id: row.get(2)?,
                        verb: row.get(3)?,
                        target: row.get(4)?,
                        code: row.get(5)?,
                        decision: row.get(6)?,
                        rule: row.get(7)?,
                        took_ms: took.map(|took| (unsigned(took), unsigned(waited))),
                    };
                    Ok((row.get(0)?, request))
                })?;
                rows.collect::<rusqlite::Result<Vec<(i64, RequestRow)>>>()
            })?;
            let Some((seq, _)) = part.last() else { return Ok(()) };
            last = *seq;
            for (_, request) in part {
                take(request);
            }
        }
    }

    /// Hands over every task that somebody may see and that has ended, the oldest first. One that cannot be read has failed,
    /// and says so.
    ///
    /// # Errors
    /// The database cannot be read.
    pub fn each_ended_task(&self, who: Owner, mut take: impl FnMut(TaskRow)) -> Result<(), String> {
        let mut last = 0;
        loop {
            let part = self.database.read(|sql| {
                let mut part = sql
                    .prepare("SELECT seq, owner, id, record FROM tasks WHERE seq > ? ORDER BY seq LIMIT ?")?;
                let rows = part.query_map(params![last, TASKS], |row| {
                    Ok((row.get(0)?, row.get(1)?, row.get(2)?, row.get(3)?))
                })?;
                rows.collect::<rusqlite::Result<Vec<(i64, String, String, String)>>>()
            })?;
            let Some((seq, ..)) = part.last() else { return Ok(()) };
            last = *seq;
            for (seq, owner, id, record) in part {
                if !sees(who, &owner) {
                    continue;
                }
                let task = serde_json::from_str(&record).unwrap_or_else(|error| {
                    Task::unreadable(id, format!("its record cannot be read: {error}"))
                });
                if task.status.is_final() {
                    take(self.with_steps(seq, task)?);
                }
            }
        }
    }

    fn with_steps(&self, seq: i64, mut task: Task) -> Result<TaskRow, String> {
        let is_whole = task.status != TaskStatus::Completed;
        let (mut commands, mut results) = (Vec::new(), Vec::new());
        self.database.read(|sql| {
            let mut steps = sql.prepare("SELECT result FROM steps WHERE task = ? ORDER BY number")?;
            let mut rows = steps.query([seq])?;
            while let Some(row) = rows.next()? {
                let text = row.get_ref(0)?.as_str()?;
                if let Ok(StepTime { tool, duration_ms: Some(took) }) = serde_json::from_str(text) {
                    commands.push((tool, took));
                }
                if is_whole {
                    results.push(text.to_owned());
                }
            }
            Ok(())
        })?;
        // A result that cannot be read leaves the task's status and summary.
        task.results = serde_json::from_str(&format!("[{}]", results.join(","))).unwrap_or_default();
        Ok(TaskRow { task, commands })
    }
}

fn sees(who: Owner, owner: &str) -> bool {
    serde_json::from_str(owner).is_ok_and(|owner: Owner| who.has(Right::See, owner))
}

fn unsigned(number: i64) -> u64 {
    u64::try_from(number).unwrap_or_default()
}
