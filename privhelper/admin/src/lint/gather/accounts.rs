//! The users of clients, their groups, and the names in sudoers.

use crate::lint::facts::{Group, User};
use nix::unistd;
use postern_proto::root::v1 as root;
use std::collections::BTreeSet;
use std::ffi::CString;
use std::fs;

/// Every user that a client is on this host.
pub fn users(rules: &root::Rules, notes: &mut Vec<String>) -> Vec<User> {
    let mut users = Vec::new();
    for client in &rules.clients {
        let names = if client.group.is_empty() { vec![client.user.clone()] } else { members(&client.group) };
        for name in names {
            match user(&client.name, &name) {
                Some(user) => users.push(user),
                None => notes.push(format!("client {}: there is no user {name:?} on this host", client.name)),
            }
        }
    }
    users
}

/// Users of commands that this host does not have. Where accounts cannot be asked for, none is known to be missing.
pub fn unknown(rules: &root::Rules) -> Vec<String> {
    let users = rules.commands.iter().map(|command| &command.user).filter(|user| !user.is_empty());
    let unknown = users.filter(|user| matches!(unistd::User::from_name(user), Ok(None)));
    unknown.cloned().collect::<BTreeSet<_>>().into_iter().collect()
}

fn user(client: &str, name: &str) -> Option<User> {
    let account = unistd::User::from_name(name).ok()??;
    let gids = unistd::getgrouplist(&CString::new(name).ok()?, account.gid).ok()?;
    let group = |gid: unistd::Gid| {
        let name = unistd::Group::from_gid(gid).ok().flatten().map_or_else(String::new, |group| group.name);
        Group { name, gid: gid.as_raw() }
    };
    let groups = gids.into_iter().map(group).collect();
    Some(User { client: client.to_owned(), name: name.to_owned(), uid: account.uid.as_raw(), groups })
}

/// Listed members of a group, and users whose primary group it is.
fn members(group: &str) -> Vec<String> {
    let Ok(Some(group)) = unistd::Group::from_name(group) else {
        return Vec::new();
    };
    let gid = group.gid.to_string();
    let mut names = group.mem;
    let passwd = fs::read_to_string("/etc/passwd").unwrap_or_default();
    let primary = passwd.lines().map(|line| line.split(':').collect::<Vec<_>>());
    names.extend(primary.filter(|line| line.get(3) == Some(&gid.as_str())).map(|line| line[0].to_owned()));
    names.sort();
    names.dedup();
    names
}

/// Users and `%groups` that sudoers gives anything to; none if this user may not read it.
pub fn sudoers(notes: &mut Vec<String>) -> Option<Vec<String>> {
    let main = match fs::read_to_string("/etc/sudoers") {
        Ok(text) => text,
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => String::new(),
        Err(error) => {
            notes.push(format!("no sudoers: {error}"));
            return None;
        }
    };
    let mut text = main;
    for entry in fs::read_dir("/etc/sudoers.d").into_iter().flatten().flatten() {
        text.push('\n');
        text.push_str(&fs::read_to_string(entry.path()).unwrap_or_default());
    }
    Some(subjects(&text))
}

/// The users of the lines that give something, and the members of user aliases.
#[must_use]
pub fn subjects(text: &str) -> Vec<String> {
    let mut subjects = Vec::new();
    // A list of users may have blanks around its commas.
    let text = text.replace("\\\n", " ").replace(", ", ",").replace(" ,", ",");
    for line in text.lines().map(str::trim) {
        let Some((first, rest)) = line.split_once(char::is_whitespace) else {
            continue;
        };
        if first == "User_Alias" {
            let members = rest.split_once('=').map_or("", |(_, members)| members);
            subjects.extend(members.split([',', ' ']).filter(|name| !name.is_empty()).map(str::to_owned));
        } else if !(first.starts_with("Defaults") || first.starts_with('@') || first.ends_with("_Alias"))
            && (!first.starts_with('#')
                || first[1..].bytes().all(|byte| byte.is_ascii_digit()) && first.len() > 1)
        {
            subjects.extend(first.split(',').map(str::to_owned));
        }
    }
    subjects.sort();
    subjects.dedup();
    subjects
}
