//! The state of the program: the policy that it started with, its keys, outcomes, undo store and stages.

use crate::stage::Stages;
use crate::undo_store::UndoStore;
use postern_policy::types::TargetPath;
use postern_policy::{Policy, Selector};
use postern_root::host::Identity;
use postern_root::{ActivePolicy, Error, Fault, Host, Key, Outcomes, store};
use std::path::PathBuf;
use std::sync::Mutex;

/// The state of the program.
#[derive(Debug)]
pub struct State {
    /// This host.
    pub host: Host,
    /// The policy as it was accepted when the program started.
    pub active: ActivePolicy,
    /// What inverses are authenticated with.
    pub key: Key,
    /// Outcomes that the recorder has not acknowledged.
    pub outcomes: Outcomes,
    /// What changes replaced.
    pub undo: UndoStore,
    /// Copies of directories for validators.
    pub stages: Stages,
    /// One effect at a time: no update is lost between two.
    pub effect: Mutex<()>,
    /// What the confinement rests on, as it was when the program started.
    confined_to: Vec<(PathBuf, Option<Identity>)>,
}

impl State {
    /// Opens the state, and confines the process with `confine`.
    ///
    /// # Errors
    /// The state or the policy cannot be used, or the process cannot be confined.
    pub fn open(
        host: Host,
        confine: impl FnOnce(&Host, &Policy) -> Result<(), Fault>,
    ) -> Result<Self, Fault> {
        let at = &host.state;
        store::make_directory(at)?;
        // Before the policy is read: a directory that is replaced in between ends the process.
        let active = ActivePolicy::load(&host)?;
        let mut confined_to = directories(&active.policy)
            .map(|path| (path.as_str().into(), Identity::of_inode(path.as_str().as_ref())))
            .collect::<Vec<(PathBuf, _)>>();
        for accounts in [&host.passwd, &host.group] {
            confined_to.push((accounts.clone(), Identity::of_inode(accounts)));
        }
        let validator_key = Key::read(&host.validator_key)?;
        let state = Self {
            key: Key::open(&at.join("key"))?,
            outcomes: Outcomes::open(&at.join("outcomes"))?,
            undo: UndoStore::open(&at.join("undo"))?,
            stages: Stages::open(at.join("stage"), validator_key, host.root_uid, host.now)?,
            effect: Mutex::new(()),
            confined_to,
            active,
            host,
        };
        confine(&state.host, &state.active.policy)?;
        Ok(state)
    }

    /// Whether policy, accounts and granted directories are those that the process was confined to.
    #[must_use]
    pub fn is_current(&self) -> bool {
        let same = |(path, then): &(PathBuf, Option<Identity>)| Identity::of_inode(path) == *then;
        self.active.is_current() && self.confined_to.iter().all(same)
    }

    /// An error before any effect: if the process is not confined to what is granted now, the next one shall try.
    #[must_use]
    pub fn or_not_started(&self, error: Error) -> Error {
        if self.is_current() { error } else { Error::NotStarted(Fault::Program { what: error.detail() }) }
    }
}

/// The directories that rules of the policy name.
pub fn directories(policy: &Policy) -> impl Iterator<Item = &TargetPath> {
    policy.rules().iter().flat_map(|rule| match &rule.selector {
        Selector::Files { directories, .. } => directories.as_slice(),
        Selector::Nothing | Selector::Packages(_) | Selector::Units(_) | Selector::Commands { .. } => &[],
    })
}
