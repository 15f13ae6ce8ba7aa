//! Whether the person's session has the groups that the account files give: a session keeps those that it began with.

use crate::host::Host;
use postern_doctor::Check;
use std::path::Path;

const GROUPS: &str = "groups";
/// Each group, and what its members may do.
const ROLES: [(&str, &str); 3] = [
    ("postern-users", "give tasks"),
    ("postern-operators", "approve"),
    ("postern-auditors", "read the policy and the log"),
];
/// Most processes between this one and the person's own: `sudo`, shells, a terminal.
const ABOVE_MAX: usize = 32;

pub(super) fn checks(host: &Host) -> Vec<Check> {
    let mut checks = Vec::new();
    let person = (host.login_uid)().unwrap_or_else(|| nix::unistd::getuid().as_raw());
    let session = session(&host.root.join("proc"), person);
    let mut known = Vec::new();
    for (group, may) in ROLES {
        let Some((gid, members)) = host.group(group) else {
            let why = format!("there is no group {group}");
            checks.push(Check::wrong(GROUPS, why, "systemd-sysusers postern.conf"));
            continue;
        };
        if members.contains(&person) {
            known.push((group, gid, may));
        }
    }
    let name = (host.user_name)(person);
    let Some(session) = session else {
        checks.push(Check::unknown(GROUPS, format!("no process of {name}'s session can be read")));
        return checks;
    };
    let late = known.iter().filter(|(_, gid, _)| !session.contains(gid)).collect::<Vec<_>>();
    for (group, _, may) in &late {
        let why = format!("{name} is in {group} and may {may}, but this session began before that");
        let mend = format!("log in again, or for one command: sg {group} -c COMMAND");
        checks.push(Check::wrong(GROUPS, why, mend));
    }
    if late.is_empty() {
        let may = known.iter().map(|(_, _, may)| *may).collect::<Vec<_>>();
        let words = match (person, may.as_slice()) {
            (0, _) => "root needs none".to_owned(),
            (_, []) => format!("{name} is in none of Postern's groups"),
            (_, may) => format!("{name} may {}", may.join(", ")),
        };
        checks.push(Check::ok(GROUPS, words));
    }
    checks
}

/// The groups of the nearest process above this one that is the person's: `sudo` has put root's in between.
fn session(proc: &Path, person: u32) -> Option<Vec<u32>> {
    let mut directory = proc.join("self");
    for _ in 0..ABOVE_MAX {
        let status = std::fs::read_to_string(directory.join("status")).ok()?;
        let field = |name: &str| {
            let line = status.lines().find_map(|line| line.strip_prefix(name))?;
            Some(line.split_whitespace().filter_map(|word| word.parse().ok()).collect::<Vec<u32>>())
        };
        if field("Uid:")?.first() == Some(&person) {
            let mut groups = field("Groups:")?;
            groups.extend(field("Gid:")?);
            return Some(groups);
        }
        let parent = *field("PPid:")?.first()?;
        directory = proc.join(parent.to_string());
    }
    None
}
