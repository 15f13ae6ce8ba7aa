//! Where everything is on this host: values, so that tests bring their own.

use crate::fault::Fault;
use crate::log::Location;
use crate::sys::files;
use nix::time::{ClockId, clock_gettime};
use postern_policy::Identity;
use std::io::Read;
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

/// Most bytes of an account file.
const ACCOUNTS_MAX: u64 = 16 * 1024 * 1024;

/// This host, with the names of CONTRACTS 1.
#[derive(Debug, Clone)]
pub struct Host {
    /// The audit log's directory.
    pub log: PathBuf,
    /// The recorder's state: seal seed, pause, reserve.
    pub state: PathBuf,
    /// State that ends with this boot: the seal's keys.
    pub run: PathBuf,
    /// The accepted policy.
    pub accepted: PathBuf,
    /// The socket that the broker connects to.
    pub recorder_socket: PathBuf,
    /// The socket that operators connect to.
    pub operator_socket: PathBuf,
    /// The socket of postern-files.
    pub files: PathBuf,
    /// The socket of postern-units, which starts packages and commands too.
    pub units: PathBuf,
    /// The socket of the probe for reads that were recorded.
    pub asked: PathBuf,
    /// The socket of the unit that writes to operators' terminals.
    pub announce: PathBuf,
    /// The journal's socket.
    pub journal: PathBuf,
    /// passwd(5).
    pub passwd: PathBuf,
    /// group(5).
    pub group: PathBuf,
    /// Who may say that a policy is applied: 0 but in tests.
    pub owner_uid: u32,
    /// The broker.
    pub peer_uid: u32,
    /// The wall clock.
    pub now: fn() -> SystemTime,
    /// Time since boot, sleep included.
    pub since_boot: fn() -> Duration,
    /// This boot's id, as the kernel writes it.
    pub boot_id: String,
}

impl Host {
    /// Returns the host as an installed Postern finds it.
    ///
    /// # Errors
    /// There is no user `postern-broker`, or the boot's id cannot be read.
    pub fn real() -> Result<Self, Fault> {
        let internal = Path::new("/run/postern/internal");
        let boot_id = text(Path::new("/proc/sys/kernel/random/boot_id"))?.trim().to_owned();
        let passwd = PathBuf::from("/etc/passwd");
        let accounts = text(&passwd)?;
        let uid = |line: &str| line.strip_prefix("postern-broker:")?.split(':').nth(1)?.parse().ok();
        let peer_uid = accounts.lines().find_map(uid);
        Ok(Self {
            log: "/var/log/postern".into(),
            state: "/var/lib/postern-audit".into(),
            run: "/run/postern-audit".into(),
            accepted: "/var/lib/postern-policy/accepted.pb".into(),
            recorder_socket: internal.join("recorder.sock"),
            operator_socket: "/run/postern/operator.sock".into(),
            files: internal.join("files.sock"),
            units: internal.join("units.sock"),
            asked: internal.join("asked.sock"),
            announce: internal.join("announce.sock"),
            journal: "/run/systemd/journal/socket".into(),
            passwd,
            group: "/etc/group".into(),
            owner_uid: 0,
            peer_uid: peer_uid.ok_or(Fault::Corrupt { what: "the user postern-broker" })?,
            now: SystemTime::now,
            // A clock that cannot be read stands still: what waits then waits until somebody answers.
            since_boot: || clock_gettime(ClockId::CLOCK_BOOTTIME).map(Duration::from).unwrap_or_default(),
            boot_id,
        })
    }

    /// Returns where the audit log and its seal are.
    pub fn location(&self) -> Location {
        Location {
            log: self.log.clone(),
            next: self.state.join("seal/next"),
            running: self.run.join("seal"),
            journal: self.journal.clone(),
            boot_id: self.boot_id.clone(),
            now: self.now,
            since_boot: self.since_boot,
        }
    }

    /// Returns the socket of a family of effects: files, or units, which starts packages and commands too.
    pub fn family(&self, family: &str) -> &Path {
        if family == "files" { &self.files } else { &self.units }
    }

    /// Returns the time since 1970.
    pub fn unix(&self) -> Duration {
        (self.now)().duration_since(UNIX_EPOCH).unwrap_or_default()
    }

    /// Reads who a uid is from the account files.
    ///
    /// # Errors
    /// They cannot be read.
    pub fn identity(&self, uid: u32) -> Result<Identity, Fault> {
        Ok(Identity::parse(uid, &text(&self.passwd)?, &text(&self.group)?))
    }
}

fn text(path: &Path) -> Result<String, Fault> {
    let bytes = files::read(path, ACCOUNTS_MAX).map_err(Fault::io("read an account file or the boot id"))?;
    Ok(String::from_utf8_lossy(&bytes.unwrap_or_default()).into_owned())
}

/// Returns 32 hex digits that nobody can guess (128 bits).
///
/// # Errors
/// The kernel gives no random bytes (random(4)).
pub fn random_id() -> Result<String, Fault> {
    let mut bytes = [0; 16];
    let read = std::fs::File::open("/dev/urandom").and_then(|mut file| file.read_exact(&mut bytes));
    read.map_err(Fault::io("read random bytes"))?;
    Ok(postern_seal::hex(&bytes))
}
