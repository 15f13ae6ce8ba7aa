//! `postern-files`: reads and changes files for clients, with three capabilities, below the granted directories only.
//!
//! It takes orders from the recorder alone, decides each again under the accepted policy, and acts.

pub mod as_user;
mod change;
pub mod confine;
mod effect;
mod order;
pub mod path;
mod read;
pub mod recover;
mod stage;
pub mod swap;
pub mod target;
mod tree;
pub mod xattr;

use crate::stage::Stages;
use postern_policy::{Policy, Selector};
use postern_proto::root::v1::Step;
use postern_root::{
    Accounts, ActivePolicy, Answer, Authority, Code, Connection, Denied, Error, Fault, Host, Identity, Key,
    Ordered, Outcomes, Received, UndoStore, store,
};
use std::io::{Read, Write};
use std::path::PathBuf;
use std::sync::Mutex;

/// The state of the program.
#[derive(Debug)]
pub struct State {
    /// This host.
    pub host: Host,
    /// The policy as it was accepted when the program started.
    pub active: ActivePolicy,
    /// The key of inverses.
    pub key: Key,
    /// Outcomes that the recorder has not acknowledged.
    pub outcomes: Outcomes,
    /// The content that changes replaced.
    pub undo: UndoStore,
    /// Copies of directories for validators.
    pub stages: Stages,
    /// One effect at a time: no update is lost between two.
    pub effect: Mutex<()>,
    /// The files and directories that the confinement depends on, as they were when the program started.
    confined_to: Vec<(Option<Identity>, PathBuf)>,
}

impl State {
    /// Opens the state, confines the process with `confine`, and then recovers the orders that an earlier process left.
    ///
    /// # Errors
    /// The state or the policy cannot be used, or the process cannot be confined.
    pub fn open(
        host: Host,
        confine: impl FnOnce(&Host, &Policy) -> Result<(), Fault>,
    ) -> Result<Self, Fault> {
        let at = &host.state;
        store::make_directory(at)?;
        // Before the policy is read: if a directory is replaced in between, the process ends.
        let active = ActivePolicy::load(&host)?;
        let mut paths = vec![host.passwd.clone(), host.group.clone()];
        for rule in active.policy.rules().iter().filter(|rule| rule.as_user.is_empty()) {
            let Selector::Files { directories, .. } = &rule.selector else { continue };
            paths.extend(directories.iter().map(|directory| PathBuf::from(directory.as_str())));
        }
        let confined_to = paths.into_iter().map(|path| (Identity::of(&path), path)).collect();
        let state = Self {
            key: Key::open(&at.join("key"))?,
            outcomes: Outcomes::open(&at.join("outcomes"))?,
            undo: UndoStore::open(&at.join("undo"))?,
            stages: Stages::open(&host)?,
            effect: Mutex::new(()),
            confined_to,
            active,
            host,
        };
        confine(&state.host, &state.active.policy)?;
        recover::recover_all(&state)?;
        state.undo.expire(state.active.policy.undo(), state.host.unix())?;
        Ok(state)
    }

    /// Serves one connection of the recorder: one order. The thread must end with it, since a read drops its write access.
    pub fn serve<S: Read + Write>(&self, stream: S) {
        let mut connection = Connection::new(stream);
        let Some(received) = connection.receive() else { return };
        let answer = match received {
            Received::Order(ordered) if ordered.is_execute => {
                let outcome = order::execute(self, &ordered).map_err(|error| self.or_not_started(error));
                if ordered.step() == Step::Commit && !matches!(outcome, Err(Error::NotStarted(_))) {
                    self.stages.discard(&ordered);
                }
                outcome.map(Answer::Outcome)
            }
            Received::Order(ordered) if ordered.is_question() => {
                order::inspect(self, &ordered).map(Answer::Facts)
            }
            Received::Order(ordered) => read::read(self, &ordered, &mut connection).map(Answer::Outcome),
            Received::Outcomes(id) => recover::state_of(self, id).map(Answer::State).map_err(Error::from),
            Received::Acknowledge(id) => {
                self.outcomes.acknowledge(id).map(|()| Answer::Acknowledged).map_err(Error::from)
            }
        };
        connection.answer(answer.map_err(|error| self.or_not_started(error)));
    }

    /// The authority under which an order is decided.
    ///
    /// # Errors
    /// As [`Authority::new`].
    pub fn authority<'a>(
        &'a self,
        accounts: &'a Accounts,
        ordered: &'a Ordered,
    ) -> Result<Authority<'a>, Denied> {
        // Replaced while the order came: [`Self::or_not_started`] leaves it to the next process.
        if !self.is_current() {
            return Err(Denied::new(Code::PlanChanged, "the policy was replaced while the order came"));
        }
        Authority::new(&self.host, &self.active.policy, accounts, &self.key, ordered)
    }

    /// Whether policy, accounts and granted directories are those that the process was confined to.
    #[must_use]
    pub fn is_current(&self) -> bool {
        self.active.is_current() && self.confined_to.iter().all(|(then, path)| Identity::of(path) == *then)
    }

    /// Turns an error before any effect into `NotStarted` if the confinement is out of date: the next process tries again.
    #[must_use]
    pub fn or_not_started(&self, error: Error) -> Error {
        if self.is_current() { error } else { Error::NotStarted(Fault::new(error.detail())) }
    }
}
