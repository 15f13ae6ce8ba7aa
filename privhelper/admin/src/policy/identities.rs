//! Users that a policy may not name: a client that is one of Postern's programs would pass for it, and a command that
//! runs as one, or as a client, has its power.

use super::Client;
use super::commands::Parsed;
use crate::host::Accounts;

/// The agent, whose tools' user is another.
const AGENT: &str = "postern";
/// Users of Postern's other programs.
const PROGRAMS: [&str; 6] =
    ["postern-audit", "postern-broker", "postern-files", "postern-gateway", "postern-probe", "postern-tool"];

/// Whether two names are of one user on this host.
fn is_same(one: &str, other: &str, accounts: Accounts) -> bool {
    one == other || (accounts.user)(one).is_some_and(|uid| (accounts.user)(other) == Some(uid))
}

/// Whether this is the user of one of Postern's programs, the agent aside.
fn is_program(user: &str, accounts: Accounts) -> bool {
    PROGRAMS.iter().any(|program| is_same(user, program, accounts))
}

/// Whether one of Postern's programs is this client.
pub(super) fn is_client_a_program(user: &str, group: &str, accounts: Accounts) -> bool {
    let has_group = |members: &[u32]| {
        let uids = PROGRAMS.iter().filter_map(|program| (accounts.user)(program));
        uids.into_iter().any(|uid| members.contains(&uid))
    };
    is_program(user, accounts)
        || PROGRAMS.contains(&group)
        || (accounts.group)(group).is_some_and(|(_, members)| has_group(&members))
}

/// Refuses commands that run as one of Postern's users or as a client.
pub(super) fn check_commands(commands: &[Parsed<'_>], clients: &[Client<'_>], accounts: Accounts) {
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
