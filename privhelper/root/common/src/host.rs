//! Paths, accounts and clock of the host, as values that tests replace; and the accepted policy.

use crate::error::Fault;
use crate::store;
use nix::fcntl::{FcntlArg, fcntl};
use nix::libc;
use postern_policy::{self as policy, Policy};
use postern_proto::v1::{FileInfo, FileType};
use std::fs::File;
use std::io::{ErrorKind, Write};
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

/// Largest accepted policy, and largest account file, in bytes.
const FILE_MAX: u64 = 16 * 1024 * 1024;

/// The parts of the host that all of root's programs use.
#[derive(Debug, Clone)]
pub struct Host {
    /// `files` or `units`: the family in this program's inverses.
    pub family: &'static str,
    /// The accepted policy.
    pub accepted: PathBuf,
    /// The key of stages and agreements.
    pub validator_key: PathBuf,
    /// The program's own state directory.
    pub state: PathBuf,
    /// passwd(5).
    pub passwd: PathBuf,
    /// group(5).
    pub group: PathBuf,
    /// This boot's id, as approvals name it.
    pub boot_id: String,
    /// The required owner of directories, programs and the policy: 0, except in tests.
    pub root_uid: u32,
    /// The only uid that may connect.
    pub peer_uid: u32,
    /// The wall clock.
    pub now: fn() -> SystemTime,
}

impl Host {
    /// Returns the installed host. Only the recorder may connect.
    ///
    /// # Errors
    /// The account of the recorder or the boot id cannot be read.
    pub fn real(family: &'static str, state: &str) -> Result<Self, Fault> {
        let boot_id = store::read(Path::new("/proc/sys/kernel/random/boot_id"), 64)?.unwrap_or_default();
        let policy = Path::new("/var/lib/postern-policy");
        let mut host = Self {
            family,
            accepted: policy.join("accepted.pb"),
            validator_key: policy.join("validator.key"),
            state: state.into(),
            passwd: "/etc/passwd".into(),
            group: "/etc/group".into(),
            boot_id: String::from_utf8_lossy(&boot_id).trim().to_owned(),
            root_uid: 0,
            peer_uid: 0,
            now: SystemTime::now,
        };
        let peer = host.accounts()?.user("postern-audit");
        host.peer_uid = peer.ok_or_else(|| Fault::new("no user postern-audit"))?;
        Ok(host)
    }

    /// Time since 1970.
    #[must_use]
    pub fn unix(&self) -> Duration {
        (self.now)().duration_since(UNIX_EPOCH).unwrap_or_default()
    }

    /// Reads the accounts as they are now.
    ///
    /// # Errors
    /// A file is missing or cannot be read.
    pub fn accounts(&self) -> Result<Accounts, Fault> {
        let text = |path| {
            let bytes = store::read(path, FILE_MAX)?.ok_or_else(|| Fault::corrupt("passwd or group"))?;
            Ok(String::from_utf8_lossy(&bytes).into_owned())
        };
        Ok(Accounts { passwd: text(&self.passwd)?, group: text(&self.group)? })
    }
}

/// Local accounts: names and numbers from passwd(5) and group(5). No NSS, read anew for each order.
#[derive(Debug)]
pub struct Accounts {
    passwd: String,
    group: String,
}

impl Accounts {
    /// Returns the names of this uid.
    #[must_use]
    pub fn identity(&self, uid: u32) -> policy::Identity {
        policy::Identity::parse(uid, &self.passwd, &self.group)
    }

    /// The uid of this user.
    #[must_use]
    pub fn user(&self, name: &str) -> Option<u32> {
        entries(&self.passwd).find(|entry| entry.0 == name).map(|entry| entry.1)
    }

    /// The gid of this group.
    #[must_use]
    pub fn group(&self, name: &str) -> Option<u32> {
        entries(&self.group).find(|entry| entry.0 == name).map(|entry| entry.1)
    }

    /// The name of this uid.
    #[must_use]
    pub fn user_name(&self, uid: u32) -> Option<&str> {
        entries(&self.passwd).find(|entry| entry.1 == uid).map(|entry| entry.0)
    }

    /// The name of this gid.
    #[must_use]
    pub fn group_name(&self, gid: u32) -> Option<&str> {
        entries(&self.group).find(|entry| entry.1 == gid).map(|entry| entry.0)
    }

    /// A file as a client gets it, without its size and content.
    #[must_use]
    pub fn file_info(&self, path: String, r#type: FileType, mode: String, owner: (u32, u32)) -> FileInfo {
        let (uid, gid) = owner;
        let owner = self.user_name(uid).map_or_else(|| uid.to_string(), str::to_owned);
        let group = self.group_name(gid).map_or_else(|| gid.to_string(), str::to_owned);
        FileInfo { path, r#type: r#type.into(), mode, owner, group, ..FileInfo::default() }
    }
}

/// Name and number of each line: the first and the third field of both files.
fn entries(text: &str) -> impl Iterator<Item = (&str, u32)> {
    text.lines().filter_map(|line| {
        let mut fields = line.split(':');
        let name = fields.next().filter(|name| !name.is_empty() && !name.starts_with(['+', '-', '#']))?;
        Some((name, fields.nth(1)?.parse().ok()?))
    })
}

/// The process that holds a lock as apt and dpkg take it (fcntl(2), whole file); none if there is no such file.
///
/// # Errors
/// The lock cannot be read.
pub fn lock_holder(path: &Path) -> Result<Option<i32>, Fault> {
    let file = match File::open(path) {
        Err(error) if error.kind() == ErrorKind::NotFound => return Ok(None),
        opened => opened.map_err(Fault::io("open a lock of packages"))?,
    };
    let write = i16::try_from(libc::F_WRLCK).unwrap_or_default();
    let mut lock = libc::flock { l_type: write, l_whence: 0, l_start: 0, l_len: 0, l_pid: 0 };
    fcntl(&file, FcntlArg::F_GETLK(&mut lock)).map_err(Fault::io("read a lock of packages"))?;
    Ok((i32::from(lock.l_type) != libc::F_UNLCK).then_some(lock.l_pid))
}

/// Identifies a directory whatever it holds, or one version of a file: inode, mode and owner, and of a file size and time of
/// its content.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Identity([u64; 5], Option<(u64, i64, i64)>);

impl Identity {
    /// Of the inode at this path. None if there is none.
    #[must_use]
    pub fn of(path: &Path) -> Option<Self> {
        let stat = std::fs::symlink_metadata(path).ok()?;
        let inode = [stat.dev(), stat.ino(), stat.mode().into(), stat.uid().into(), stat.gid().into()];
        Some(Self(inode, stat.is_file().then(|| (stat.size(), stat.mtime(), stat.mtime_nsec()))))
    }
}

/// The accepted policy as it was loaded. It is compared with the file before each connection is accepted.
#[derive(Debug)]
pub struct ActivePolicy {
    path: PathBuf,
    loaded: Option<Identity>,
    /// The rules.
    pub policy: Policy,
}

impl ActivePolicy {
    /// Loads the accepted policy. One that is missing or damaged admits nobody.
    ///
    /// # Errors
    /// It cannot be read.
    pub fn load(host: &Host) -> Result<Self, Fault> {
        let path = host.accepted.clone();
        // Before the content: a file replaced in between is loaded again, never taken for the loaded one.
        let loaded = Identity::of(&path);
        let bytes = store::read(&path, FILE_MAX)?;
        let policy = bytes.map(|bytes| Policy::load(&bytes)).transpose().unwrap_or_else(|what| {
            // <3>: error, sd-daemon(3).
            drop(writeln!(std::io::stderr(), "<3>{what}; nobody is admitted"));
            None
        });
        Ok(Self { path, loaded, policy: policy.unwrap_or_default() })
    }

    /// Whether the file is still the one that was loaded.
    #[must_use]
    pub fn is_current(&self) -> bool {
        Identity::of(&self.path) == self.loaded
    }
}
