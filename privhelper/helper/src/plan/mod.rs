//! What exactly would happen. Plain data: made by the verbs, judged by the policy.

mod command;
mod files;
pub mod inverse;
mod show;
pub mod units;

pub use command::CommandPlan;
pub use files::{FileAction, FilePlan, FilesPlan, OldFile};

use crate::types::{FileMode, PackageName, TargetPath, UserName};
use crate::verb_id::VerbId;
use std::collections::BTreeSet;

/// A plan as the policy sees it.
#[derive(Debug)]
pub enum Subject<'a> {
    /// Nothing beyond the request.
    Nothing,
    /// A transaction of apt.
    Packages(&'a PackagePlan),
    /// A unit and what it drags along.
    Unit(&'a UnitPlan),
    /// Files and directories that would be new.
    NewFiles(Vec<NewFile<'a>>),
}

/// What would be new.
#[derive(Debug, Clone, Copy)]
pub struct NewFile<'a> {
    /// Where.
    pub path: &'a TargetPath,
    /// Permission bits.
    pub mode: FileMode,
    /// Owner.
    pub owner: Option<&'a UserName>,
    /// Group.
    pub group: Option<&'a UserName>,
}

/// What is done to a package.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Action {
    /// It was not installed.
    Install,
    /// To a later version.
    Upgrade,
    /// To an earlier version.
    Downgrade,
    /// The same version again.
    Reinstall,
    /// Its configuration stays.
    Remove,
    /// Its configuration goes too.
    Purge,
    /// It was unpacked before.
    Configure,
}

impl Action {
    /// "would be …".
    #[must_use]
    pub const fn done(self) -> &'static str {
        match self {
            Self::Install => "installed",
            Self::Upgrade => "upgraded",
            Self::Downgrade => "downgraded",
            Self::Reinstall => "installed again",
            Self::Remove => "removed",
            Self::Purge => "purged",
            Self::Configure => "configured",
        }
    }

    /// The verb by which it is asked for on its own.
    #[must_use]
    pub const fn verb(self) -> VerbId {
        match self {
            Self::Install | Self::Downgrade | Self::Reinstall => VerbId::PackageInstall,
            Self::Upgrade => VerbId::PackageUpgrade,
            Self::Remove => VerbId::PackageRemove,
            Self::Purge => VerbId::PackagePurge,
            Self::Configure => VerbId::PackageRepair,
        }
    }
}

/// One package of a transaction.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PackageStep {
    /// What is done.
    pub action: Action,
    /// Its name.
    pub name: PackageName,
    /// Its architecture, as apt says.
    pub arch: String,
    /// The installed version, or empty.
    pub old: String,
    /// The version to be, or empty.
    pub new: String,
    /// Every configured source that offers it; empty where that can't be told.
    pub sources: Vec<Origin>,
    /// Named in the request.
    pub asked: bool,
}

/// An entry of apt's sources that offers a version.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Origin {
    /// `FILE:NUMBER`, as apt says.
    pub entry: String,
    /// The repository's address in it.
    pub uri: String,
    /// What the file's entries say in `Signed-By`; empty where one of them says nothing.
    pub keys: Vec<String>,
}

/// A transaction of apt.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct PackagePlan {
    /// Sorted by name and architecture.
    pub steps: Vec<PackageStep>,
    /// To be fetched, as far as the simulation says.
    pub download_bytes: u64,
    /// Disk space used afterwards, as far as the simulation says.
    pub disk_bytes: i64,
    /// What an upgrade leaves at its version.
    pub kept_back: Vec<PackageName>,
}

/// The state of a unit as systemd reports it.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct UnitState {
    /// The canonical id.
    pub id: String,
    /// Id and aliases.
    pub names: Vec<String>,
    /// `loaded`, `not-found`, `masked`, ...
    pub load: String,
    /// `active`, `inactive`, `failed`, ...
    pub active: String,
    /// `running`, `dead`, ...
    pub sub: String,
    /// `enabled`, `disabled`, `static`, ...
    pub enabled: String,
    /// `success`, `exit-code`, `start-limit-hit`, ...
    pub result: String,
    /// 0 = none.
    pub main_pid: u32,
    /// When the state last changed, in microseconds since 1970.
    pub since_unix_us: u64,
    /// 0 = not known.
    pub memory_bytes: u64,
    /// Of the main process.
    pub exit_status: i32,
    /// Which start of the unit this is; empty = it has none.
    pub invocation: String,
}

impl UnitState {
    /// The canonical id and the aliases, each once.
    #[must_use]
    pub fn all_names(&self) -> BTreeSet<&str> {
        self.names.iter().chain([&self.id]).map(String::as_str).collect()
    }

    /// Whether it is up, or coming up.
    #[must_use]
    pub fn is_up(&self) -> bool {
        matches!(self.active.as_str(), "active" | "activating" | "reloading" | "refreshing")
    }

    /// Whether systemd knows nothing of it: no file, and no trace of a run.
    #[must_use]
    pub fn is_missing(&self) -> bool {
        self.load == "not-found" && self.active == "inactive"
    }
}

/// A unit, what is done to it, and which others change with it.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct UnitPlan {
    /// Before the effect.
    pub state: UnitState,
    /// `start`, `stop`, ...
    pub action: &'static str,
    /// What is done at once besides: `start` with `enable`, `stop` with `disable`.
    pub now: Option<&'static str>,
    /// Other units that would be changed too.
    pub cascade: Vec<Dragged>,
    /// Lines of its journal that are asked for.
    pub journal_lines: u32,
}

/// A unit that is changed along with another.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Dragged {
    /// What is done to it.
    pub verb: &'static str,
    /// Before the effect.
    pub state: UnitState,
}
