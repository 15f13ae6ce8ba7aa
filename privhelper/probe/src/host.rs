//! Programs, sockets and accounts of the host, as values that tests replace.

use crate::child;
use postern_root::{Fault, Host as RootHost};
use std::path::PathBuf;

/// The parts of the host that the probe uses; `main` builds the real one.
#[derive(Debug, Clone)]
pub struct Host {
    /// The accepted policy and the accounts. Its `peer_uid` is the recorder's, which alone may connect to `asked_socket`.
    pub root: RootHost,
    /// The broker's uid, which alone may connect to `probe_socket`.
    pub broker_uid: u32,
    /// The socket for the broker's questions.
    pub probe_socket: PathBuf,
    /// The socket for reads that the recorder passes on.
    pub asked_socket: PathBuf,
    /// apt and dpkg.
    pub apt: postern_apt::Host,
    /// journalctl(1).
    pub journalctl: PathBuf,
    /// The address of the system bus.
    pub bus: String,
    /// Exists where systemd is PID 1 (`sd_booted(3)`).
    pub systemd: PathBuf,
}

impl Host {
    /// Returns the installed host.
    ///
    /// # Errors
    /// There is no user `postern-broker` or `postern-audit`, or the boot id cannot be read.
    pub fn real() -> Result<Self, Fault> {
        // It keeps no state and signs nothing.
        let root = RootHost::real("probe", "/nonexistent")?;
        let broker = root.accounts()?.user("postern-broker");
        Ok(Self {
            broker_uid: broker.ok_or_else(|| Fault::new("no user postern-broker"))?,
            root,
            probe_socket: "/run/postern/internal/probe.sock".into(),
            asked_socket: "/run/postern/internal/asked.sock".into(),
            apt: postern_apt::Host { run: child::run_apt, ..postern_apt::Host::debian() },
            journalctl: "/usr/bin/journalctl".into(),
            bus: "unix:path=/run/dbus/system_bus_socket".to_owned(),
            systemd: "/run/systemd/system".into(),
        })
    }
}
