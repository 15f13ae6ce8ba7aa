//! The identity of a client: user and group names from the local account files.
//!
//! Callers read /etc/passwd and /etc/group at each decision, so that a changed membership holds at once. No NSS.

/// A client at one decision: uid, names of its users and groups, time.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Identity {
    /// The uid from `SO_PEERCRED`.
    pub uid: u32,
    /// Every user name of this uid. Empty: no local account.
    pub users: Vec<String>,
    /// The primary groups of these users and every group that lists one of them.
    pub groups: Vec<String>,
    /// The time of the decision, in seconds since 1970. 0 is in no rule's `hours`.
    pub unix_s: u64,
    /// The person whose session the request quoted: see [`crate::Policy::asked_by`].
    pub asker: Option<Box<Identity>>,
    /// Whether the asker's session has ended since: then no rule with `people` is for them.
    pub has_asker_left: bool,
}

impl Identity {
    /// Reads the text of passwd(5) and group(5). A line of another form names nobody.
    pub fn parse(uid: u32, passwd: &str, group: &str) -> Self {
        let mut users = Vec::new();
        let mut primary = Vec::new();
        for [name, _, user, gid, _, _, _] in lines(passwd) {
            if is_name(name)
                && number(user) == Some(uid)
                && let Some(gid) = number(gid)
            {
                users.push(name.to_owned());
                primary.push(gid);
            }
        }
        let mut groups = Vec::new();
        for [name, _, gid, members] in lines(group) {
            let is_member = || members.split(',').any(|member| users.iter().any(|user| user == member));
            let is_own = |gid: u32| primary.contains(&gid) || is_member();
            if is_name(name) && number(gid).is_some_and(is_own) {
                groups.push(name.to_owned());
            }
        }
        Self { uid, users, groups, ..Self::default() }
    }
}

/// Groups of which a member is root by one more step, or reads what root keeps secret.
#[rustfmt::skip]
pub const STRONG_GROUPS: [&str; 26] = [
    "root", "sudo", "wheel", "admin", "adm", "disk", "shadow", "kmem", "mem", "tty", "utmp", "staff", "docker", "lxd",
    "lxc", "incus", "incus-admin", "libvirt", "kvm", "podman", "systemd-journal", "netdev", "input", "tape", "crontab",
    "sgx",
];
/// Users of the system that are not for an application's files, besides `systemd-*` and `postern*`.
#[rustfmt::skip]
const SYSTEM_USERS: [&str; 14] = [
    "root", "daemon", "bin", "sys", "sync", "man", "backup", "nobody", "messagebus", "polkitd", "_apt", "sshd",
    "_chrony", "uuidd",
];

impl Identity {
    /// Why no file may be reached as this user (`as` of a rule): its power is not that over its own files alone.
    pub fn too_strong(&self) -> Option<String> {
        let is_system = |name: &&String| {
            SYSTEM_USERS.contains(&name.as_str())
                || ["systemd-", "postern"].iter().any(|start| name.starts_with(start))
        };
        let is_strong =
            |name: &&String| STRONG_GROUPS.contains(&name.as_str()) || name.starts_with("postern");
        if self.uid == 0 || self.users.is_empty() {
            return Some("it is root, or no user of this host".to_owned());
        }
        let user = self.users.iter().find(is_system).map(|name| format!("{name} is a user of the system"));
        user.or_else(|| self.groups.iter().find(is_strong).map(|name| format!("it is in group {name}")))
    }
}

/// The fields of each line that has so many.
fn lines<const N: usize>(text: &str) -> impl Iterator<Item = [&str; N]> {
    text.lines().filter_map(|line| line.split(':').collect::<Vec<_>>().try_into().ok())
}

/// Not empty, and none of the `+` and `-` entries of NIS (nsswitch.conf(5)) or a comment.
fn is_name(text: &str) -> bool {
    !text.is_empty() && !text.starts_with(['+', '-', '#']) && !text.contains(char::is_whitespace)
}

/// Digits alone: `u32::from_str` takes a sign.
fn number(text: &str) -> Option<u32> {
    text.bytes().all(|b| b.is_ascii_digit()).then(|| text.parse().ok()).flatten()
}
