//! Transactions of apt, step by step.

use super::text::{is_text, version};
use crate::error::Invalid;
use crate::types::PackageName;
use crate::verb_id::VerbId;
use postern_proto::root::v1 as root;
use postern_proto::v1 as wire;
use std::fmt;

/// Most steps of a transaction.
const STEPS_MAX: usize = 10_000;

/// Most sources of a version.
const SOURCES_MAX: usize = 100;

macro_rules! actions {
    ($($(#[$doc:meta])* $name:ident = $done:literal, $verb:ident;)*) => {
        /// The change of a package, as messages name it too.
        #[derive(Debug, Clone, Copy, PartialEq, Eq)]
        pub enum Action { $($(#[$doc])* $name),* }

        impl Action {
            /// "would be …".
            pub const fn done(self) -> &'static str {
                match self { $(Self::$name => $done),* }
            }

            /// The verb by which it is asked for on its own.
            pub const fn verb(self) -> VerbId {
                match self { $(Self::$name => VerbId::$verb),* }
            }

            const fn wire(self) -> wire::Action {
                match self { $(Self::$name => wire::Action::$name),* }
            }

            const fn from_wire(action: wire::Action) -> Option<Self> {
                match action {
                    $(wire::Action::$name => Some(Self::$name),)*
                    wire::Action::Unspecified => None,
                }
            }
        }
    };
}

actions! {
    /// It was not installed.
    Install = "installed", PackageInstall;
    /// To a later version.
    Upgrade = "upgraded", PackageUpgrade;
    /// To an earlier version.
    Downgrade = "downgraded", PackageInstall;
    /// The same version again.
    Reinstall = "installed again", PackageInstall;
    /// Its configuration stays.
    Remove = "removed", PackageRemove;
    /// Its configuration goes too.
    Purge = "purged", PackagePurge;
    /// It was unpacked before.
    Configure = "configured", PackageRepair;
}

/// One package of a transaction.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PackageStep {
    /// The change.
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
    /// `Signed-By` of the file's entries; empty if one of them has none.
    pub keys: Vec<String>,
}

/// A transaction of apt.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct PackageTransaction {
    /// Sorted by name and architecture.
    pub steps: Vec<PackageStep>,
    /// To be fetched, as far as the simulation says.
    pub download_bytes: u64,
    /// Disk space used afterwards, as far as the simulation says.
    pub disk_bytes: i64,
    /// Packages that an upgrade keeps back.
    pub kept_back: Vec<PackageName>,
}

impl PackageStep {
    /// The step as messages hold it.
    pub fn wire(&self) -> wire::PackageStep {
        wire::PackageStep {
            action: self.action.wire().into(),
            name: self.name.to_string(),
            arch: self.arch.clone(),
            old: self.old.clone(),
            new: self.new.clone(),
            sources: self.sources.iter().map(Origin::to_string).collect(),
            asked: self.asked,
        }
    }

    /// Reads a step that another program wrote.
    ///
    /// # Errors
    /// The field that is not what it must be.
    pub fn from_wire(step: &wire::PackageStep) -> Result<Self, Invalid> {
        let sources = step.sources.iter().map(|text| Origin::new(text)).collect::<Option<Vec<_>>>();
        let sources = sources.filter(|sources| sources.len() <= SOURCES_MAX);
        if !is_text(&step.arch, 32, |b| matches!(b, b'a'..=b'z' | b'0'..=b'9' | b'-')) {
            return Err(Invalid::new("arch", "must be up to 32 of a-z, 0-9 and '-'"));
        }
        Ok(Self {
            action: Action::from_wire(step.action()).ok_or(Invalid::new("action", "must be known"))?,
            name: PackageName::new(&step.name)?,
            arch: step.arch.clone(),
            old: version(&step.old)?,
            new: version(&step.new)?,
            sources: sources.ok_or(Invalid::new("sources", "must each be an entry, a URI and keys"))?,
            asked: step.asked,
        })
    }
}

impl PackageTransaction {
    /// The transaction as orders hold it.
    pub fn to_wire(&self) -> root::PackageFacts {
        root::PackageFacts {
            steps: self.steps.iter().map(PackageStep::wire).collect(),
            download_bytes: self.download_bytes,
            disk_bytes: self.disk_bytes,
            kept_back: self.kept_back.iter().map(ToString::to_string).collect(),
        }
    }

    /// Reads a transaction that another program wrote.
    ///
    /// # Errors
    /// The field that is not what it must be; more than 10,000 steps or packages that are kept back.
    pub fn from_wire(wire: &root::PackageFacts) -> Result<Self, Invalid> {
        if wire.steps.len().max(wire.kept_back.len()) > STEPS_MAX {
            return Err(Invalid::new("steps", "must be at most 10,000"));
        }
        Ok(Self {
            steps: wire.steps.iter().map(PackageStep::from_wire).collect::<Result<_, _>>()?,
            download_bytes: wire.download_bytes,
            disk_bytes: wire.disk_bytes,
            kept_back: wire.kept_back.iter().map(|name| PackageName::new(name)).collect::<Result<_, _>>()?,
        })
    }
}

impl Origin {
    /// `ENTRY URI KEYS`, each of printable ASCII. None if it is not that.
    pub fn new(text: &str) -> Option<Self> {
        let words = text.split(' ').collect::<Vec<_>>();
        let [entry, uri, keys] = *words.as_slice() else { return None };
        if ![entry, uri, keys].iter().all(|word| is_text(word, 2048, |b| b.is_ascii_graphic())) {
            return None;
        }
        let keys = if keys == "-" { Vec::new() } else { keys.split(',').map(str::to_owned).collect() };
        Some(Self { entry: entry.to_owned(), uri: uri.to_owned(), keys })
    }
}

impl fmt::Display for Origin {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let keys = if self.keys.is_empty() { "-".to_owned() } else { self.keys.join(",") };
        write!(f, "{} {} {keys}", self.entry, self.uri)
    }
}
