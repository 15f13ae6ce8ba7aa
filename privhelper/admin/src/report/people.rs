//! The members of Postern's groups.

use super::model::{People, Person};
use crate::host::Host;

/// The members of the three groups; `clients` are the uids that the policy takes for clients.
pub fn people(host: &Host, clients: &[u32]) -> People {
    let operators = members(host, "postern-operators");
    let (barred, operators) = match operators {
        Some(all) => {
            let (barred, may) = all.into_iter().partition(|person| clients.contains(&person.uid));
            (barred, Some(may))
        }
        None => (Vec::new(), None),
    };
    People {
        users: members(host, "postern-users"),
        operators,
        barred,
        auditors: members(host, "postern-auditors"),
    }
}

/// A user with the name that the host has for them.
pub fn person(host: &Host, uid: u32) -> Person {
    Person { name: (host.user_name)(uid), uid }
}

fn members(host: &Host, group: &str) -> Option<Vec<Person>> {
    let (_, uids) = host.group(group)?;
    Some(uids.into_iter().map(|uid| person(host, uid)).collect())
}
