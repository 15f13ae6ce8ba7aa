//! Users and groups of clients and commands on this host.
//!
//! A client that is one of Postern's programs would be taken for it, and a command that runs as one, or as a client, has
//! its power: both are refused.

use super::client::ParsedClient;
use super::commands::ParsedCommand;
use super::rule::ParsedRule;
use super::table::Table;
use crate::finding::Severity;
use crate::host::{Accounts, Host};
use postern_policy::Identity;
use postern_policy::accounts::STRONG_GROUPS;
use postern_proto::root::v1 as root;

/// The agent, whose tools' user is another.
const AGENT: &str = "postern";
/// Users of Postern's other programs.
const PROGRAMS: [&str; 6] =
    ["postern-audit", "postern-broker", "postern-files", "postern-gateway", "postern-probe", "postern-tool"];

/// Purpose of a check of a policy.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Purpose {
    /// A review, perhaps on another host.
    Review,
    /// Acceptance on this host.
    Apply,
}

/// Whether two names are of one user on this host.
fn is_same(one: &str, other: &str, accounts: Accounts) -> bool {
    one == other || (accounts.user)(one).is_some_and(|uid| (accounts.user)(other) == Some(uid))
}

/// Whether this is the user of one of Postern's programs, the agent aside.
fn is_program(user: &str, accounts: Accounts) -> bool {
    PROGRAMS.iter().any(|program| is_same(user, program, accounts))
}

/// Whether one of Postern's programs is this client.
fn is_client_a_program(user: &str, group: &str, accounts: Accounts) -> bool {
    let has_group = |members: &[u32]| {
        let uids = PROGRAMS.iter().filter_map(|program| (accounts.user)(program));
        uids.into_iter().any(|uid| members.contains(&uid))
    };
    is_program(user, accounts)
        || PROGRAMS.contains(&group)
        || (accounts.group)(group).is_some_and(|(_, members)| has_group(&members))
}

/// Warns of people of a rule who do not exist on this host, or can have no session.
pub(super) fn check_people(rule: &ParsedRule<'_>, accounts: Accounts) {
    let Some(at) = rule.table.place("people") else { return };
    for name in rule.rule.iter().flat_map(|rule| &rule.wire.people) {
        let missing = match name.strip_prefix("group:") {
            Some(group) => (accounts.group)(group).is_none().then(|| accounts.no_group(group)),
            None => (accounts.user)(name).is_none().then(|| accounts.no_user(name)),
        };
        if let Some(why) = missing {
            rule.table.warn(at, format!("{why} (`people`)"));
        } else if (accounts.user)(name) == Some(0) {
            rule.table.warn(at, "root has no session: it is never one of `people`");
        }
    }
}

/// Reports a rule whose user (`as`) is more than the owner of an application's files: root, a user of the system or of Postern, a
/// member of a strong group, also by the primary one, or a client. postern-units refuses each order of such a rule.
pub(super) fn check_as_user(
    rule: &ParsedRule<'_>,
    clients: &[ParsedClient<'_>],
    purpose: Purpose,
    host: &Host,
) {
    let Some(user) = rule.table.text("as") else { return };
    let severity = match purpose {
        Purpose::Review => Severity::Warning,
        Purpose::Apply => Severity::Error,
    };
    let Some(uid) = (host.accounts.user)(user.value) else {
        let why = format!("{} (`as`)", host.accounts.no_user(user.value));
        return rule.table.note(user.at, why);
    };
    let is_member = |group: &str| host.group(group).is_some_and(|(_, members)| members.contains(&uid));
    let client = clients
        .iter()
        .find(|(_, _, client)| is_member(&client.group) || (host.accounts.user)(&client.user) == Some(uid));
    let groups = STRONG_GROUPS.into_iter().chain(["postern-users", "postern-operators"]);
    let groups = groups.filter(|group| is_member(group)).map(str::to_owned).collect();
    let who = Identity { uid, users: vec![user.value.to_owned()], groups, ..Identity::default() };
    let client = || client.map(|(_, name, _)| format!("it is the client {}", name.value));
    if let Some(why) = who.too_strong().or_else(client) {
        let why = format!("`as = {:?}` is refused on this host: {why}", user.value);
        rule.table.findings().borrow_mut().add(severity, rule.table.source, user.at, why);
    }
}

/// Reports a client that may not be one, or that this host does not have. On a reviewer's host it need not exist.
pub(super) fn check_client(table: Table<'_>, client: &root::Client, purpose: Purpose, accounts: Accounts) {
    let severity = match purpose {
        Purpose::Review => Severity::Warning,
        Purpose::Apply => Severity::Error,
    };
    let (user, group) = ((accounts.user)(&client.user), (accounts.group)(&client.group));
    let is_user = table.place("user").is_some();
    let (key, name) = if is_user { ("user", &client.user) } else { ("group", &client.group) };
    let Some(at) = table.place(key).filter(|_| !name.is_empty()) else {
        return;
    };
    let exists = if is_user { user.is_some() } else { group.is_some() };
    let has_root = if is_user {
        user == Some(0)
    } else {
        group.is_some_and(|(gid, members)| gid == 0 || members.contains(&0))
    };
    if has_root {
        table.error(at, "root cannot be a client: a client's members can approve nothing");
    } else if is_client_a_program(&client.user, &client.group, accounts) {
        table
            .error(at, format!("{name:?} belongs to one of Postern's own programs, which cannot be clients"));
    } else if !exists {
        let why = if is_user { accounts.no_user(name) } else { accounts.no_group(name) };
        table.findings().borrow_mut().add(severity, table.source, at, why);
    }
}

/// Refuses commands that run as one of Postern's users or as a client.
pub(super) fn check_commands(
    commands: &[ParsedCommand<'_>],
    clients: &[ParsedClient<'_>],
    accounts: Accounts,
) {
    for command in commands {
        let Some(user) = command.table.text("user") else { continue };
        if user.value == AGENT || is_program(user.value, accounts) {
            command.table.error(
                user.at,
                format!("{:?} is a user of Postern's own, with its power: choose another", user.value),
            );
        } else if let Some((_, name, _)) =
            clients.iter().find(|(_, _, client)| is_same(user.value, &client.user, accounts))
        {
            let why = format!(
                "{:?} is client {:?}, which could change what the command does",
                user.value, name.value
            );
            command.table.error(user.at, why);
        }
    }
}
