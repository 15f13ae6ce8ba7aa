//! Objects that no rule can grant: Postern itself, and what the host needs to run and to stay secure.

use super::object::Object;
use crate::error::{Code, Denied, each};
use crate::facts::{Action, Facts, all_names};
use crate::types::{Pattern, TargetPath};
use crate::verb_id::VerbId;
use postern_proto::root::v1 as root;

/// Units that no effect may touch: ours, PID 1's own, and the bus. `dbus-org.*` are mere aliases of services on the bus.
pub const UNITS: [&str; 6] = ["postern-", "systemd-", "dbus.", "dbus-broker.", "init.scope", "user@"];
/// Units of Postern that a rule may let a client restart: effects continue, and requests that wait for approval are asked
/// again. The restart is not waited for, since the waiting request would block it.
pub const RESTARTABLE: [&str; 2] = ["postern-agent.service", "postern-broker.service"];
/// Packages that no transaction may change: Postern itself.
pub const OWN_PACKAGES: [&str; 1] = ["postern"];
/// Packages that no transaction may remove or downgrade: Postern depends on them. postern-packages also refuses to remove
/// essential and required packages and the running kernel.
#[rustfmt::skip]
pub const PACKAGES: [&str; 8] = [
    "systemd", "systemd-sysv", "dbus", "dpkg", "apt", "libc6", "base-files", "debian-archive-keyring",
];
/// Directories in which no file verb works, whatever a rule says: our own, the kernel's, and what decides who is
/// root or what root runs.
#[rustfmt::skip]
pub const DIRECTORIES: [&str; 37] = [
    "/etc/postern/", "/var/lib/postern/", "/var/lib/postern-", "/var/log/postern/", "/proc/",
    "/sys/", "/dev/", "/run/", "/boot/", "/usr/bin/", "/usr/sbin/", "/usr/lib/", "/usr/libexec/",
    "/etc/systemd/", "/etc/init.d/", "/etc/udev/", "/etc/tmpfiles.d/", "/etc/sysusers.d/",
    "/etc/modprobe.d/", "/etc/modules-load.d/", "/etc/sudoers.d/", "/etc/polkit-1/", "/etc/dbus-1/",
    "/etc/pam.d/", "/etc/security/", "/etc/cron.", "/var/spool/cron/", "/var/spool/anacron/", "/etc/apt/",
    "/etc/dpkg/", "/var/lib/dpkg/", "/var/lib/apt/", "/var/cache/apt/", "/etc/ld.so.", "/etc/binfmt.d/",
    "/usr/local/lib/systemd/", "/var/lib/systemd/",
];
/// Files that no file verb touches, nor their backups (`/etc/passwd-`).
#[rustfmt::skip]
pub const FILES: [&str; 14] = [
    "/etc/passwd", "/etc/shadow", "/etc/group", "/etc/gshadow", "/etc/subuid", "/etc/subgid",
    "/etc/sudoers", "/etc/sudo.conf", "/etc/doas.conf", "/etc/nsswitch.conf", "/etc/pam.conf",
    "/etc/crontab", "/etc/anacrontab", "/etc/environment",
];

/// The additions of a policy to these lists (`[protect]`).
#[derive(Debug, Default)]
pub(super) struct Protect {
    packages: Vec<Pattern>,
    units: Vec<Pattern>,
    /// Each with everything below it.
    paths: Vec<TargetPath>,
}

impl Protect {
    pub(super) fn new(wire: &root::Protect) -> Result<Self, String> {
        Ok(Self {
            packages: each(&wire.packages, Pattern::new)?,
            units: each(&wire.units, Pattern::new)?,
            paths: each(&wire.paths, TargetPath::new)?,
        })
    }

    /// Checks an object before any rule is asked. Looking at a unit or package is free.
    pub(super) fn check_object(&self, verb: VerbId, object: &Object) -> Result<(), Denied> {
        let is_protected = match object {
            Object::Package { name, .. } => {
                let name = name.as_str();
                // To a later version they may go, which the plan shows.
                let stays = matches!(verb, VerbId::PackageInstall | VerbId::PackageUpgrade);
                verb.is_effect() && (self.has_package(name) || (!stays && PACKAGES.contains(&name)))
            }
            Object::Unit { name, .. } => {
                let restarts = matches!(verb, VerbId::UnitRestart | VerbId::UnitTryRestart);
                let is_free =
                    restarts && RESTARTABLE.contains(&name.as_str()) && !self.names_unit(name.as_str());
                verb.is_effect() && !is_free && self.has_unit(name.as_str())
            }
            Object::File { path, .. } => self.has_path(verb, path.as_str()),
            Object::Nothing
            | Object::Reboot { .. }
            | Object::AllPackages
            | Object::Command { .. }
            | Object::Undo { .. } => false,
        };
        if is_protected { protected(object.name()) } else { Ok(()) }
    }

    /// Checks the facts: the objects that the request would really change.
    pub(super) fn check_facts(&self, facts: &Facts) -> Result<(), Denied> {
        let touched = match facts {
            Facts::Packages(packages) => packages
                .steps
                .iter()
                .find(|step| self.keeps(step.action, step.name.as_str()))
                .map(|step| step.name.as_str()),
            Facts::Unit(unit) => {
                let mut names = unit.affected.iter().flat_map(|other| all_names(&other.state));
                names.find(|name| self.has_unit(name))
            }
            Facts::Files(_) | Facts::None => None,
        };
        touched.map_or(Ok(()), protected)
    }

    /// Whether this may not be done to this package.
    fn keeps(&self, action: Action, name: &str) -> bool {
        match action {
            Action::Configure => false,
            Action::Install | Action::Upgrade | Action::Reinstall => self.has_package(name),
            Action::Remove | Action::Purge | Action::Downgrade => {
                self.has_package(name) || PACKAGES.contains(&name)
            }
        }
    }

    fn has_package(&self, name: &str) -> bool {
        OWN_PACKAGES.contains(&name) || self.packages.iter().any(|pattern| pattern.matches(name))
    }

    /// Whether the path is protected, below a protected one, or, for changes, above one: the owner of a directory can replace
    /// its entries.
    fn has_path(&self, verb: VerbId, path: &str) -> bool {
        let own = self.paths.iter().map(TargetPath::as_str);
        let whole = FILES.into_iter().chain(own.clone());
        DIRECTORIES.iter().any(|place| is_in(path, place))
            || FILES.contains(&path.strip_suffix('-').unwrap_or(path))
            || own.clone().any(|place| path == place || holds_path(place, path))
            || (verb.is_effect() && DIRECTORIES.into_iter().chain(whole).any(|place| holds_path(path, place)))
    }

    fn has_unit(&self, name: &str) -> bool {
        UNITS.iter().any(|start| name.starts_with(start)) || self.names_unit(name)
    }

    /// Whether `[protect]` of the policy has it.
    fn names_unit(&self, name: &str) -> bool {
        self.units.iter().any(|pattern| pattern.matches_unit(name))
    }
}

/// Whether `path` is one of [`DIRECTORIES`] or stands below it; one without a last `/` is how names begin.
fn is_in(path: &str, place: &str) -> bool {
    path.starts_with(place) || place.strip_suffix('/') == Some(path)
}

/// Whether `below` stands below `path`.
fn holds_path(path: &str, below: &str) -> bool {
    below.strip_prefix(path).is_some_and(|rest| rest.starts_with('/'))
}

fn protected(what: &str) -> Result<(), Denied> {
    Err(Denied::new(Code::Protected, format!("{what} is protected; no rule can grant this")))
}
