//! Asks this host for the facts. The only part of the lint that reads files or runs programs.
//!
//! Programs run with a constant environment, no input and a time limit. Facts that cannot be had are a note, never
//! a failure: a host without systemd has no units, and only root can read sudoers.

mod accounts;
mod apt;
mod paths;
mod run;
mod systemd;

pub use accounts::subjects;
pub use apt::{dpkg_hooks, hooks, package_hosts};
pub(super) use paths::SOCKETS;
pub(crate) use run::run;
pub use systemd::{UnitScope, units};

use super::facts::{Facts, VERSION};
use postern_proto::root::v1 as root;
use std::fs;
use std::path::PathBuf;
use std::time::{SystemTime, UNIX_EPOCH};

/// The programs that are run for facts, and the socket for warnings.
#[derive(Debug, Clone)]
pub struct Probes {
    /// `systemctl`.
    pub systemctl: PathBuf,
    /// `apt-config`.
    pub apt_config: PathBuf,
    /// Where the journal listens.
    pub log: PathBuf,
}

impl Default for Probes {
    fn default() -> Self {
        Self {
            systemctl: "/usr/bin/systemctl".into(),
            apt_config: "/usr/bin/apt-config".into(),
            log: "/dev/log".into(),
        }
    }
}

/// Everything that this user can learn about this host, for these rules.
#[must_use]
pub fn live(rules: &root::Rules, scope: UnitScope, probes: &Probes) -> Facts {
    let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    let mut notes = Vec::new();
    let host = fs::read_to_string("/proc/sys/kernel/hostname").unwrap_or_default().trim().to_owned();
    let units = systemd::gather(rules, scope, &probes.systemctl, &mut notes);
    let hooks = apt::gather(&probes.apt_config, &mut notes);
    let package_hosts = apt::gather_hosts();
    let links = paths::links(rules);
    let inodes = paths::inodes(rules);
    let missing = paths::missing(rules);
    let unknown_users = accounts::unknown(rules);
    let users = accounts::users(rules, &mut notes);
    let sudoers = accounts::sudoers(&mut notes);
    Facts {
        version: VERSION,
        host,
        collected_unix_s: now.as_secs(),
        notes,
        units,
        hooks,
        package_hosts,
        links,
        inodes,
        missing,
        unknown_users,
        users,
        sudoers,
    }
}
