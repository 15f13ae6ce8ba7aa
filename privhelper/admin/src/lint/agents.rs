//! Findings about clients' users: their powers on this host without any rule.

use super::clients::{AUDITORS, OPERATORS, POWERFUL};
use super::facts::{Facts, Inode, User};
use super::grant::{LintFinding, shorten};
use super::input::Input;
use super::reach::is_below;
use crate::finding::{Class, Location, Severity};

/// Paths that only root may change, with their parents.
pub(super) const POSTERN: [&str; 18] = [
    "/etc/postern",
    "/etc/postern/policy.toml",
    "/etc/postern/policy.d",
    "/var/lib/postern-policy",
    "/var/lib/postern-admin",
    "/var/lib/postern-broker",
    "/var/lib/postern-audit",
    "/var/lib/postern-files",
    "/var/lib/postern-root",
    "/var/log/postern",
    "/var/log/postern/audit.jsonl",
    "/run/postern",
    "/run/postern-audit",
    "/run/postern-jobs",
    "/usr/bin/postern-admin",
    "/usr/libexec/postern",
    "/usr/lib/systemd/system/postern-audit.service",
    "/etc/systemd/system",
];
/// Where people approve.
pub(super) const OPERATOR_SOCKET: &str = "/run/postern/operator.sock";

pub(super) fn check(input: &Input<'_>, facts: &Facts, found: &mut Vec<LintFinding>) {
    for user in &facts.users {
        let index = input.rules.clients.iter().position(|client| client.name == user.client);
        let Some(index) = index else {
            continue;
        };
        let location = input.clients.get(index).copied().unwrap_or_default();
        Agent { user, location }.check(facts, found);
    }
}

/// Returns a finding for each root-equivalent power that a user has on this host without any rule.
#[must_use]
pub fn powers(user: &User, facts: &Facts) -> Vec<LintFinding> {
    let mut found = Vec::new();
    Agent { user, location: Location::default() }.check(facts, &mut found);
    found
}

struct Agent<'a> {
    user: &'a User,
    location: Location,
}

impl Agent<'_> {
    fn check(&self, facts: &Facts, found: &mut Vec<LintFinding>) {
        self.groups(found);
        self.sudoers(facts, found);
        self.inodes(facts, found);
    }

    fn add(&self, id: &'static str, class: Class, why: &str, found: &mut Vec<LintFinding>) {
        let User { client, name, .. } = self.user;
        found.push(LintFinding {
            id,
            class: Some(class),
            severity: Severity::Warning,
            location: self.location,
            message: format!("{client} {}: its user {name} {why}", class.outcome()),
            rules: Vec::new(),
            accepted: None,
        });
    }

    fn is_in(&self, group: &str) -> bool {
        self.user.groups.iter().any(|own| own.name == group)
    }

    fn groups(&self, found: &mut Vec<LintFinding>) {
        for (group, why) in POWERFUL.iter().filter(|(group, _)| self.is_in(group)) {
            let why = format!("is in group {group}, so it {why} without asking");
            self.add("agent-in-powerful-group", Class::Trust, &why, found);
        }
        for group in [OPERATORS, AUDITORS].into_iter().filter(|group| self.is_in(group)) {
            let why =
                format!("is in group {group}, whose members approve or audit requests: remove it from there");
            self.add("agent-in-operators", Class::Trust, &why, found);
        }
    }

    fn sudoers(&self, facts: &Facts, found: &mut Vec<LintFinding>) {
        let is_named = |who: &&String| {
            who.as_str() == "ALL"
                || **who == self.user.name
                || who.strip_prefix('#').is_some_and(|uid| uid == self.user.uid.to_string())
                || who.strip_prefix('%').is_some_and(|group| self.is_in(group))
        };
        if let Some(who) = facts.sudoers.iter().flatten().find(is_named) {
            let why = format!("is named in sudoers as {who}: with Postern it needs no sudo");
            self.add("agent-in-sudoers", Class::Trust, &why, found);
        }
    }

    /// Whether it may write to a file or directory, or connect to a socket.
    fn writes(&self, inode: &Inode) -> bool {
        let bits = inode.bits();
        if inode.uid == self.user.uid {
            // An owner may give itself what it lacks.
            return true;
        }
        let is_member = self.user.groups.iter().any(|group| group.gid == inode.gid);
        if is_member { bits & 0o020 != 0 } else { bits & 0o002 != 0 }
    }

    fn inodes(&self, facts: &Facts, found: &mut Vec<LintFinding>) {
        let (mut files, mut sockets) = (Vec::new(), Vec::new());
        for inode in facts.inodes.iter().filter(|inode| inode.kind != "symlink" && self.writes(inode)) {
            let path = &inode.path;
            if path == OPERATOR_SOCKET {
                let why = format!("can connect to {path}, where people approve");
                self.add("agent-in-operators", Class::Trust, &why, found);
            } else if inode.kind == "socket" {
                sockets.push(path.clone());
            } else if POSTERN.iter().any(|own| own == path || path == "/" || is_below(own, &[path])) {
                files.push(format!("{path} (uid {}, gid {}, mode {})", inode.uid, inode.gid, inode.mode));
            }
        }
        if !sockets.is_empty() {
            let why = format!("can connect to {}, which is as good as root", shorten(&sockets));
            self.add("agent-reaches-control-socket", Class::Code, &why, found);
        }
        if !files.is_empty() {
            let why = format!("can write {}: Postern's policy, record or programs", shorten(&files));
            self.add("agent-can-write-postern", Class::Code, &why, found);
        }
    }
}
