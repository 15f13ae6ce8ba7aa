//! Paths, users and clocks of the host, as values that tests replace.

use crate::fault::Fault;
use crate::log::Location;
use nix::time::{ClockId, clock_gettime};
use postern_peers::files::random;
use postern_policy::types::hex;
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime};

/// Paths, users and clocks of one host.
#[derive(Debug, Clone)]
pub struct Host {
    /// The audit log, its keys, and the clocks.
    pub audit: Location,
    /// The recorder's state: pause and reserve.
    pub state: PathBuf,
    /// The accepted policy.
    pub accepted: PathBuf,
    /// The socket that the broker connects to.
    pub recorder_socket: PathBuf,
    /// The socket that operators connect to.
    pub operator_socket: PathBuf,
    /// The socket that people connect to.
    pub person_socket: PathBuf,
    /// The socket of postern-files.
    pub files: PathBuf,
    /// The socket of postern-units, which starts packages and commands too.
    pub units: PathBuf,
    /// The socket of the probe for reads that were recorded.
    pub asked: PathBuf,
    /// The socket of the unit that writes to operators' terminals.
    pub announce: PathBuf,
    /// passwd(5).
    pub passwd: PathBuf,
    /// group(5).
    pub group: PathBuf,
    /// The uid that may apply a policy: 0, except in tests.
    pub owner_uid: u32,
    /// The broker.
    pub peer_uid: u32,
}

impl Host {
    /// Returns the host as an installed Postern finds it.
    ///
    /// # Errors
    /// There is no user `postern-broker`, or the boot's id cannot be read.
    pub fn real() -> Result<Self, Fault> {
        let internal = Path::new("/run/postern/internal");
        let state = PathBuf::from("/var/lib/postern-audit");
        let text =
            |path: &str| std::fs::read_to_string(path).map_err(Fault::io("read the boot id and the users"));
        let boot_id = text("/proc/sys/kernel/random/boot_id")?.trim().to_owned();
        let accounts = text("/etc/passwd")?;
        let uid = |line: &str| line.strip_prefix("postern-broker:")?.split(':').nth(1)?.parse().ok();
        let peer_uid = accounts.lines().find_map(uid);
        Ok(Self {
            audit: Location {
                log: "/var/log/postern".into(),
                next: state.join("seal/next"),
                running: "/run/postern-audit/seal".into(),
                journal: "/run/systemd/journal/socket".into(),
                boot_id,
                now: SystemTime::now,
                // A clock that cannot be read stands still: what waits then waits until somebody answers.
                since_boot: || clock_gettime(ClockId::CLOCK_BOOTTIME).map(Duration::from).unwrap_or_default(),
            },
            state,
            accepted: "/var/lib/postern-policy/accepted.pb".into(),
            recorder_socket: internal.join("recorder.sock"),
            operator_socket: "/run/postern/operator.sock".into(),
            person_socket: "/run/postern/person.sock".into(),
            files: internal.join("files.sock"),
            units: internal.join("units.sock"),
            asked: internal.join("asked.sock"),
            announce: internal.join("announce.sock"),
            passwd: "/etc/passwd".into(),
            group: "/etc/group".into(),
            owner_uid: 0,
            peer_uid: peer_uid.ok_or_else(|| Fault::corrupt("the user postern-broker"))?,
        })
    }

    /// Returns the socket of a family of effects: files, or units, which starts packages and commands too.
    pub fn family(&self, family: &str) -> &Path {
        if family == "files" { &self.files } else { &self.units }
    }
}

/// Returns 32 hex digits that nobody can guess (128 bits).
///
/// # Errors
/// The kernel gives no random bytes (random(4)).
pub fn random_id() -> Result<String, Fault> {
    let bytes = random::<16>().map_err(Fault::io("read random bytes"))?;
    Ok(hex(&bytes))
}
