//! The vocabulary: which keys there are, and which verbs use them. CONTRACTS 5 as data.

use postern_helper::table;
use postern_helper::verb_id::VerbId;

/// What a verb's requests are about. The verbs of one rule share it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    /// The verb alone.
    Nothing,
    /// Packages.
    Packages,
    /// Units.
    Units,
    /// Files.
    Files,
}

impl Kind {
    /// What the verb speaks of. `None`: its rules are not built yet.
    #[must_use]
    pub fn of(verb: VerbId) -> Option<Self> {
        let kind = match verb {
            VerbId::PackageInstall | VerbId::PackageShow => Self::Packages,
            VerbId::PackageUpdate => Self::Nothing,
            VerbId::UnitStatus
            | VerbId::UnitStart
            | VerbId::UnitStop
            | VerbId::UnitRestart
            | VerbId::UnitReload
            | VerbId::UnitEnable
            | VerbId::UnitDisable => Self::Units,
            VerbId::FileRead | VerbId::FileWrite => Self::Files,
            VerbId::PackageRemove
            | VerbId::PackagePurge
            | VerbId::PackageAutoremove
            | VerbId::PackageUpgrade
            | VerbId::PackageHold
            | VerbId::PackageUnhold
            | VerbId::PackageRepair
            | VerbId::UnitTryRestart
            | VerbId::UnitResetFailed
            | VerbId::UnitMask
            | VerbId::UnitUnmask
            | VerbId::UnitDaemonReload
            | VerbId::FileList
            | VerbId::FilePatch
            | VerbId::FileRemove
            | VerbId::FileMkdir
            | VerbId::FileSetMode
            | VerbId::FileSetOwner
            | VerbId::CommandRun
            | VerbId::PolicyDescribe
            | VerbId::RequestResult
            | VerbId::RequestUndo => return None,
        };
        is_built(verb).then_some(kind)
    }

    /// The word for people.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Nothing => "nothing but the verb",
            Self::Packages => "packages",
            Self::Units => "units",
            Self::Files => "files",
        }
    }
}

fn is_built(verb: VerbId) -> bool {
    table::TABLE.iter().any(|row| row.id == verb)
}

/// Whether the helper acts for this verb, rather than only looks.
#[must_use]
pub fn is_effect(verb: VerbId) -> bool {
    table::TABLE.iter().any(|row| row.id == verb && row.is_effect)
}

/// What a key is for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Role {
    /// Says what the rule is; every rule may have it.
    Plain,
    /// Decides whether the rule matches.
    Selector,
    /// Narrows what the rule allows; a deny rule has none.
    Limit,
}

/// Whether a verb uses a key.
pub type UsedBy = fn(VerbId) -> bool;

/// One key of a rule.
#[derive(Debug)]
pub struct Key {
    /// Its name.
    pub name: &'static str,
    /// What it is for.
    pub role: Role,
    /// Whether a verb uses it.
    pub used_by: UsedBy,
}

const fn plain(name: &'static str) -> Key {
    Key { name, role: Role::Plain, used_by: |_| true }
}

const fn selector(name: &'static str, used_by: UsedBy) -> Key {
    Key { name, role: Role::Selector, used_by }
}

const fn limit(name: &'static str, used_by: UsedBy) -> Key {
    Key { name, role: Role::Limit, used_by }
}

const fn is_install(verb: VerbId) -> bool {
    matches!(verb, VerbId::PackageInstall)
}

const fn is_write(verb: VerbId) -> bool {
    matches!(verb, VerbId::FileWrite)
}

fn is_file(verb: VerbId) -> bool {
    Kind::of(verb) == Some(Kind::Files)
}

/// Every key of a rule that exists.
pub const RULE: &[Key] = &[
    plain("id"),
    plain("client"),
    plain("verbs"),
    plain("decision"),
    plain("justification"),
    plain("matches"),
    plain("does_not_match"),
    limit("accept_risk", |_| true),
    limit("rate", is_effect),
    limit("timeout", |_| true),
    limit("approval_ttl", is_effect),
    limit("approvers", is_effect),
    selector("packages", |verb| Kind::of(verb) == Some(Kind::Packages)),
    limit("versions", is_install),
    limit("max_new_packages", is_install),
    limit("allow_upgrades", is_install),
    limit("allow_removals", is_install),
    limit("allow_downgrades", is_install),
    limit("recommends", is_install),
    selector("units", |verb| Kind::of(verb) == Some(Kind::Units)),
    limit("journal_lines", |verb| verb == VerbId::UnitStatus),
    limit("allow_cascade", |verb| Kind::of(verb) == Some(Kind::Units) && is_effect(verb)),
    selector("directories", is_file),
    selector("depth", is_file),
    selector("files", is_file),
    limit("max_bytes", is_file),
    limit("modes", is_write),
    limit("owners", is_write),
    limit("groups", is_write),
    limit("max_files", is_write),
    limit("allow_create", is_write),
];

/// Keys of a rule that come later.
pub const RULE_LATER: &[&str] =
    &["sources", "lines", "validate", "backup", "new_packages", "params", "commands"];

/// Keys of a file.
pub const TOP: &[&str] = &["version", "client", "rule"];
/// Tables that come later.
pub const TOP_LATER: &[&str] = &["source", "command", "audit", "undo", "approvals", "protect"];
/// Keys of a client.
pub const CLIENT: &[&str] = &["name", "user", "group"];
/// Keys of an example, each with the verbs whose requests hold it.
pub const EXAMPLE: &[(&str, UsedBy)] = &[
    ("verb", |_| true),
    ("packages", |verb| matches!(Kind::of(verb), Some(Kind::Packages))),
    ("version", is_install),
    ("unit", |verb| matches!(Kind::of(verb), Some(Kind::Units))),
    ("path", is_file),
    ("mode", is_write),
    ("owner", is_write),
    ("group", is_write),
    ("bytes", is_write),
];
/// Keys of an example that come later.
pub const EXAMPLE_LATER: &[&str] = &["command", "params"];
