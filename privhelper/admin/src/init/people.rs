//! Questions 1 to 3 of `init`: membership in `postern-users`, `postern-operators` and `postern-auditors`.

use super::answers::{Question, list};
use super::args::InitArgs;
use crate::host::Host;
use crate::io::{Exit, Io};
use crate::packs::CommandError;
use crate::text::escape;
use std::collections::BTreeMap;

/// Most local users that an error lists.
const SHOWN: usize = 20;
/// The uids of people, by `UID_MIN` and `UID_MAX` of `login.defs(5)`.
const PEOPLE: std::ops::RangeInclusive<u32> = 1000..=60_000;

/// One group of people.
struct Role {
    group: &'static str,
    number: &'static str,
    question: &'static str,
    flag: fn(&InitArgs) -> Option<&str>,
}

const ROLES: [Role; 3] = [
    Role {
        group: "postern-users",
        number: "1/5",
        question: "Who gives the agent tasks?",
        flag: |args| args.tasks.as_deref(),
    },
    Role {
        group: "postern-operators",
        number: "2/5",
        question: "Who approves requests, undoes and pauses?",
        flag: |args| args.approve.as_deref(),
    },
    Role {
        group: "postern-auditors",
        number: "3/5",
        question: "Who else reads the policy and the audit log?",
        flag: |args| args.look.as_deref(),
    },
];

/// Checks the names that flags give.
pub fn check(host: &Host, args: &InitArgs) -> Result<(), CommandError> {
    let names = ROLES.iter().filter_map(|role| (role.flag)(args)).flat_map(list).collect::<Vec<_>>();
    are_people(host, &names).map_err(|why| CommandError::Message(Exit::Usage, why))
}

/// Asks the first three questions and sets the groups. Returns who gives tasks.
pub fn ask(host: &Host, args: &InitArgs, io: &mut Io<'_>) -> Result<Vec<String>, CommandError> {
    let mut tasks = Vec::new();
    for role in &ROLES {
        let members = members(host, role.group)?;
        // The login user is proposed for the first two groups while they are empty.
        let is_first = members.is_empty() && role.group != "postern-auditors";
        let person = (host.login_uid)().filter(|uid| *uid != host.owner_uid && is_first);
        let proposed = person.map_or_else(|| members.clone(), |uid| vec![(host.user_name)(uid)]);
        let question =
            Question { number: role.number, text: role.question, given: (role.flag)(args), proposed };
        let names = question.ask(io, |names| are_people(host, names))?;
        join(host, role.group, &members, &names, io)?;
        if role.group == "postern-users" {
            tasks = names;
        }
    }
    Ok(tasks)
}

/// Tells how a session gets its new group.
pub fn tell_session(tasks: &[String], io: &mut Io<'_>) -> Result<(), CommandError> {
    match tasks {
        [] => writeln!(
            io.out,
            "next: postern-admin init --tasks NAME, or as root: postern run \"is dbus running\""
        )?,
        names => {
            writeln!(
                io.out,
                "next, as {}: log in again, or: sg postern-users -c 'postern run \"is dbus running\"'",
                names.join(" or ")
            )?;
        }
    }
    Ok(())
}

/// The group's members by name.
fn members(host: &Host, group: &str) -> Result<Vec<String>, CommandError> {
    let (_, uids) = (host.accounts.group)(group).ok_or_else(|| {
        CommandError::Message(Exit::Failed, format!("there is no group {group}: is Postern installed?"))
    })?;
    // The recorder reads the log as an auditor.
    let names = uids.into_iter().map(host.user_name).filter(|name| !is_program(name));
    Ok(names.collect())
}

/// The members of Postern's groups of people, by group; a group that does not exist is left out.
#[must_use]
pub fn all(host: &Host) -> BTreeMap<String, Vec<String>> {
    let named = |role: &Role| Some((role.group.to_owned(), members(host, role.group).ok()?));
    ROLES.iter().filter_map(named).collect()
}

fn is_program(name: &str) -> bool {
    name == "postern" || name.starts_with("postern-")
}

/// Whether all of them are users of this host, and none is a program of Postern's or root, who needs no group.
fn are_people(host: &Host, names: &[String]) -> Result<(), String> {
    for name in names {
        if is_program(name) {
            return Err(format!(
                "{name:?} is a user of Postern's own: an agent must not give itself tasks or consent"
            ));
        }
        match (host.accounts.user)(name) {
            None => {
                // Accounts of a directory service are in no list.
                let users = (host.accounts.users)();
                let people =
                    users.iter().filter(|(_, uid)| PEOPLE.contains(uid)).map(|(person, _)| person.as_str());
                let people = people.collect::<Vec<_>>();
                let local = match (people.len().saturating_sub(SHOWN), people.as_slice()) {
                    (_, []) => "none".to_owned(),
                    (0, all) => all.join(", "),
                    (more, all) => format!("{} and {more} more", all[..SHOWN].join(", ")),
                };
                return Err(format!("{}; local users: {local}", host.accounts.no_user(name)));
            }
            Some(0) => return Err("root needs no group: name the people, or none".to_owned()),
            Some(_) => {}
        }
    }
    Ok(())
}

/// Adds those who lack the group, and says who else is in it.
fn join(
    host: &Host,
    group: &str,
    members: &[String],
    names: &[String],
    io: &mut Io<'_>,
) -> Result<(), CommandError> {
    for name in names {
        if members.contains(name) {
            writeln!(io.out, "{group}: {name} (was there)")?;
            continue;
        }
        let arguments = ["--append", "--groups", group, name];
        host.programs
            .change(&host.programs.usermod, &arguments)
            .map_err(|why| CommandError::Message(Exit::Failed, why))?;
        writeln!(io.out, "{group}: {name} (new)")?;
    }
    for name in members.iter().filter(|name| !names.contains(name)) {
        let name = escape(name);
        writeln!(io.out, "{group}: {name} stays; to take it away: gpasswd --delete {name} {group}")?;
    }
    Ok(())
}
