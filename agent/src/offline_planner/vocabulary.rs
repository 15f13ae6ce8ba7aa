//! The words that the offline planner knows.

use crate::protocol::tool::Action;

/// Verb of an order.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Verb {
    Ensure,
    Ask,
    /// Several of them may share what they are about.
    Change(Change),
    Update,
    Upgrade,
    Autoremove,
    Repair,
    UnitsReload,
    ItsStatus,
    Write,
    Create,
    Read,
    Show,
    List,
    MakeDirectory,
    SetMode,
    SetOwner,
    ApplyPatch,
    Undo,
    UndoLast,
    /// An order, but not one that can be carried out: it must not pass for the name of something.
    Unknown,
}

/// Change of the names in a list.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Change {
    Install,
    Remove,
    Purge,
    Hold,
    Unhold,
    Unit(Action),
}

/// How orders begin. Longer phrases stand before those that they begin with.
pub const VERBS: &[(&[&str], Verb)] = &[
    (&["make", "sure", "that"], Verb::Ensure),
    (&["make", "sure"], Verb::Ensure),
    (&["ensure", "that"], Verb::Ensure),
    (&["ensure"], Verb::Ensure),
    (&["check", "whether"], Verb::Ask),
    (&["check", "if"], Verb::Ask),
    (&["check", "that"], Verb::Ask),
    (&["see", "whether"], Verb::Ask),
    (&["see", "if"], Verb::Ask),
    (&["is"], Verb::Ask),
    (&["are"], Verb::Ask),
    (&["show", "its", "status"], Verb::ItsStatus),
    (&["check", "its", "status"], Verb::ItsStatus),
    (&["show", "the", "status", "of"], Verb::Change(Change::Unit(Action::Status))),
    (&["show", "status", "of"], Verb::Change(Change::Unit(Action::Status))),
    (&["check", "the", "status", "of"], Verb::Change(Change::Unit(Action::Status))),
    (&["check", "status", "of"], Verb::Change(Change::Unit(Action::Status))),
    (&["the", "status", "of"], Verb::Change(Change::Unit(Action::Status))),
    (&["status", "of"], Verb::Change(Change::Unit(Action::Status))),
    (&["status"], Verb::Change(Change::Unit(Action::Status))),
    (&["install"], Verb::Change(Change::Install)),
    (&["uninstall"], Verb::Change(Change::Remove)),
    (&["remove", "unused", "packages"], Verb::Autoremove),
    (&["remove", "the", "unused", "packages"], Verb::Autoremove),
    (&["autoremove"], Verb::Autoremove),
    (&["remove"], Verb::Change(Change::Remove)),
    (&["delete"], Verb::Change(Change::Remove)),
    (&["purge"], Verb::Change(Change::Purge)),
    (&["update"], Verb::Update),
    (&["refresh"], Verb::Update),
    (&["upgrade"], Verb::Upgrade),
    (&["hold"], Verb::Change(Change::Hold)),
    (&["unhold"], Verb::Change(Change::Unhold)),
    (&["repair", "the", "packages"], Verb::Repair),
    (&["repair", "packages"], Verb::Repair),
    (&["repair", "dpkg"], Verb::Repair),
    (&["start"], Verb::Change(Change::Unit(Action::Start))),
    (&["stop"], Verb::Change(Change::Unit(Action::Stop))),
    (&["restart"], Verb::Change(Change::Unit(Action::Restart))),
    (&["daemon-reload"], Verb::UnitsReload),
    (&["reload", "systemd"], Verb::UnitsReload),
    (&["reload"], Verb::Change(Change::Unit(Action::Reload))),
    (&["try-restart"], Verb::Change(Change::Unit(Action::TryRestart))),
    (&["reset-failed"], Verb::Change(Change::Unit(Action::ResetFailed))),
    (&["mask"], Verb::Change(Change::Unit(Action::Mask))),
    (&["unmask"], Verb::Change(Change::Unit(Action::Unmask))),
    (&["enable"], Verb::Change(Change::Unit(Action::Enable))),
    (&["disable"], Verb::Change(Change::Unit(Action::Disable))),
    (&["write"], Verb::Write),
    (&["put"], Verb::Write),
    (&["save"], Verb::Write),
    (&["create", "the", "directory"], Verb::MakeDirectory),
    (&["create", "a", "directory"], Verb::MakeDirectory),
    (&["create", "directory"], Verb::MakeDirectory),
    (&["make", "the", "directory"], Verb::MakeDirectory),
    (&["make", "a", "directory"], Verb::MakeDirectory),
    (&["make", "directory"], Verb::MakeDirectory),
    (&["mkdir"], Verb::MakeDirectory),
    (&["create"], Verb::Create),
    (&["read"], Verb::Read),
    (&["cat"], Verb::Read),
    (&["print"], Verb::Read),
    (&["display"], Verb::Read),
    (&["show"], Verb::Show),
    (&["list", "the", "files", "in"], Verb::List),
    (&["list", "files", "in"], Verb::List),
    (&["list", "the", "directory"], Verb::List),
    (&["list", "directory"], Verb::List),
    (&["list"], Verb::List),
    (&["set", "the", "mode", "of"], Verb::SetMode),
    (&["set", "mode", "of"], Verb::SetMode),
    (&["set", "the", "owner", "of"], Verb::SetOwner),
    (&["set", "owner", "of"], Verb::SetOwner),
    (&["apply", "the", "patch"], Verb::ApplyPatch),
    (&["apply", "this", "patch"], Verb::ApplyPatch),
    (&["apply", "patch"], Verb::ApplyPatch),
    (&["undo", "the", "last", "change"], Verb::UndoLast),
    (&["undo", "my", "last", "change"], Verb::UndoLast),
    (&["undo", "last"], Verb::UndoLast),
    (&["undo"], Verb::Undo),
];

/// Orders that are none of ours. "install nginx and reboot" must not install a package "reboot".
pub const FOREIGN: &[&str] = &[
    "add",
    "append",
    "apply",
    "backup",
    "change",
    "check",
    "clean",
    "configure",
    "copy",
    "do",
    "don't",
    "download",
    "edit",
    "execute",
    "fetch",
    "fix",
    "halt",
    "kill",
    "leave",
    "make",
    "move",
    "never",
    "not",
    "open",
    "poweroff",
    "reboot",
    "rename",
    "replace",
    "reset",
    "run",
    "set",
    "setup",
    "shutdown",
    "test",
    "try",
    "use",
    "verify",
    "wait",
    "without",
];

/// Phrases allowed before an order.
pub const LEADING: &[&[&str]] = &[
    &["please"],
    &["kindly"],
    &["now"],
    &["first"],
    &["after", "that"],
    &["could", "you"],
    &["can", "you"],
    &["would", "you"],
    &["will", "you"],
];

/// Phrases allowed after an order.
pub const TRAILING: &[&[&str]] =
    &[&["please"], &["now"], &["again"], &["too"], &["as", "well"], &["for", "me"]];

/// Phrases allowed after "enable".
pub const AT_BOOT: &[&[&str]] = &[&["at", "boot"], &["on", "boot"], &["at", "startup"], &["on", "startup"]];

/// Nouns allowed after a name.
pub const KINDS: &[&str] =
    &["package", "packages", "service", "services", "unit", "units", "daemon", "file", "files"];

/// Words allowed before a name.
pub const NOUNS: &[&str] = &[
    "the", "a", "an", "both", "package", "packages", "service", "services", "unit", "units", "daemon",
    "file", "files",
];

/// Words allowed before a text.
pub const TEXT_NOUNS: &[&str] = &["the", "a", "text", "content", "contents", "line", "word", "words"];

/// Phrases after "update" that mean the package lists.
pub const LISTS: &[&[&str]] = &[
    &["the", "package", "lists"],
    &["the", "package", "list"],
    &["the", "package", "index"],
    &["package", "lists"],
    &["package", "list"],
    &["package", "index"],
    &["the", "lists"],
    &["apt"],
];

/// Phrases after "upgrade" that mean all packages.
pub const EVERYTHING: &[&[&str]] =
    &[&["all", "the", "packages"], &["all", "packages"], &["all"], &["everything"], &["the", "system"]];

/// The states that can be asked for or about.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum State {
    Running,
    Stopped,
    Installed,
    Removed,
    Enabled,
    Disabled,
    Masked,
    Unmasked,
}

/// The words for states. "not" in front turns them round.
pub const STATES: &[(&str, State)] = &[
    ("running", State::Running),
    ("started", State::Running),
    ("active", State::Running),
    ("up", State::Running),
    ("stopped", State::Stopped),
    ("inactive", State::Stopped),
    ("installed", State::Installed),
    ("removed", State::Removed),
    ("uninstalled", State::Removed),
    ("enabled", State::Enabled),
    ("disabled", State::Disabled),
    ("masked", State::Masked),
    ("unmasked", State::Unmasked),
];

impl State {
    /// The opposite.
    pub fn not(self) -> Self {
        match self {
            Self::Running => Self::Stopped,
            Self::Stopped => Self::Running,
            Self::Installed => Self::Removed,
            Self::Removed => Self::Installed,
            Self::Enabled => Self::Disabled,
            Self::Disabled => Self::Enabled,
            Self::Masked => Self::Unmasked,
            Self::Unmasked => Self::Masked,
        }
    }
}

/// Words with which unquoted text would speak of something else: "write it to /x", "save a copy to /x".
pub const REFERRING: &[&str] = &[
    "the",
    "a",
    "an",
    "it",
    "them",
    "they",
    "this",
    "that",
    "these",
    "those",
    "its",
    "their",
    "my",
    "your",
    "some",
    "another",
    "nothing",
    "everything",
    "all",
    "text",
    "content",
    "contents",
    "line",
    "word",
    "words",
];

/// Words that are never names, unless quoted.
pub const NO_NAMES: &[&str] =
    &["its", "their", "now", "again", "too", "all", "everything", "nothing", "please", "later"];
