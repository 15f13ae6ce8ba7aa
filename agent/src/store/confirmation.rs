//! Confirmation of a session's first change by its person, where a model makes the steps. It is a courtesy and no
//! boundary: that is the policy's.

use std::collections::{HashSet, VecDeque};
use std::sync::{Arc, Mutex, PoisonError};

/// So many sessions are remembered.
const KEPT: usize = 1000;

/// The sessions whose person has let a first change through. A new start of the service asks anew.
#[derive(Debug, Default)]
pub struct Consents(Mutex<VecDeque<String>>);

/// Author of a task's steps.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Author {
    /// Its person: what was ordered is done.
    Person,
    /// A model.
    Model,
}

/// Confirmations of one task.
#[derive(Debug)]
pub struct Confirmation {
    consents: Arc<Consents>,
    session: String,
    author: Author,
    seen: HashSet<String>,
}

impl Confirmation {
    /// For a task of a session; a task without a session is one of its own.
    #[must_use]
    pub fn new(consents: &Arc<Consents>, session: String, author: Author) -> Self {
        Self { consents: Arc::clone(consents), session, author, seen: HashSet::new() }
    }

    /// Whether its steps need any.
    #[must_use]
    pub fn is_needed(&self) -> bool {
        self.author == Author::Model
    }

    /// From now on a model makes the steps.
    pub fn model_goes_on(&mut self) {
        self.author = Author::Model;
    }

    /// The session's first change is still to come.
    #[must_use]
    pub fn is_first(&self) -> bool {
        let sessions = self.consents.0.lock().unwrap_or_else(PoisonError::into_inner);
        !sessions.contains(&self.session)
    }

    /// The person has let a change through.
    pub fn let_through(&self) {
        let mut sessions = self.consents.0.lock().unwrap_or_else(PoisonError::into_inner);
        if !sessions.contains(&self.session) {
            sessions.push_back(self.session.clone());
        }
        if sessions.len() > KEPT {
            sessions.pop_front();
        }
    }

    /// The model knows what a file holds: it has read it, or written it itself.
    pub fn saw(&mut self, path: &str) {
        self.seen.insert(path.to_owned());
    }

    /// Whether it does.
    #[must_use]
    pub fn has_seen(&self, path: &str) -> bool {
        self.seen.contains(path)
    }
}
