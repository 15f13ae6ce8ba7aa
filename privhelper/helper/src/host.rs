//! Where everything stands on this host: values, so that tests bring their own.

use crate::audit::Place;
use crate::error::Fault;
use crate::sys::store;
use nix::time::{ClockId, clock_gettime};
use nix::unistd::{Gid, Group, Uid, User};
use postern_policy::Identity;
use std::path::PathBuf;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

/// Most bytes of passwd(5) and group(5).
const ACCOUNTS_MAX: u64 = 16 * 1024 * 1024;

/// A peer as the kernel reports it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Peer {
    /// Effective uid when it connected.
    pub uid: u32,
    /// Effective gid when it connected; for records alone.
    pub gid: u32,
    /// Process id when it connected; never used to decide.
    pub pid: i32,
}

/// How names become numbers: a value, so that tests need no users of their own.
#[derive(Debug, Clone, Copy)]
pub struct Accounts {
    /// The uid of a user.
    pub user: fn(&str) -> Option<u32>,
    /// The gid of a group and the uids of its members.
    pub group: fn(&str) -> Option<Members>,
}

/// A group: its gid and the uids of its listed members.
pub type Members = (u32, Vec<u32>);

/// The programs that root starts.
#[derive(Debug, Clone)]
pub struct Programs {
    /// systemctl of the host.
    pub systemctl: PathBuf,
    /// systemd-run of the host.
    pub systemd_run: PathBuf,
    /// journalctl of the host.
    pub journalctl: PathBuf,
}

/// The directories and sockets of CONTRACTS 1.
#[derive(Debug, Clone)]
pub struct Paths {
    /// Root's state: policy, undo, jobs, requests.
    pub state: PathBuf,
    /// The audit log's directory.
    pub log: PathBuf,
    /// What of root's state ends with this boot: a directory on a tmpfs.
    pub run: PathBuf,
    /// Where clients connect.
    pub helper_socket: PathBuf,
    /// Where operators connect.
    pub operator_socket: PathBuf,
    /// Where a gateway for a connection is had.
    pub gateway_socket: PathBuf,
    /// Where the journal takes messages with fields.
    pub journal_socket: PathBuf,
    /// The directory of passwd(5) and group(5).
    pub etc: PathBuf,
    /// Exists where systemd is PID 1 (`sd_booted(3)`).
    pub systemd: PathBuf,
}

/// This host.
#[derive(Debug, Clone)]
pub struct Host {
    /// What root starts.
    pub programs: Programs,
    /// Where things stand.
    pub paths: Paths,
    /// Who owns root's directories: 0 but in tests.
    pub owner_uid: u32,
    /// How names become numbers.
    pub accounts: Accounts,
    /// How the numbers of users become names, for what people read.
    pub user_name: fn(u32) -> String,
    /// How the numbers of groups become names, for what people read.
    pub group_name: fn(u32) -> String,
    /// The wall clock.
    pub now: fn() -> SystemTime,
    /// Time since boot, sleep included.
    pub since_boot: fn() -> Duration,
    /// This boot's id, as the kernel writes it.
    pub boot_id: String,
    /// Whether this kernel has Landlock.
    pub landlock: bool,
}

impl Host {
    /// The host as an installed Postern finds it.
    #[must_use]
    pub fn real(boot_id: String, landlock: bool) -> Self {
        let run = PathBuf::from("/run/postern");
        Self {
            programs: Programs {
                systemctl: "/usr/bin/systemctl".into(),
                systemd_run: "/usr/bin/systemd-run".into(),
                journalctl: "/usr/bin/journalctl".into(),
            },
            paths: Paths {
                state: "/var/lib/postern-helper".into(),
                log: "/var/log/postern".into(),
                run: "/run/postern-helper".into(),
                helper_socket: run.join("helper.sock"),
                operator_socket: run.join("operator.sock"),
                gateway_socket: run.join("gateway.sock"),
                journal_socket: "/run/systemd/journal/socket".into(),
                etc: "/etc".into(),
                systemd: "/run/systemd/system".into(),
            },
            owner_uid: 0,
            accounts: Accounts { user, group },
            user_name: |uid| {
                User::from_uid(Uid::from_raw(uid))
                    .ok()
                    .flatten()
                    .map_or_else(|| uid.to_string(), |user| user.name)
            },
            group_name: |gid| {
                Group::from_gid(Gid::from_raw(gid))
                    .ok()
                    .flatten()
                    .map_or_else(|| gid.to_string(), |group| group.name)
            },
            now: SystemTime::now,
            since_boot,
            boot_id,
            landlock,
        }
    }

    /// Where the audit log and its seal stand.
    #[must_use]
    pub fn audit(&self) -> Place {
        Place {
            log: self.paths.log.clone(),
            next: self.paths.state.join("seal/next"),
            running: self.paths.run.join("seal"),
            journal: self.paths.journal_socket.clone(),
            boot_id: self.boot_id.clone(),
            now: self.now,
            since_boot: self.since_boot,
        }
    }

    /// The users and groups of a uid, read from the local files at each decision: a changed membership holds at once.
    ///
    /// # Errors
    /// A file cannot be read.
    pub fn identity(&self, uid: u32) -> Result<Identity, Fault> {
        let read = |name| {
            let bytes = store::read(&self.paths.etc.join(name), ACCOUNTS_MAX)?;
            let bytes = bytes.ok_or(Fault::Program { what: format!("/etc/{name} does not exist") })?;
            Ok(String::from_utf8_lossy(&bytes).into_owned())
        };
        Ok(Identity::parse(uid, &read("passwd")?, &read("group")?))
    }

    /// Time since 1970.
    #[must_use]
    pub fn unix(&self) -> Duration {
        (self.now)().duration_since(UNIX_EPOCH).unwrap_or_default()
    }
}

/// A clock that cannot be read stands still: what waits then waits until somebody answers.
fn since_boot() -> Duration {
    clock_gettime(ClockId::CLOCK_BOOTTIME).map(Duration::from).unwrap_or_default()
}

fn user(name: &str) -> Option<u32> {
    User::from_name(name).ok().flatten().map(|user| user.uid.as_raw())
}

fn group(name: &str) -> Option<Members> {
    let group = Group::from_name(name).ok().flatten()?;
    Some((group.gid.as_raw(), group.mem.iter().filter_map(|member| user(member)).collect()))
}
