//! Whose request is whose: to the helper all of them are the agent's.

use super::Owner;
use super::database::{Database, Wait};
use super::entry::text;
use crate::event::{Event, Fault, Status};
use rusqlite::types::{FromSql, FromSqlError, FromSqlResult, ToSql, ToSqlOutput, ValueRef};
use rusqlite::{OptionalExtension, params};
use serde::{Deserialize, Serialize};
use std::sync::Arc;

/// Requests whose owner is remembered: as many as the helper keeps outcomes for.
const KEPT: i64 = 10_000;

/// The requests that were sent.
pub struct Requests(Arc<Database>);

/// What a request left behind.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum State {
    /// Nothing that could be undone: it only looked, was refused, failed or was taken back.
    Nothing,
    /// Its person left, or the helper was lost: perhaps it is done, perhaps it will be.
    Unknown,
    /// A change that stands.
    Change,
}

/// Why an id is not one request's.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum NotOne {
    /// None of this person's begins so, or there is nothing to undo.
    Unknown,
    /// Several begin so.
    Several,
    /// What became of the newest is not known: an older one is not what is meant.
    Open(String),
}

/// Whether a request may change something.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Effect {
    /// It looks, or shows what would be.
    #[default]
    None,
    /// It may.
    Possible,
}

impl NotOne {
    /// Told of an id.
    #[must_use]
    pub fn fault(self, id: &str) -> Fault {
        match (self, id) {
            (Self::Open(newest), _) => {
                let why = "what became of your newest request is not known yet: see";
                Fault::new("unknown_request", format!("{why} `postern result {newest}`"))
            }
            (Self::Several, _) => Fault::new("invalid_argument", "several of your requests begin so"),
            (Self::Unknown, "last") => {
                Fault::new("unknown_request", "this agent remembers no change of yours that could be undone")
            }
            (Self::Unknown, _) => {
                let why = "no request of yours has this id, as far as this agent remembers";
                Fault::new("unknown_request", why)
            }
        }
    }
}

impl ToSql for State {
    fn to_sql(&self) -> rusqlite::Result<ToSqlOutput<'_>> {
        let word = match self {
            Self::Nothing => "nothing",
            Self::Unknown => "unknown",
            Self::Change => "change",
        };
        Ok(word.into())
    }
}

impl FromSql for State {
    fn column_result(value: ValueRef<'_>) -> FromSqlResult<Self> {
        match value.as_str()? {
            "nothing" => Ok(Self::Nothing),
            "unknown" => Ok(Self::Unknown),
            "change" => Ok(Self::Change),
            other => Err(FromSqlError::Other(format!("{other:?} is no state of a request").into())),
        }
    }
}

/// The step of a task that a request is of.
#[derive(Clone, Debug)]
pub struct Part<'p> {
    /// The task's id.
    pub task: &'p str,
    /// The step's number.
    pub step: usize,
    /// The verb.
    pub verb: &'p str,
    /// What it is about.
    pub target: &'p str,
}

/// A request of a task's step that was sent, perhaps.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Sent {
    /// Its id.
    pub id: String,
    /// The verb.
    pub verb: String,
    /// What it is about.
    pub target: String,
}

impl Requests {
    pub(super) fn new(database: Arc<Database>) -> Self {
        Self(database)
    }

    /// Remembers who a request is sent for, before it is sent; false if it was sent for somebody else.
    ///
    /// # Errors
    /// It cannot be remembered, so that it is not to be sent.
    pub fn claim(
        &self,
        owner: Owner,
        id: &str,
        is_undo: bool,
        effect: Effect,
        part: Option<&Part<'_>>,
    ) -> Result<bool, String> {
        let owner = text(&owner);
        let (state, wait) = match effect {
            Effect::Possible => (State::Unknown, Wait::ForDisk),
            Effect::None => (State::Nothing, Wait::ForKernel),
        };
        self.0.write(wait, |sql| {
            sql.prepare(
                "INSERT INTO requests (id, owner, is_undo, state, task, step, verb, target, is_effect)
                 VALUES (?1, ?2, ?3, ?4, (SELECT seq FROM tasks WHERE id = ?5), ?6, ?7, ?8, ?9)
                 ON CONFLICT (id) DO NOTHING",
            )?
            .execute(params![
                id,
                owner,
                is_undo,
                state,
                part.map(|part| part.task),
                part.and_then(|part| i64::try_from(part.step).ok()),
                part.map(|part| part.verb),
                part.map(|part| part.target),
                effect == Effect::Possible,
            ])?;
            let is = sql.prepare("SELECT owner = ?2 FROM requests WHERE id = ?1")?;
            { is }.query_row([id, &owner], |row| row.get(0))
        })
    }

    /// The requests of a step that may have changed something, whatever is known of them, the oldest first.
    pub fn of_step(&self, task: &str, step: usize) -> Vec<Sent> {
        self.0.read(|sql| {
            let mut sent = sql.prepare(
                "SELECT requests.id, verb, target FROM requests JOIN tasks ON tasks.seq = task
                 WHERE tasks.id = ?1 AND step = ?2 AND is_effect ORDER BY requests.seq",
            )?;
            let rows = sent.query_map(params![task, i64::try_from(step).unwrap_or(i64::MAX)], |row| {
                Ok(Sent { id: row.get(0)?, verb: row.get(1)?, target: row.get(2)? })
            })?;
            rows.collect()
        })
    }

    /// Whether a request was sent for this person.
    pub fn owns(&self, owner: Owner, id: &str) -> bool {
        self.0.read(|sql| {
            let mut own = sql.prepare("SELECT 1 FROM requests WHERE id = ?1 AND owner = ?2")?;
            own.exists([id, &text(&owner)])
        })
    }

    /// Remembers how a request ended; `undoes` is the one that it takes back.
    pub fn settle(&self, id: &str, undoes: Option<&str>, end: &Event) {
        let (is_done, undoable) = match end {
            Event::Completed(done) => (matches!(done.status, Status::Done | Status::Partly), done.undoable),
            Event::Refused(_) => (false, false),
            // No answer of the helper's: what became of it is not known.
            Event::Error(_)
            | Event::Accepted(_)
            | Event::Waiting(_)
            | Event::Progress(_)
            | Event::Output(_) => {
                return;
            }
        };
        let state = if is_done && undoable { State::Change } else { State::Nothing };
        // Not written, it stays unknown: what is asked for then is its recorded outcome.
        let _ = self.0.write(Wait::ForKernel, |sql| {
            let mut settle = sql.prepare("UPDATE requests SET state = ? WHERE id = ?")?;
            settle.execute(params![state, id])?;
            match undoes.filter(|_| is_done) {
                Some(undone) => settle.execute(params![State::Nothing, undone]),
                None => Ok(0),
            }
        });
    }

    /// A person's request by its id, the beginning of it, or `last`: the newest change that stands and is no undo
    /// itself, so that asking again goes one further back.
    pub fn find(&self, owner: Owner, id: &str) -> Result<String, NotOne> {
        let owner = text(&owner);
        if id == "last" {
            let newest: Option<(String, State)> = self.0.read(|sql| {
                let newest =
                    "SELECT id, state FROM requests WHERE owner = ? AND state <> 'nothing' AND NOT is_undo
                              ORDER BY seq DESC LIMIT 1";
                let row = |row: &rusqlite::Row<'_>| Ok((row.get(0)?, row.get(1)?));
                sql.prepare(newest)?.query_row([&owner], row).optional()
            });
            return match newest {
                Some((id, State::Change)) => Ok(id),
                Some((open, State::Unknown | State::Nothing)) => Err(NotOne::Open(open)),
                None => Err(NotOne::Unknown),
            };
        }
        let found: Vec<String> = self.0.read(|sql| {
            let like = "SELECT id FROM requests WHERE owner = ?2 AND substr(id, 1, length(?1)) = ?1 LIMIT 2";
            let mut like = sql.prepare(like)?;
            let rows = like.query_map([id, &owner], |row| row.get(0))?;
            rows.collect()
        });
        match found.as_slice() {
            [one] => Ok(one.clone()),
            [] => Err(NotOne::Unknown),
            _ => Err(NotOne::Several),
        }
    }

    /// Forgets the oldest beyond those that are kept: those that looked do not push out those that acted. What a
    /// task has sent that can go on is kept as long as it: forgotten, it would be sent again.
    pub(super) fn tidy(&self) {
        let gone = "DELETE FROM requests WHERE is_effect = ?1
             AND seq <= (SELECT seq FROM requests WHERE is_effect = ?1 ORDER BY seq DESC LIMIT 1 OFFSET ?2)
             AND coalesce(task, 0) NOT IN
                 (SELECT seq FROM tasks WHERE interrupted OR status IN ('queued', 'running', 'waiting'))";
        // Told of in the journal; tried again at the end of the next task.
        let _ = self.0.write(Wait::ForKernel, |sql| {
            sql.execute(gone, params![true, KEPT])?;
            sql.execute(gone, params![false, KEPT])
        });
    }
}
