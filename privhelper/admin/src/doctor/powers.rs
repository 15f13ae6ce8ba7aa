//! Privileges that users of clients have on this host outside the policy: sudoers, doas.conf, polkit, groups, sockets,
//! setuid, file capabilities.

use super::capabilities::Power;
use super::polkit::{Found, on_host};
use super::{capabilities, polkit};
use crate::host::Host;
use crate::lint::facts::{Facts, User};
use crate::lint::gather::{self, UnitScope};
use crate::lint::powers;
use crate::policy::accepted;
use postern_doctor::Check;
use postern_proto::root::v1 as root;
use std::fs::Metadata;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

const POWERS: &str = "powers";
/// Users of Postern's own that run what a model says; a policy need not name them.
const OWN: [&str; 2] = ["postern", "postern-tool"];
/// Where root looks for programs.
const PROGRAMS: [&str; 6] = ["usr/local/sbin", "usr/local/bin", "usr/sbin", "usr/bin", "sbin", "bin"];
const SETUID: u32 = 0o6000;

pub(super) fn checks(host: &Host) -> Vec<Check> {
    let Some(probes) = &host.probes else {
        return vec![Check::unknown(POWERS, "nothing is known of this host's users")];
    };
    let accepted = accepted::read(&host.accepted_dir()).ok().flatten();
    let mut rules = accepted.map(|accepted| accepted.rules).unwrap_or_default();
    for name in OWN {
        let is_named = rules.clients.iter().any(|client| client.user == name);
        if !is_named && (host.accounts.user)(name).is_some() {
            let client =
                root::Client { name: name.to_owned(), user: name.to_owned(), ..root::Client::default() };
            rules.clients.push(client);
        }
    }
    of(&gather::live(&rules, UnitScope::Loaded, probes), &host.root)
}

/// A line for each power of a user of these facts; files are looked at below `root`.
#[must_use]
pub fn of(facts: &Facts, root: &Path) -> Vec<Check> {
    let mut users = facts.users.iter().collect::<Vec<_>>();
    users.sort_by(|one, other| one.name.cmp(&other.name));
    users.dedup_by(|one, other| one.name == other.name);
    let mut checks = users.iter().flat_map(|user| user_checks(user, facts, root)).collect::<Vec<_>>();
    if facts.sudoers.is_none() {
        checks.push(Check::unknown(POWERS, "only root can read sudoers"));
    }
    let names = users.iter().map(|user| user.name.as_str()).collect::<Vec<_>>().join(", ");
    match (users.is_empty(), checks.is_empty()) {
        (true, _) => checks.push(Check::unknown(POWERS, "no client's user exists on this host")),
        (false, true) => checks.push(Check::ok(
            POWERS,
            format!("{names}: none found in sudoers, doas.conf, polkit, groups, control sockets, setuid programs, file capabilities"),
        )),
        (false, false) => {}
    }
    checks
}

fn user_checks(user: &User, facts: &Facts, root: &Path) -> Vec<Check> {
    let name = &user.name;
    let of_lint = powers(user, facts).into_iter().map(|finding| {
        let group = finding.message.split(" is in group ").nth(1).and_then(|rest| rest.split(',').next());
        let mend = match (finding.id, group) {
            (_, Some(group)) => format!("gpasswd --delete {name} {group}"),
            ("agent-in-sudoers", None) => "visudo   # take the user or the group out".to_owned(),
            ("agent-reaches-control-socket", None) => {
                "chmod o-rwx SOCKET, or take the user out of its group".to_owned()
            }
            (_, None) => {
                "apt-get install --reinstall postern   # or chown root: and chmod go-w what is named"
                    .to_owned()
            }
        };
        Check::wrong(POWERS, finding.message, mend)
    });
    let doas = doas(user, root).map(|line| {
        Check::wrong(POWERS, format!("{name} is named in /etc/doas.conf: {line}"), "edit /etc/doas.conf")
    });
    let programs = writable(user, root).into_iter().map(|(path, what)| {
        let path = on_host(root, &path);
        let why = format!("{name} can write {}, {what}", path.display());
        Check::wrong(POWERS, why, format!("chown root: {0} && chmod go-w {0}", path.display()))
    });
    let powerful = powerful(user, root).into_iter().map(|(path, power)| {
        let path = on_host(root, &path);
        let mend = match (power.is_by_capability, power.is_by_group) {
            (true, false) => format!("setcap -r {}", path.display()),
            (true, true) => format!("setcap -r {}, or take {name} out of its group", path.display()),
            (false, _) => format!("chmod u-s {}, or take {name} out of its group", path.display()),
        };
        Check::wrong(POWERS, format!("{}: {name} {}", path.display(), power.words), mend)
    });
    let polkit = polkit::named(user, root).into_iter().map(|found| match found {
        Found::Named(path, line) => {
            let path = path.display();
            Check::wrong(POWERS, format!("{name} is named in {path}: {line}"), format!("edit {path}"))
        }
        Found::Everybody(path, line) => {
            let path = path.display();
            let why = format!("{path} permits every user, so {name} too: {line}");
            Check::wrong(POWERS, why, format!("edit {path}"))
        }
        Found::Unread(path, error) => Check::unknown(
            POWERS,
            format!("{}, rules of polkit, which may name {name}: {error}", path.display()),
        ),
    });
    of_lint.chain(doas).chain(polkit).chain(programs).chain(powerful).collect()
}

/// The first line of doas.conf(5) that permits something to the user or to one of its groups.
fn doas(user: &User, root: &Path) -> Option<String> {
    let text = std::fs::read_to_string(root.join("etc/doas.conf")).ok()?;
    let is_named = |line: &&str| {
        let is_own = |word: &str| match word.strip_prefix(':') {
            Some(group) => user.groups.iter().any(|own| own.name == group),
            None => word == user.name,
        };
        doas_identity(line).is_some_and(is_own)
    };
    text.lines().find(is_named).map(|line| line.trim().to_owned())
}

/// Returns the identity that a `permit` line of doas.conf(5) names: the first word after its options.
fn doas_identity(line: &str) -> Option<&str> {
    let mut words = line.split_whitespace();
    words.next().filter(|word| *word == "permit")?;
    let mut is_in_setenv = false;
    words.find(|word| {
        let is_option =
            is_in_setenv || matches!(*word, "nopass" | "nolog" | "persist" | "keepenv" | "setenv");
        is_in_setenv = (is_in_setenv || *word == "setenv") && !word.ends_with('}');
        !is_option
    })
}

/// Directories of root's programs, and setuid or setgid programs in them, that the user may write.
fn writable(user: &User, root: &Path) -> Vec<(PathBuf, &'static str)> {
    let mut found = Vec::new();
    for directory in PROGRAMS.map(|name| root.join(name)) {
        // /bin is a link to /usr/bin, which is looked at by its own name.
        if directory.is_symlink() {
            continue;
        }
        if writes(user, &directory) {
            found.push((directory.clone(), "from which root runs programs"));
        }
        for entry in std::fs::read_dir(&directory).into_iter().flatten().flatten() {
            let path = entry.path();
            let is_setuid =
                path.symlink_metadata().is_ok_and(|facts| facts.is_file() && facts.mode() & SETUID != 0);
            if is_setuid && writes(user, &path) {
                found.push((path, "which runs as its owner or group"));
            }
        }
    }
    found
}

/// Programs of root's directories whose own powers the user can have.
fn powerful(user: &User, root: &Path) -> Vec<(PathBuf, Power)> {
    let directories = PROGRAMS.map(|name| root.join(name)).into_iter().filter(|path| !path.is_symlink());
    let entries = directories.flat_map(|path| std::fs::read_dir(path).into_iter().flatten().flatten());
    let mut found = Vec::new();
    for path in entries.map(|entry| entry.path()) {
        let facts = path.symlink_metadata().ok().filter(Metadata::is_file);
        let power = facts.and_then(|facts| capabilities::power(user, &path, &facts));
        found.extend(power.map(|power| (path, power)));
    }
    found.sort_by(|(one, _), (other, _)| one.cmp(other));
    found
}

fn writes(user: &User, path: &Path) -> bool {
    let Ok(facts) = path.symlink_metadata() else { return false };
    let is_member = user.groups.iter().any(|group| group.gid == facts.gid());
    let bits = if is_member { 0o020 } else { 0o002 };
    facts.uid() == user.uid || facts.mode() & bits != 0
}
