//! Owners and outcomes of requests: to the helper all of them are the agent's.

use super::database::{Database, Wait};
use super::entry::text;
use crate::client::undo::{Follower, followers, has_inverse};
use crate::protocol::event::{AgentError, Decision, Event, Status};
use crate::protocol::mode::Effect;
use crate::protocol::owner::Owner;
use rusqlite::types::{FromSql, FromSqlError, FromSqlResult, ToSql, ToSqlOutput, Type, ValueRef};
use rusqlite::{OptionalExtension, Row, params};
use serde::{Deserialize, Serialize};
use std::sync::Arc;
use std::time::{Duration, SystemTime, UNIX_EPOCH};
use utoipa::ToSchema;

/// Requests whose owner is remembered: as many as the helper keeps outcomes for.
const KEPT: i64 = 10_000;

/// A request whose id is older than this has come to the helper, or never will: ids are made as requests are sent, and
/// a connection is tried for less than this.
const ON_ITS_WAY: Duration = Duration::from_secs(60);

/// The requests that were sent.
pub struct Requests(Arc<Database>);

/// Outcome of a request.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum State {
    /// Nothing: it only looked, was refused or failed.
    Nothing,
    /// It was done, and there is nothing to take back.
    Done,
    /// A change that was taken back.
    Undone,
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
    /// The newest has no known outcome; an older one must not be taken in its place.
    Open(String),
    /// The database cannot be read.
    Unreadable(String),
    /// Nothing of the person's last task can be taken back, or is not taken back already.
    NoneLeft(String),
}

impl NotOne {
    /// Told of an id.
    #[must_use]
    pub fn fault(self, id: &str) -> AgentError {
        match (self, id) {
            (Self::Open(newest), _) => {
                let why = "what became of your newest request is not known yet: see";
                AgentError::new("unknown_request", format!("{why} `postern result {newest}`"))
            }
            (Self::Unreadable(why), _) => AgentError::new("internal", why),
            (Self::NoneLeft(task), _) => {
                let why = "nothing is left to take back of your last task";
                let more = "for what you did before it give its id, or a task: `postern undo --task ID`";
                AgentError::new("unknown_request", format!("{why} ({task}); {more}"))
            }
            (Self::Several, _) => AgentError::new("invalid_argument", "several of your requests begin so"),
            (Self::Unknown, "last") => AgentError::new(
                "unknown_request",
                "this agent remembers no change of yours that could be undone",
            ),
            (Self::Unknown, _) => {
                let why = "no request of yours has this id, as far as this agent remembers";
                AgentError::new("unknown_request", why)
            }
        }
    }
}

impl ToSql for State {
    fn to_sql(&self) -> rusqlite::Result<ToSqlOutput<'_>> {
        let word = match self {
            Self::Nothing => "nothing",
            Self::Done => "done",
            Self::Undone => "undone",
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
            "done" => Ok(Self::Done),
            "undone" => Ok(Self::Undone),
            "unknown" => Ok(Self::Unknown),
            "change" => Ok(Self::Change),
            other => Err(FromSqlError::Other(format!("{other:?} is no state of a request").into())),
        }
    }
}

/// A change that was asked for, as its person is told of it.
#[derive(Clone, Debug, Serialize, Deserialize, ToSchema)]
pub struct RecordedChange {
    /// The request's id.
    pub request_id: String,
    /// The verb.
    pub verb: String,
    /// Its target.
    pub target: String,
    /// Its outcome.
    #[schema(value_type = String)]
    pub state: State,
    /// The task that it was a step of.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub task: Option<String>,
    /// The units that took the change up, where it was one of files.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[schema(value_type = Vec<Object>)]
    pub followers: Vec<Follower>,
}

/// Changes that belong together: those of one task, or what was asked for outside of tasks since the last one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Group<'g> {
    /// That of the person's newest change.
    Newest,
    /// That of a task, by its whole id.
    Task(&'g str),
    /// That of a request, by its whole id.
    Request(&'g str),
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
    /// Its target.
    pub target: &'p str,
    /// The files of a patch that its person left out.
    pub left_out: &'p [String],
}

/// A request of a task's step that was sent, perhaps.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SentStep {
    /// The step that it is of.
    pub step: usize,
    /// Its id.
    pub id: String,
    /// The verb.
    pub verb: String,
    /// Its target.
    pub target: String,
    /// The files of a patch that its person left out.
    pub left_out: Vec<String>,
}

/// How long a request took.
#[derive(Clone, Copy, Debug, Default)]
pub struct Took {
    /// Without the waits for people.
    pub work: Duration,
    /// The waits for people.
    pub waited: Duration,
}

/// The end of a request in words, each empty where there is none.
#[derive(Default)]
struct Ended<'e> {
    code: &'e str,
    decision: &'static str,
    rule: &'e str,
}

impl<'e> Ended<'e> {
    fn of(end: &'e Event) -> Self {
        match end {
            Event::Completed(done) => {
                let is_done = matches!(done.status, Status::Done | Status::Unchanged | Status::Partly);
                let decision = match done.decision {
                    Decision::Ask if is_done => "ask",
                    Decision::Allow if is_done => "allow",
                    Decision::Ask | Decision::Allow | Decision::Deny | Decision::Unspecified => "",
                };
                Self { code: &done.code, decision, rule: &done.rule }
            }
            Event::Refused(refused) => Self { code: &refused.code, ..Self::default() },
            Event::Error(fault) => Self { code: &fault.code, ..Self::default() },
            Event::Accepted(_) | Event::Waiting(_) | Event::Progress(_) | Event::Output(_) => Self::default(),
        }
    }
}

/// A list of paths that is kept as JSON.
fn paths(row: &Row<'_>, column: usize) -> rusqlite::Result<Vec<String>> {
    let wrong = |error| rusqlite::Error::FromSqlConversionFailure(column, Type::Text, Box::new(error));
    serde_json::from_str(&row.get::<_, String>(column)?).map_err(wrong)
}

fn millis(time: Duration) -> i64 {
    i64::try_from(time.as_millis()).unwrap_or(i64::MAX)
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
                "INSERT INTO requests (id, owner, is_undo, state, task, step, verb, target, is_effect, left_out)
                 VALUES (?1, ?2, ?3, ?4, (SELECT seq FROM tasks WHERE id = ?5), ?6, ?7, ?8, ?9, ?10)
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
                text(&part.map_or(&[][..], |part| part.left_out)),
            ])?;
            let is = sql.prepare("SELECT owner = ?2 FROM requests WHERE id = ?1")?;
            { is }.query_row([id, &owner], |row| row.get(0))
        })
    }

    /// The requests of a step that may have changed something, whatever is known of them, the oldest first.
    ///
    /// # Errors
    /// They cannot be read: that is not to say that nothing was sent.
    pub fn of_step(&self, task: &str, step: usize) -> Result<Vec<SentStep>, String> {
        self.0.read(|sql| {
            let mut sent = sql.prepare(
                "SELECT requests.id, verb, target, left_out FROM requests JOIN tasks ON tasks.seq = task
                 WHERE tasks.id = ?1 AND step = ?2 AND is_effect ORDER BY requests.seq",
            )?;
            let rows = sent.query_map(params![task, i64::try_from(step).unwrap_or(i64::MAX)], |row| {
                Ok(SentStep {
                    step,
                    id: row.get(0)?,
                    verb: row.get(1)?,
                    target: row.get(2)?,
                    left_out: paths(row, 3)?,
                })
            })?;
            rows.collect()
        })
    }

    /// Whether a request was sent for this person.
    ///
    /// # Errors
    /// The database cannot be read.
    pub fn owns(&self, owner: Owner, id: &str) -> Result<bool, String> {
        self.0.read(|sql| {
            let mut own = sql.prepare("SELECT 1 FROM requests WHERE id = ?1 AND owner = ?2")?;
            own.exists([id, &text(&owner)])
        })
    }

    /// Remembers how a request ended; `undoes` is the one that it takes back, `took` how long it took where that was measured.
    pub fn settle(&self, id: &str, undoes: Option<&str>, end: &Event, took: Option<Took>) {
        let verb = self.0.read(|sql| {
            let mut verb = sql.prepare("SELECT verb FROM requests WHERE id = ?")?;
            verb.query_row([id], |row| row.get::<_, Option<String>>(0)).optional()
        });
        // The request stays open if it cannot be read, and its recorded outcome is asked for.
        let Ok(verb) = verb else { return };
        let verb = verb.flatten().unwrap_or_default();
        let state = match end {
            Event::Completed(done) if !matches!(done.status, Status::Done | Status::Partly) => State::Nothing,
            Event::Completed(done) if done.no_effect => State::Nothing,
            Event::Completed(done) if has_inverse(&verb, done) => State::Change,
            Event::Completed(_) => State::Done,
            Event::Refused(_) => State::Nothing,
            Event::Error(fault) if fault.not_begun => State::Nothing,
            // No answer of the helper's: what became of it is not known.
            Event::Error(_)
            | Event::Accepted(_)
            | Event::Waiting(_)
            | Event::Progress(_)
            | Event::Output(_) => {
                return;
            }
        };
        let is_gone = matches!(end, Event::Completed(done) if done.code == "undo_gone")
            || matches!(end, Event::Refused(refused) if refused.code == "undo_gone");
        let undone = match state {
            State::Change | State::Done => Some(State::Undone),
            // It is not tried for ever.
            State::Nothing | State::Undone | State::Unknown if is_gone => Some(State::Done),
            State::Nothing | State::Undone | State::Unknown => None,
        };
        let Ended { code, decision, rule } = Ended::of(end);
        let took = took.filter(|_| !decision.is_empty());
        // Not written, it stays unknown: what is asked for then is its recorded outcome.
        let _ = self.0.write(Wait::ForKernel, |sql| {
            sql.prepare(
                "UPDATE requests SET state = ?2, code = ?3, decision = ?4, rule = ?5, took_ms = coalesce(?6, took_ms),
                     waited_ms = coalesce(?7, waited_ms) WHERE id = ?1",
            )?
            .execute(params![
                id,
                state,
                code,
                decision,
                rule,
                took.map(|took| millis(took.work)),
                took.map(|took| millis(took.waited)),
            ])?;
            let mut settle = sql.prepare("UPDATE requests SET state = ? WHERE id = ?")?;
            match undoes.zip(undone) {
                Some((of, undone)) => settle.execute(params![undone, of]),
                None => Ok(0),
            }
        });
    }

    /// Remembers the recorded outcome of a request, as the helper was asked for it. That the helper does not know it
    /// says that it never came there, unless it may be on its way yet.
    pub fn recalled(&self, id: &str, end: &Event) {
        match end {
            Event::Completed(_) => self.settle(id, None, end, None),
            Event::Refused(refused) if refused.code == "unknown_request" && age(id) > ON_ITS_WAY => {
                self.settle(id, None, end, None);
            }
            Event::Refused(_)
            | Event::Error(_)
            | Event::Accepted(_)
            | Event::Waiting(_)
            | Event::Progress(_)
            | Event::Output(_) => {}
        }
    }

    /// The changes of a group that a person asked for, the oldest first; no undo is among them.
    ///
    /// # Errors
    /// The database cannot be read.
    pub fn changes(&self, owner: Owner, group: Group<'_>) -> Result<Vec<RecordedChange>, String> {
        let owner = text(&owner);
        let newest = "SELECT seq, task FROM requests WHERE owner = ?1 AND is_effect AND NOT is_undo
                      AND state <> 'nothing' ORDER BY seq DESC LIMIT 1";
        let (of, id) = match group {
            Group::Newest => (newest, ""),
            Group::Task(id) => ("SELECT 0 AS seq, seq AS task FROM tasks WHERE ?1 <> '' AND id = ?2", id),
            Group::Request(id) => ("SELECT seq, task FROM requests WHERE owner = ?1 AND id = ?2", id),
        };
        // Outside of tasks the group ends at the next task of the same person, on both sides.
        let rows = format!(
            "WITH it AS ({of}), others AS (
                 SELECT r.seq AS seq FROM requests r WHERE r.owner = ?1 AND r.is_effect AND NOT r.is_undo
                     AND r.state <> 'nothing' AND r.task IS NOT NULL
             )
             SELECT r.id, coalesce(r.verb, ''), coalesce(r.target, ''), r.state, tasks.id
             FROM it JOIN requests r ON r.task = it.task OR (it.task IS NULL AND r.task IS NULL
                 AND r.seq > coalesce((SELECT max(seq) FROM others WHERE others.seq < it.seq), 0)
                 AND r.seq < coalesce((SELECT min(seq) FROM others WHERE others.seq > it.seq), 9223372036854775807))
             LEFT JOIN tasks ON tasks.seq = r.task
             WHERE r.owner = ?1 AND r.is_effect AND NOT r.is_undo AND ?2 = ?2 ORDER BY r.seq"
        );
        let mut asked: Vec<RecordedChange> = self.0.read(|sql| {
            let mut rows = sql.prepare(&rows)?;
            let rows = rows.query_map([&*owner, id], |row| {
                let (request_id, verb, target) = (row.get(0)?, row.get(1)?, row.get(2)?);
                let (state, task) = (row.get(3)?, row.get(4)?);
                Ok(RecordedChange { request_id, verb, target, state, task, followers: Vec::new() })
            })?;
            rows.collect()
        })?;
        for at in 0..asked.len() {
            let (before, after) = asked.split_at_mut(at + 1);
            let happened = after.iter().filter(|later| matches!(later.state, State::Done | State::Change));
            if let Some(one) = before.last_mut() {
                one.followers = followers(&one.verb, happened.map(|later| (&*later.verb, &*later.target)));
            }
        }
        Ok(asked)
    }

    /// A person's request by its id, the beginning of it, or `last`: the newest change that stands of those that
    /// belong together, so that asking again goes one further back and never into another task.
    pub fn find(&self, owner: Owner, id: &str) -> Result<String, NotOne> {
        if id == "last" {
            let changes = self.changes(owner, Group::Newest).map_err(NotOne::Unreadable)?;
            let task = changes.last().and_then(|change| change.task.clone());
            let is_open = |change: &&RecordedChange| matches!(change.state, State::Change | State::Unknown);
            return match changes.into_iter().rfind(|change| is_open(&change)) {
                Some(RecordedChange { request_id, state: State::Unknown, .. }) => {
                    Err(NotOne::Open(request_id))
                }
                Some(RecordedChange { request_id, .. }) => Ok(request_id),
                None => Err(task.map_or(NotOne::Unknown, NotOne::NoneLeft)),
            };
        }
        let owner = text(&owner);
        let found: Result<Vec<String>, String> = self.0.read(|sql| {
            let like = "SELECT id FROM requests WHERE owner = ?2 AND substr(id, 1, length(?1)) = ?1 LIMIT 2";
            let mut like = sql.prepare(like)?;
            let rows = like.query_map([id, &owner], |row| row.get(0))?;
            rows.collect()
        });
        match found.map_err(NotOne::Unreadable)?.as_slice() {
            [one] => Ok(one.clone()),
            [] => Err(NotOne::Unknown),
            _ => Err(NotOne::Several),
        }
    }

    /// Deletes the oldest requests beyond the kept number; reads do not push out changes. Requests of a task that
    /// can be resumed are kept as long as the task, since they would be sent again otherwise.
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

/// How long ago a request's id was made; nothing where it does not tell, or the clock was set back.
fn age(id: &str) -> Duration {
    let made = uuid::Uuid::parse_str(id).ok().and_then(|id| id.get_timestamp());
    let made = made.map(|made| made.to_unix()).map(|(seconds, nanos)| Duration::new(seconds, nanos));
    let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    made.map_or(Duration::ZERO, |made| now.saturating_sub(made))
}
