//! Transactions that apt-get is asked for.

use postern_policy::VerbId;
use postern_policy::request::PackagesRequest;
use postern_policy::types::{PackageName, PackageVersion};
use postern_proto::root::v1::PackageFlags;

/// The change of the named packages.
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

/// One transaction. Simulation and run are made from the same value.
#[derive(Debug, Clone)]
pub struct Transaction {
    /// The change.
    pub action: Action,
    /// The named packages; a version only where one is installed.
    pub packages: Vec<(PackageName, Option<PackageVersion>)>,
    /// Further changes that apt may make.
    pub flags: PackageFlags,
}

impl Transaction {
    /// The transaction of a request; none for verbs that are none.
    #[must_use]
    pub fn new(request: PackagesRequest, flags: PackageFlags) -> Option<Self> {
        let packages = request.packages.into_iter().map(|package| (package.name, package.version)).collect();
        Some(Self { action: Action::of(request.verb)?, packages, flags })
    }

    /// The names, in the order of the request.
    #[must_use]
    pub fn names(&self) -> Vec<&str> {
        self.packages.iter().map(|(name, _)| name.as_str()).collect()
    }
}
