//! The vocabulary: the keys of a policy, and the verbs that use each, as data.

use postern_policy::VerbId;
use postern_proto::root::v1 as root;

/// The objects of a verb's requests. All verbs of a rule have the same kind.
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
    /// Commands.
    Commands,
}

impl Kind {
    /// The kind of a verb. `None`: it can be listed beside verbs of any kind, or in no rule at all.
    #[must_use]
    pub const fn of(verb: VerbId) -> Option<Self> {
        match verb {
            VerbId::PackageInstall
            | VerbId::PackageRemove
            | VerbId::PackagePurge
            | VerbId::PackageUpgrade
            | VerbId::PackageHold
            | VerbId::PackageUnhold
            | VerbId::PackageShow => Some(Self::Packages),
            VerbId::PackageAutoremove
            | VerbId::PackageUpdate
            | VerbId::PackageRepair
            | VerbId::UnitDaemonReload
            | VerbId::HostReboot => Some(Self::Nothing),
            VerbId::UnitStatus
            | VerbId::UnitStart
            | VerbId::UnitStop
            | VerbId::UnitRestart
            | VerbId::UnitReload
            | VerbId::UnitTryRestart
            | VerbId::UnitResetFailed
            | VerbId::UnitEnable
            | VerbId::UnitDisable
            | VerbId::UnitMask
            | VerbId::UnitUnmask => Some(Self::Units),
            VerbId::FileRead
            | VerbId::FileList
            | VerbId::FileWrite
            | VerbId::FilePatch
            | VerbId::FileRemove
            | VerbId::FileMkdir
            | VerbId::FileSetMode
            | VerbId::FileSetOwner => Some(Self::Files),
            VerbId::CommandRun => Some(Self::Commands),
            VerbId::PolicyDescribe
            | VerbId::RequestResult
            | VerbId::RequestUndo
            | VerbId::RequestKeep
            | VerbId::AgentNote => None,
        }
    }

    /// The word for people.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Nothing => "nothing but the verb",
            Self::Packages => "packages",
            Self::Units => "units",
            Self::Files => "files",
            Self::Commands => "commands",
        }
    }
}

/// Whether the helper acts for this verb, rather than only looks.
#[must_use]
pub const fn is_effect(verb: VerbId) -> bool {
    verb.is_effect()
}

/// The purpose of a key.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Role {
    /// Describes the rule; every rule may have it.
    Plain,
    /// Decides whether the rule matches.
    Selector,
    /// Narrows what the rule lets through; a deny rule has none.
    Limit,
    /// How people are asked; only an ask rule has it.
    Asking,
}

/// Whether a verb uses a key.
pub type UsedBy = fn(VerbId) -> bool;

/// One key of a rule.
#[derive(Debug)]
pub struct Key {
    /// Its name.
    pub name: &'static str,
    /// Its purpose.
    pub role: Role,
    /// Whether a verb uses it.
    pub used_by: UsedBy,
}

const fn key(role: Role, name: &'static str, used_by: UsedBy) -> Key {
    Key { name, role, used_by }
}

const fn plain(name: &'static str) -> Key {
    key(Role::Plain, name, |_| true)
}

const fn selector(name: &'static str, used_by: UsedBy) -> Key {
    key(Role::Selector, name, used_by)
}

const fn limit(name: &'static str, used_by: UsedBy) -> Key {
    key(Role::Limit, name, used_by)
}

const fn is_install(verb: VerbId) -> bool {
    matches!(verb, VerbId::PackageInstall)
}

const fn is_upgrade(verb: VerbId) -> bool {
    matches!(verb, VerbId::PackageUpgrade)
}

const fn is_new_version(verb: VerbId) -> bool {
    is_install(verb) || is_upgrade(verb)
}

const fn is_removal(verb: VerbId) -> bool {
    matches!(verb, VerbId::PackageRemove | VerbId::PackagePurge)
}

/// Whether the verb gives a file new content.
#[must_use]
pub const fn is_write(verb: VerbId) -> bool {
    matches!(verb, VerbId::FileWrite | VerbId::FilePatch)
}

/// Whether the verb changes the content of a file.
#[must_use]
pub const fn is_content(verb: VerbId) -> bool {
    is_write(verb) || matches!(verb, VerbId::FileRemove)
}

/// Whether the verb can set a mode.
#[must_use]
pub const fn sets_mode(verb: VerbId) -> bool {
    is_write(verb) || matches!(verb, VerbId::FileMkdir | VerbId::FileSetMode)
}

/// Whether the verb can set an owner.
#[must_use]
pub const fn sets_owner(verb: VerbId) -> bool {
    is_write(verb) || matches!(verb, VerbId::FileMkdir | VerbId::FileSetOwner)
}

const fn is_command(verb: VerbId) -> bool {
    matches!(verb, VerbId::CommandRun)
}

const fn is_file(verb: VerbId) -> bool {
    matches!(Kind::of(verb), Some(Kind::Files))
}

const fn is_package(verb: VerbId) -> bool {
    matches!(Kind::of(verb), Some(Kind::Packages))
}

const fn is_unit(verb: VerbId) -> bool {
    matches!(Kind::of(verb), Some(Kind::Units))
}

/// Every key of a rule.
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
    limit("people", |_| true),
    limit("person_rate", is_effect),
    limit("timeout", |_| true),
    limit("hours", |_| true),
    limit("keep_within", VerbId::has_inverse),
    key(Role::Asking, "approval_ttl", |_| true),
    key(Role::Asking, "approvers", |_| true),
    key(Role::Asking, "approvers_exclude_asker", |_| true),
    selector("packages", is_package),
    limit("versions", is_install),
    limit("sources", is_new_version),
    limit("max_new_packages", is_new_version),
    limit("allow_upgrades", is_new_version),
    limit("allow_removals", |verb| is_new_version(verb) || is_removal(verb)),
    limit("allow_downgrades", is_new_version),
    limit("new_packages", is_upgrade),
    limit("recommends", is_new_version),
    selector("units", is_unit),
    limit("journal_lines", |verb| matches!(verb, VerbId::UnitStatus)),
    limit("allow_cascade", |verb| is_unit(verb) && is_effect(verb)),
    selector("directories", is_file),
    selector("depth", is_file),
    selector("files", is_file),
    limit("max_bytes", |verb| is_content(verb) || matches!(verb, VerbId::FileRead | VerbId::FileList)),
    limit("lines", is_write),
    limit("comments", is_write),
    limit("modes", sets_mode),
    limit("owners", sets_owner),
    limit("groups", sets_owner),
    limit("max_files", is_write),
    limit("allow_create", is_write),
    limit("validate", is_content),
    limit("keep_for_undo", is_content),
    limit("as", |verb| matches!(verb, VerbId::FileRead | VerbId::FileWrite)),
    selector("commands", is_command),
    selector("params", is_command),
];

/// Whether a key limits requests of this verb. A key that is in no vocabulary counts as a limit, except `client`.
#[must_use]
pub fn is_limit_of(key: &str, verb: VerbId) -> bool {
    match RULE.iter().find(|known| known.name == key) {
        Some(known) => matches!(known.role, Role::Limit | Role::Asking) && (known.used_by)(verb),
        None => key != "client",
    }
}

/// Keys of a file.
pub const TOP: &[&str] =
    &["version", "client", "source", "rule", "command", "audit", "undo", "approvals", "protect"];
/// Keys of a client.
pub const CLIENT: &[&str] = &["name", "user", "group"];
/// Keys of an example, each with the verbs whose requests hold it.
pub const EXAMPLE: &[(&str, UsedBy)] = &[
    ("verb", |_| true),
    ("packages", is_package),
    ("version", is_install),
    ("unit", is_unit),
    ("path", is_file),
    ("mode", sets_mode),
    ("owner", sets_owner),
    ("group", sets_owner),
    ("bytes", is_write),
    ("content", is_write),
    ("command", is_command),
    ("params", is_command),
];
/// Keys of a command.
pub const COMMAND: &[&str] = &[
    "name",
    "argv",
    "params",
    "reverse",
    "user",
    "sandbox",
    "scratch",
    "capabilities",
    "cwd",
    "env",
    "timeout",
    "output",
    "network",
    "write",
    "sockets",
    "loads",
    "description",
    "effect",
];
/// Kinds of parameters: the word, the kind, and its further keys.
pub const PARAMETER_KINDS: &[(&str, root::ParameterKind, &[&str])] = &[
    ("enum", root::ParameterKind::Enum, &["values", "meanings"]),
    ("int", root::ParameterKind::Int, &["min", "max"]),
    ("size", root::ParameterKind::Size, &["min", "max"]),
    ("name", root::ParameterKind::Name, &[]),
    ("user", root::ParameterKind::User, &[]),
    ("group", root::ParameterKind::Group, &[]),
    ("hostname", root::ParameterKind::Hostname, &[]),
    ("domain", root::ParameterKind::Domain, &[]),
    ("ip", root::ParameterKind::Ip, &["within"]),
    ("cidr", root::ParameterKind::Cidr, &["within"]),
    ("port", root::ParameterKind::Port, &[]),
    ("timezone", root::ParameterKind::Timezone, &[]),
    ("package", root::ParameterKind::Package, &["packages"]),
    ("unit", root::ParameterKind::Unit, &["units"]),
    ("path", root::ParameterKind::Path, &["directories", "files", "check"]),
    ("secret", root::ParameterKind::Secret, &[]),
    ("text", root::ParameterKind::Text, &["pattern"]),
];
/// Keys of a source.
pub const SOURCE: &[&str] = &["name", "entries", "hosts", "signed_by"];
/// Keys of `[audit]`.
pub const AUDIT: &[&str] = &[
    "max_bytes",
    "keep_files",
    "keep_days",
    "max_days",
    "tip_interval",
    "records_per_minute",
    "records_per_hour",
];
/// Keys of `[undo]`.
pub const UNDO: &[&str] = &["max_bytes", "max_count", "max_age"];
/// Keys of `[approvals]`.
pub const APPROVALS: &[&str] = &["max_pending", "max_pending_per_client"];
/// Keys of `[protect]`.
pub const PROTECT: &[&str] = &["packages", "units", "paths"];
