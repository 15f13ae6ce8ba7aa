//! Every finding that there is, by its id.

use super::table;
use crate::finding::Class::{self, Code, Combined, Defence, Trust};

/// A kind of finding.
#[derive(Debug, Clone, Copy)]
pub struct Kind {
    /// The id: stable.
    pub id: &'static str,
    /// How bad; none for findings about the text itself.
    pub class: Option<Class>,
    /// Why it is reported.
    pub help: &'static str,
    /// Whether it needs facts about a host.
    pub is_of_host: bool,
    /// Whether it is a rule's, which can accept it.
    pub is_of_rule: bool,
}

const fn rule(id: &'static str, class: Class, help: &'static str) -> Kind {
    Kind { id, class: Some(class), help, is_of_host: false, is_of_rule: true }
}

const fn host(id: &'static str, class: Class, help: &'static str) -> Kind {
    Kind { id, class: Some(class), help, is_of_host: true, is_of_rule: true }
}

const fn client(id: &'static str, class: Class, help: &'static str) -> Kind {
    Kind { id, class: Some(class), help, is_of_host: true, is_of_rule: false }
}

const fn text(id: &'static str, help: &'static str) -> Kind {
    Kind { id, class: None, help, is_of_host: false, is_of_rule: false }
}

/// Findings that are not rows of a table.
const OWN: &[Kind] = &[
    rule("write-outside-harmless", Combined, "programs of the host look there for what they are to do"),
    rule(
        "directory-with-protected-names",
        Combined,
        "postern-files can write all of the directory: only its own checks protect the names in it",
    ),
    rule("executable-mode", Combined, "files that the agent writes can be run from there"),
    rule("writable-by-others", Combined, "others than root can change what the rule writes"),
    rule(
        "gives-files-away",
        Combined,
        "another user owns what the rule writes, and changes it without any rule",
    ),
    rule("read-and-publish", Combined, "secrets can be copied to a directory that everybody can read"),
    rule("unbounded-instance", Combined, "the instance of a unit template is text of the agent's choice"),
    rule("allow-cascade", Combined, "unit files decide which other units are started and stopped"),
    rule("any-source", Combined, "maintainer scripts run as root, and any source may bring them"),
    rule("wildcard-packages", Combined, "another source can offer a package of such a name"),
    rule("reboot-at-any-time", Defence, "the agent ends every service and everybody's work on the host"),
    rule("removals", Defence, "dependencies decide which packages are removed"),
    rule("downgrades", Combined, "older versions have holes that were closed since"),
    rule("command-as-root", Code, "a command that the agent may run runs as root"),
    rule("validator-as-root", Combined, "root parses what the agent wrote"),
    rule("command-without-sandbox", Code, "a command runs without a sandbox"),
    rule("command-capabilities", Code, "a command has a capability that is as good as root"),
    rule(
        "program-runs-programs",
        Code,
        "a program that runs others or writes files takes free text from the agent",
    ),
    rule(
        "program-takes-names",
        Combined,
        "a program that runs others or writes files takes names from the agent",
    ),
    rule("free-text-argument", Combined, "a command takes free text from the agent"),
    rule("path-argument", Combined, "a command takes paths outside the harmless directories from the agent"),
    rule(
        "command-socket",
        Combined,
        "a command connects to a daemon of root that runs or writes what it is told",
    ),
    rule("command-environment", Code, "a variable decides which code a command loads"),
    rule("writable-program", Code, "the agent or others can write files that a command runs or reads"),
    rule("command-writes", Combined, "a command may write where it matters to the whole host"),
    host(
        "composition",
        Code,
        "a rule writes what root runs or reads, and a rule or a timer makes root do it",
    ),
    host(
        "hook-composition",
        Code,
        "a rule writes what a hook of apt or dpkg runs as root, and a rule makes apt run",
    ),
    host("linked-place", Code, "on this host a place of the table is a link to where a rule writes"),
    host("linked-directory", Combined, "on this host the directory, or one above it, is a link"),
    host(
        "parent-writable",
        Combined,
        "on this host others than root can write a directory above what a rule writes",
    ),
    client("agent-in-powerful-group", Trust, "the agent's user is as good as root without this policy"),
    client("agent-in-operators", Trust, "the agent's user belongs to operators or auditors"),
    client("agent-in-sudoers", Trust, "sudoers names the agent's user"),
    client(
        "agent-reaches-control-socket",
        Code,
        "the agent's user can reach a socket that is as good as root",
    ),
    client(
        "agent-can-write-postern",
        Code,
        "the agent's user can write the policy, the audit log or Postern's programs",
    ),
    text("accepts-everything", "the rule accepts every finding, including future ones"),
    text("accepts-nothing", "the rule accepts a finding that it does not have"),
    text("many-directories", "each directory in which files may be changed makes postern-files start later"),
    text("never-works", "requests that the rule grants fail on this host: not a risk, but of no use"),
    text("lines-wildcard", "a `*` in `lines` takes any printable characters, `;` and paths too"),
    text(
        "unit-alias",
        "on this host the name is an alias of another unit, and the grant needs the unit's own name",
    ),
    text("policy-syntax", "the file is not valid TOML"),
    text("policy-error", "the policy has an error"),
    text("policy-warning", "the policy has a likely mistake"),
    text("policy-note", "good to know"),
    text(
        "unknown-key",
        "unknown keys are refused, so that an old program does not ignore what a newer one wrote",
    ),
];

/// All kinds, each once.
pub fn kinds() -> impl Iterator<Item = Kind> {
    let rows = table::writes().chain(table::SECRETS).map(|row| rule(row.id, row.class, row.how));
    let names = table::UNITS.iter().chain(table::PACKAGES).map(|row| rule(row.id, row.class, row.how));
    OWN.iter().copied().chain(rows).chain(names)
}

/// The kind of this id.
#[must_use]
pub fn kind(id: &str) -> Option<Kind> {
    kinds().find(|kind| kind.id == id)
}
