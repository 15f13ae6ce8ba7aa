//! The programs of apt and dpkg, as values that tests replace.

use std::path::PathBuf;
use std::process::{Command, Output};

/// The programs of apt and dpkg, and the files that tell their state.
#[derive(Debug, Clone)]
pub struct Host {
    /// apt-get(8).
    pub apt_get: PathBuf,
    /// apt-cache(8).
    pub apt_cache: PathBuf,
    /// apt-mark(8).
    pub apt_mark: PathBuf,
    /// dpkg(1).
    pub dpkg: PathBuf,
    /// dpkg-query(1).
    pub dpkg_query: PathBuf,
    /// dpkg's lock that a front end takes.
    pub dpkg_lock: PathBuf,
    /// The lock of the package lists.
    pub lists_lock: PathBuf,
    /// Where an interrupted dpkg leaves updates of its records.
    pub dpkg_updates: PathBuf,
    /// Runs a read-only program to its end; the probe's version has a time limit.
    pub run: fn(&mut Command) -> std::io::Result<Output>,
}

impl Host {
    /// The programs of a Debian host.
    #[must_use]
    pub fn debian() -> Self {
        Self {
            apt_get: "/usr/bin/apt-get".into(),
            apt_cache: "/usr/bin/apt-cache".into(),
            apt_mark: "/usr/bin/apt-mark".into(),
            dpkg: "/usr/bin/dpkg".into(),
            dpkg_query: "/usr/bin/dpkg-query".into(),
            dpkg_lock: "/var/lib/dpkg/lock-frontend".into(),
            lists_lock: "/var/lib/apt/lists/lock".into(),
            dpkg_updates: "/var/lib/dpkg/updates".into(),
            run: Command::output,
        }
    }
}
