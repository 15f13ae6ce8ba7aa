//! Clients that are powerful by their group, whatever the rules say.

use super::grant::LintFinding;
use super::input::Input;
use crate::finding::{Class, Severity};

/// Groups that are root, or as good as root.
pub(super) const POWERFUL: [(&str, &str); 24] = [
    ("root", "owns what root's group may write"),
    ("sudo", "may become root by sudo"),
    ("wheel", "may become root by su or sudo"),
    ("admin", "may become root by sudo"),
    ("docker", "starts containers that are root on the host"),
    ("lxd", "starts containers that are root on the host"),
    ("lxc", "starts containers that are root on the host"),
    ("incus", "starts containers that are root on the host"),
    ("incus-admin", "starts containers that are root on the host"),
    ("podman", "starts containers that are root on the host"),
    ("libvirt", "starts machines with any disk of the host"),
    ("libvirt-qemu", "reads and writes machines' disks"),
    ("disk", "reads and writes every file by way of the disks"),
    ("shadow", "reads the password hashes"),
    ("kmem", "reads the kernel's memory"),
    ("staff", "writes /usr/local, from which root runs programs"),
    ("adm", "reads logs, in which secrets stand"),
    ("systemd-journal", "reads logs, in which secrets stand"),
    ("backup", "reads backups of everything"),
    ("lpadmin", "tells cupsd which files to write"),
    ("kvm", "drives virtual machines' hardware"),
    ("plugdev", "mounts media"),
    ("netdev", "decides about networks and name servers"),
    ("input", "reads what is typed"),
];
/// The group whose members approve.
pub(super) const OPERATORS: &str = "postern-operators";
/// The group whose members read the policy and the audit log.
pub(super) const AUDITORS: &str = "postern-auditors";

/// By the policy's text alone: a client that is such a group. Nothing can accept it, so it is a warning.
pub(super) fn check(input: &Input<'_>, found: &mut Vec<LintFinding>) {
    for (index, client) in input.rules.clients.iter().enumerate() {
        let mut add = |id, message| {
            found.push(LintFinding {
                id,
                class: Some(Class::Trust),
                severity: Severity::Warning,
                location: input.clients.get(index).copied().unwrap_or_default(),
                message,
                rules: Vec::new(),
                accepted: None,
            });
        };
        let name = &client.name;
        if let Some((group, why)) = POWERFUL.iter().find(|(group, _)| *group == client.group) {
            let message =
                format!("{name} is powerful without this policy: whoever is in group {group} {why}");
            add("agent-in-powerful-group", message);
        }
        if client.group == OPERATORS || client.group == AUDITORS {
            let message = format!(
                "{name} is made of group {}: its members approve or audit requests, and a client's members can approve nothing",
                client.group
            );
            add("agent-in-operators", message);
        }
    }
}
