//! Whether a person may give tasks now: the user database's word, for work that nobody's connection stands behind.

use nix::unistd::{Gid, Group, Uid, User, getgrouplist};
use std::ffi::CString;

/// A user of the host.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Member {
    /// The user's name.
    pub name: String,
    /// Whether the user is in the group that was asked for.
    pub is_in_group: bool,
}

/// Finds the user of a uid and whether that user is in a group; `None` if there is no such user.
///
/// # Errors
/// The user database cannot be read.
pub fn member(uid: u32, group: &str) -> Result<Option<Member>, String> {
    let cannot = |error: nix::Error| format!("the user database cannot be read: {error}");
    let Some(user) = User::from_uid(Uid::from_raw(uid)).map_err(cannot)? else { return Ok(None) };
    let group = Group::from_name(group).map_err(cannot)?;
    let is_in_group = match group {
        Some(group) => groups(&user).map_err(cannot)?.contains(&group.gid),
        None => false,
    };
    Ok(Some(Member { name: user.name, is_in_group }))
}

/// Returns the groups of a user, as the user database has them.
pub(super) fn groups(user: &User) -> nix::Result<Vec<Gid>> {
    let name = CString::new(user.name.as_str()).map_err(|_| nix::Error::EINVAL)?;
    getgrouplist(&name, user.gid)
}

/// Checks whether work that was ordered by `uid`, then named `name`, may be done now for this member of `group`.
///
/// # Errors
/// Why not.
pub fn may_give_tasks(uid: u32, name: &str, group: &str, member: Option<&Member>) -> Result<(), String> {
    let Some(member) = member else { return Err(format!("the user {name} (uid {uid}) is gone")) };
    if member.name != name {
        return Err(format!("uid {uid} was {name} and is {} now", member.name));
    }
    // Root may open the agent's socket without the group.
    if uid != 0 && !member.is_in_group {
        return Err(format!("{name} is no longer in the group {group}"));
    }
    Ok(())
}
