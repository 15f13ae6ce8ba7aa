//! What no rule can grant: Postern itself and what keeps the host standing.

use super::rule::Object;
use crate::error::{Code, Refusal};
use crate::plan::{Action, Subject};
use crate::verb_id::VerbId;

/// Units that no effect may touch: ours, and PID 1's own.
const UNITS: [&str; 5] = ["postern-", "systemd-", "dbus", "init.scope", "user@"];
/// Packages that no transaction may change: the tools that the helper stands on.
const PACKAGES: [&str; 6] = ["postern", "systemd", "dpkg", "apt", "libc6", "base-files"];
/// Directories in which no file verb works, whatever a rule says: our own, the kernel's, and what decides who is
/// root or what root runs. The unit's `ReadOnlyPaths` say the same, but end at the first rename over a file.
const DIRECTORIES: [&str; 36] = [
    "/etc/postern/",
    "/var/lib/postern/",
    "/var/lib/postern-helper/",
    "/var/log/postern/",
    "/proc/",
    "/sys/",
    "/dev/",
    "/run/",
    "/boot/",
    "/usr/bin/",
    "/usr/sbin/",
    "/usr/lib/",
    "/usr/libexec/",
    "/etc/systemd/",
    "/etc/init.d/",
    "/etc/udev/",
    "/etc/tmpfiles.d/",
    "/etc/sysusers.d/",
    "/etc/modprobe.d/",
    "/etc/modules-load.d/",
    "/etc/sudoers.d/",
    "/etc/polkit-1/",
    "/etc/dbus-1/",
    "/etc/pam.d/",
    "/etc/security/",
    "/etc/cron.",
    "/var/spool/cron/",
    "/etc/apt/",
    "/etc/dpkg/",
    "/var/lib/dpkg/",
    "/var/lib/apt/",
    "/var/cache/apt/",
    "/etc/ld.so.",
    "/etc/binfmt.d/",
    "/usr/local/lib/systemd/",
    "/var/lib/systemd/",
];
/// Files that no file verb touches, nor their backups (`/etc/passwd-`).
const FILES: [&str; 14] = [
    "/etc/passwd",
    "/etc/shadow",
    "/etc/group",
    "/etc/gshadow",
    "/etc/subuid",
    "/etc/subgid",
    "/etc/sudoers",
    "/etc/sudo.conf",
    "/etc/doas.conf",
    "/etc/nsswitch.conf",
    "/etc/pam.conf",
    "/etc/crontab",
    "/etc/anacrontab",
    "/etc/environment",
];

fn protected(what: &str) -> Result<(), Refusal> {
    Err(Refusal::new(Code::Protected, format!("{what} is protected; no rule can grant this")))
}

/// Checks an object before any rule is asked. Looking at a unit or package is free.
pub(super) fn check_object(verb: VerbId, object: &Object) -> Result<(), Refusal> {
    match object {
        Object::Unit(name)
            if verb != VerbId::UnitStatus && UNITS.iter().any(|p| name.as_str().starts_with(p)) =>
        {
            protected(name.as_str())
        }
        Object::File { path, .. } if is_protected(path.as_str()) => protected(path.as_str()),
        Object::Nothing | Object::Package { .. } | Object::Unit(_) | Object::File { .. } => Ok(()),
    }
}

fn is_protected(path: &str) -> bool {
    DIRECTORIES.iter().any(|directory| path.starts_with(directory))
        || FILES.contains(&path.strip_suffix('-').unwrap_or(path))
}

/// Checks what the plan would really touch.
pub(super) fn check_plan(plan: &Subject<'_>) -> Result<(), Refusal> {
    match plan {
        Subject::Packages(packages) => {
            let touched = packages
                .steps
                .iter()
                .find(|step| step.action != Action::Configure && PACKAGES.contains(&step.name.as_str()));
            touched.map_or(Ok(()), |step| protected(step.name.as_str()))
        }
        Subject::Unit(unit) => {
            let touched = unit.cascade.iter().find(|unit| UNITS.iter().any(|p| unit.id.starts_with(p)));
            touched.map_or(Ok(()), |unit| protected(&unit.id))
        }
        Subject::File(_) | Subject::Nothing => Ok(()),
    }
}

/// What is protected whatever a policy says, for those who reason about all names at once.
#[derive(Debug, Clone, Copy)]
pub struct BuiltIn {
    /// How names of units begin.
    pub units: &'static [&'static str],
    /// How paths begin.
    pub directories: &'static [&'static str],
    /// Whole paths; a `-` may follow.
    pub files: &'static [&'static str],
}

/// The built-in list.
pub const BUILT_IN: BuiltIn = BuiltIn { units: &UNITS, directories: &DIRECTORIES, files: &FILES };
