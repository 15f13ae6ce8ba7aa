//! Programs and directories of the host, as values that tests replace.

use postern_root::{Fault, Host as RootHost};
use std::path::PathBuf;

/// The programs and directories of a machine; `main` builds the real one.
#[derive(Debug, Clone)]
pub struct Host {
    /// The accepted policy, accounts, keys and state.
    pub root: RootHost,
    /// systemctl(1).
    pub systemctl: PathBuf,
    /// Records of commands, with their secrets, on a tmpfs.
    pub commands: PathBuf,
    /// Exists where systemd is PID 1 (`sd_booted(3)`).
    pub systemd: PathBuf,
}

impl Host {
    /// The installed host.
    ///
    /// # Errors
    /// As [`RootHost::real`].
    pub fn real() -> Result<Self, Fault> {
        Ok(Self {
            root: RootHost::real("units", "/var/lib/postern-root")?,
            systemctl: "/usr/bin/systemctl".into(),
            commands: "/run/postern-jobs".into(),
            systemd: "/run/systemd/system".into(),
        })
    }
}
