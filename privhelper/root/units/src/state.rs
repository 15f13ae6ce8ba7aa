//! The host as values that tests replace, the state that all orders share, and that of one order.

use postern_root::{Authority, Connection, Fault, Host as RootHost, Key, OrderId, UndoStore, store};
use std::os::unix::net::UnixStream;
use std::path::PathBuf;
use std::sync::{Mutex, MutexGuard, PoisonError};

/// The programs and directories of a machine; `main` builds the real one.
#[derive(Debug, Clone)]
pub struct Host {
    /// The accepted policy, accounts, keys and state.
    pub root: RootHost,
    /// systemctl(1).
    pub systemctl: PathBuf,
    /// Records of commands, with their secrets, on a tmpfs.
    pub commands: PathBuf,
    /// Held while dpkg or apt works on packages.
    pub dpkg_lock: PathBuf,
    /// The shutdown that systemd-logind(8) has scheduled: its time, mode and message for people.
    pub scheduled: PathBuf,
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
            dpkg_lock: "/var/lib/dpkg/lock-frontend".into(),
            scheduled: "/run/systemd/shutdown/scheduled".into(),
            systemd: "/run/systemd/system".into(),
        })
    }
}

/// The state that all orders share.
#[derive(Debug)]
pub struct State {
    pub(crate) host: Host,
    pub(crate) key: Key,
    /// The content that processes of rules' users replaced.
    pub(crate) undo: UndoStore,
    /// The orders under way in this process, also before PID 1 has their units.
    running: Mutex<Vec<OrderId>>,
    /// One `host.reboot` at a time: there is one schedule.
    pub(crate) reboot: Mutex<()>,
}

/// One order under way.
pub(crate) struct Work<'a> {
    pub state: &'a State,
    pub authority: &'a Authority<'a>,
    pub connection: &'a mut Connection<UnixStream>,
}

impl State {
    /// Loads the key of inverses. The policy is loaded anew for each order: an order of an hour must not keep the next
    /// policy waiting.
    ///
    /// # Errors
    /// It cannot be read.
    pub fn open(host: Host) -> Result<Self, Fault> {
        store::make_directory(&host.root.state.join("jobs"))?;
        let key = Key::open(&host.root.state.join("key"))?;
        let undo = UndoStore::open(&host.root.state.join("undo"))?;
        Ok(Self { host, key, undo, running: Mutex::default(), reboot: Mutex::default() })
    }

    pub(crate) fn running(&self) -> MutexGuard<'_, Vec<OrderId>> {
        self.running.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
