//! The sockets and services through which files of a rule with `as` are reached: a process of the rule's user for each
//! connection of postern-units.

use super::text::{Lines, plain};
use super::unit::SANDBOX;
use postern_policy::types::TargetPath;
use postern_policy::{Policy, Rule, Selector};
use std::collections::BTreeMap;

/// What the program needs, and no more: it gets its connection as standard input.
const SERVICE: &str = "\
StandardInput=socket
StandardOutput=null
StandardError=journal
# postern-units gives up after 25 s, and says then that nothing of it runs any more.
RuntimeMaxSec=20s
TimeoutStopSec=1s
KillMode=control-group
KillSignal=SIGKILL
UMask=0077
LimitCORE=0
CapabilityBoundingSet=
AmbientCapabilities=
InaccessiblePaths=-/var/lib/postern-files
PrivateNetwork=yes
IPAddressDeny=any
RestrictAddressFamilies=none
MemoryDenyWriteExecute=yes
# Debian 12's @system-service lacks Landlock. The program adds a narrower filter itself.
SystemCallFilter=seccomp landlock_create_ruleset landlock_add_rule landlock_restrict_self
";

/// The units of each rule with `as`, by file name.
pub(super) fn units(policy: &Policy) -> Result<BTreeMap<String, String>, String> {
    let mut units = BTreeMap::new();
    for rule in policy.rules().iter().filter(|rule| !rule.as_user.is_empty()) {
        let Selector::Files { directories, .. } = &rule.selector else { continue };
        for directory in directories {
            let name = rule.as_unit(directory);
            let failed = |why: String| format!("rule {}: {why}", rule.id);
            units.insert(format!("{name}.socket"), socket(rule, &name));
            units.insert(format!("{name}@.service"), service(rule, directory).map_err(failed)?);
        }
    }
    Ok(units)
}

fn socket(rule: &Rule, name: &str) -> String {
    let mut unit = Lines::new();
    unit.set("[Unit]\nDescription", format_args!("Postern: files as {}", rule.as_user));
    // A link in its `.wants` starts this socket with that of postern-units; it ends with it too.
    unit.add(
        "Documentation=file:///usr/share/doc/postern/README.md\nPartOf=postern-units.socket\n\n[Socket]\n",
    );
    // In the directory of postern-units, which root alone can enter.
    unit.set("ListenStream", format_args!("/run/postern-jobs/{name}.sock"));
    unit.add("SocketMode=0600\nAccept=yes\nTriggerLimitIntervalSec=0\nMaxConnections=16\n");
    unit.0
}

fn service(rule: &Rule, directory: &TargetPath) -> Result<String, String> {
    let directory = plain(directory.as_str())?;
    let mut unit = Lines::new();
    unit.set("[Unit]\nDescription", format_args!("Postern: files below {directory} as {}", rule.as_user));
    unit.add(
        "Documentation=file:///usr/share/doc/postern/README.md\n\
         CollectMode=inactive-or-failed\nStartLimitIntervalSec=0\n\n[Service]\nType=simple\n\
         ExecStart=/usr/libexec/postern/postern-files as-user\n",
    );
    unit.set("User", plain(&rule.as_user)?);
    unit.add(SANDBOX);
    unit.add(SERVICE);
    let places = ["/home/", "/root/", "/run/user/"];
    if places.iter().any(|place| directory.starts_with(place)) {
        unit.add("ProtectHome=read-only\n");
    }
    unit.set("ReadWritePaths", format_args!("-{directory}"));
    Ok(unit.0)
}
