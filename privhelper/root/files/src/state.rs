//! The state of the program: the policy that it started with, its keys, outcomes, undo store and stages.

use crate::stage::Stages;
use postern_policy::{Policy, Selector};
use postern_root::{
    Accounts, ActivePolicy, Authority, Code, Denied, Error, Fault, Host, Identity, Key, Ordered, Outcomes,
    UndoStore, store,
};
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
    /// Opens the state, and confines the process with `confine`. Then [`crate::recover::recover_all`] must come.
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
        Ok(state)
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
        Authority::new(&self.host, &self.active, accounts, &self.key, ordered)
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
