//! What apt-get is asked for.

use postern_policy::VerbId;
use postern_policy::types::{PackageName, PackageVersion};

/// What a transaction does to the packages that it names.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Action {
    /// `package.install`
    Install,
    /// `package.remove`
    Remove,
    /// `package.purge`
    Purge,
    /// `package.autoremove`: names none.
    Autoremove,
    /// `package.upgrade`: names none for everything there is.
    Upgrade,
    /// `package.repair`: names none.
    Repair,
}

impl Action {
    /// The transaction of a verb; none for verbs that are none.
    #[must_use]
    pub fn of(verb: VerbId) -> Option<Self> {
        const ALL: [(VerbId, Action); 6] = [
            (VerbId::PackageInstall, Action::Install),
            (VerbId::PackageRemove, Action::Remove),
            (VerbId::PackagePurge, Action::Purge),
            (VerbId::PackageAutoremove, Action::Autoremove),
            (VerbId::PackageUpgrade, Action::Upgrade),
            (VerbId::PackageRepair, Action::Repair),
        ];
        ALL.into_iter().find(|(known, _)| *known == verb).map(|(_, action)| action)
    }
}

/// What apt-get is asked for. Simulation and run are made from the same value.
#[derive(Debug, Clone)]
#[expect(clippy::struct_excessive_bools, reason = "each is a key of the policy file")]
pub struct Transaction {
    /// What is done.
    pub action: Action,
    /// The named packages; a version only where one is installed.
    pub packages: Vec<(PackageName, Option<PackageVersion>)>,
    /// Whether recommended packages come along.
    pub recommends: bool,
    /// Whether other packages may be removed.
    pub allow_removals: bool,
    /// Whether a package may go to an earlier version.
    pub allow_downgrades: bool,
    /// Whether an upgrade of everything may bring packages that were not installed.
    pub new_packages: bool,
}

impl Transaction {
    /// The names, in the order of the request.
    #[must_use]
    pub fn names(&self) -> Vec<&str> {
        self.packages.iter().map(|(name, _)| name.as_str()).collect()
    }
}
