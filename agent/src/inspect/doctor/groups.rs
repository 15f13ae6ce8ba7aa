//! The groups of this session beside those of the user database: a session keeps those that it began with.

use super::Check;
use crate::inspect::membership::groups;
use nix::unistd::{Gid, Group, User, getegid, geteuid, getgroups};

const NAME: &str = "groups";
/// Group that may give tasks.
const USERS: &str = "postern-users";
/// Those with which a person may do more.
const OTHERS: [&str; 2] = ["postern-operators", "postern-auditors"];

/// Where somebody stands with a group.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Membership {
    /// The group exists.
    pub exists: bool,
    /// This session has it.
    pub in_session: bool,
    /// The user database says so.
    pub in_database: bool,
}

/// Looks at this session.
#[must_use]
pub fn check() -> Check {
    let uid = geteuid();
    if uid.is_root() {
        return Check::ok(NAME, "root needs none");
    }
    let Some(user) = User::from_uid(uid).ok().flatten() else {
        return Check::unknown(NAME, format!("the user database does not know uid {uid}"));
    };
    let (listed, mut session) = (groups(&user).unwrap_or_default(), getgroups().unwrap_or_default());
    session.push(getegid());
    let of = |name: &str| {
        let gid: Option<Gid> = Group::from_name(name).ok().flatten().map(|group| group.gid);
        Membership {
            exists: gid.is_some(),
            in_session: gid.is_some_and(|gid| session.contains(&gid)),
            in_database: gid.is_some_and(|gid| listed.contains(&gid)),
        }
    };
    verdict(&user.name, of(USERS), OTHERS.map(|name| (name, of(name))))
}

/// Judges a user's memberships.
#[must_use]
pub fn verdict(
    user: &str,
    users: Membership,
    others: impl IntoIterator<Item = (&'static str, Membership)>,
) -> Check {
    if !users.exists {
        let mend = "apt-get install --reinstall postern";
        return Check::wrong(NAME, format!("there is no group {USERS}: is Postern installed?"), mend);
    }
    if !users.in_database && !users.in_session {
        let detail = format!("{user} is not in the group {USERS}, which may give tasks");
        return Check::wrong(NAME, detail, format!("adduser {user} {USERS}   # as root, then log in again"));
    }
    let mut all = vec![(USERS, users)];
    all.extend(others);
    let late: Vec<&str> =
        all.iter().filter(|(_, m)| m.in_database && !m.in_session).map(|(name, _)| *name).collect();
    if late.is_empty() {
        let has: Vec<&str> = all.iter().filter(|(_, m)| m.in_session).map(|(name, _)| *name).collect();
        return Check::ok(NAME, format!("this session has {}", has.join(", ")));
    }
    let names = late.join(", ");
    let detail = format!("{user} is in {names}, but this session began before that");
    Check::wrong(NAME, detail, "log in again, or for one shell: newgrp ".to_owned() + late[0])
}
