//! Whose request is whose: to the helper all of them are the agent's.

use super::Owner;
use crate::event::{Event, Fault, Status};
use serde::{Deserialize, Serialize};
use std::collections::VecDeque;
use std::sync::{Mutex, MutexGuard, PoisonError};

/// Requests whose owner is remembered: as many as the helper keeps outcomes for.
const KEPT: usize = 10_000;

/// The requests that were sent, the oldest first.
#[derive(Default)]
pub struct Requests(Mutex<VecDeque<Sent>>);

/// One of them.
struct Sent {
    owner: Owner,
    id: String,
    is_undo: bool,
    state: State,
}

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

impl Requests {
    fn lock(&self) -> MutexGuard<'_, VecDeque<Sent>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Remembers who a request is sent for; false if it was sent for somebody else.
    pub fn claim(&self, owner: Owner, id: &str, is_undo: bool, effect: Effect) -> bool {
        let mut requests = self.lock();
        if let Some(known) = requests.iter().rev().find(|known| known.id == id) {
            return known.owner == owner;
        }
        if requests.len() == KEPT {
            requests.pop_front();
        }
        let state = match effect {
            Effect::Possible => State::Unknown,
            Effect::None => State::Nothing,
        };
        requests.push_back(Sent { owner, id: id.to_owned(), is_undo, state });
        true
    }

    /// Whether a request was sent for this person.
    pub fn owns(&self, owner: Owner, id: &str) -> bool {
        self.lock().iter().any(|known| known.owner == owner && known.id == id)
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
        for known in self.lock().iter_mut() {
            if known.id == id {
                known.state = if is_done && undoable { State::Change } else { State::Nothing };
            } else if undoes == Some(known.id.as_str()) && is_done {
                known.state = State::Nothing;
            }
        }
    }

    /// A person's request by its id, the beginning of it, or `last`: the newest change that stands and is no undo
    /// itself, so that asking again goes one further back.
    pub fn find(&self, owner: Owner, id: &str) -> Result<String, NotOne> {
        let requests = self.lock();
        let mut own = requests.iter().rev().filter(|known| known.owner == owner);
        if id == "last" {
            return match own.find(|known| known.state != State::Nothing && !known.is_undo) {
                Some(known) if known.state == State::Change => Ok(known.id.clone()),
                Some(open) => Err(NotOne::Open(open.id.clone())),
                None => Err(NotOne::Unknown),
            };
        }
        let mut found = own.filter(|known| known.id.starts_with(id));
        match (found.next(), found.next()) {
            (Some(known), None) => Ok(known.id.clone()),
            (None, _) => Err(NotOne::Unknown),
            (Some(_), Some(_)) => Err(NotOne::Several),
        }
    }
}
