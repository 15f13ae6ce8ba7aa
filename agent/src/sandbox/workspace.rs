//! A task's own directory, kept from call to call, and how much it may hold.
//!
//! It is opened once, component by component and without following a symbolic link, and its owner is checked on the
//! descriptor. From then on it is reached by that descriptor alone: whoever exchanges a name afterwards changes nothing.

use rustix::fs::{CWD, Mode, OFlags, fstat, mkdirat, openat};
use std::fs::{self, File, Permissions};
use std::io;
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, OwnedFd, RawFd};
use std::os::unix::fs::{MetadataExt, PermissionsExt};
use std::path::{Path, PathBuf};

/// The most bytes that a workspace may grow to.
pub const BYTES: u64 = 256 * 1024 * 1024;
/// The most files and directories.
pub const ENTRIES: u64 = 20_000;
/// The most bytes of one file.
pub const FILE: u64 = 64 * 1024 * 1024;

/// Bytes of the disk that a call leaves free, or a twentieth of the disk if that is less.
const RESERVE: u64 = 512 * 1024 * 1024;

/// Where workspaces stand: systemd's `STATE_DIRECTORY`.
pub fn state() -> io::Result<PathBuf> {
    let state = std::env::var_os("STATE_DIRECTORY").map(PathBuf::from);
    state.filter(|path| path.is_absolute()).ok_or_else(|| io::Error::other("STATE_DIRECTORY is not set"))
}

/// A task's directory.
#[derive(Debug)]
pub struct Workspace {
    path: PathBuf,
    directory: OwnedFd,
}

impl Workspace {
    /// Opens the task's directory, made where it is missing, with its own `tmp`.
    ///
    /// # Errors
    /// It cannot be made, is a symbolic link, or belongs to another user.
    pub fn open(state: &Path, task: &str) -> io::Result<Self> {
        let is_plain = |c: char| c.is_ascii_alphanumeric() || c == '_' || c == '-';
        if task.is_empty() || task.len() > 64 || !task.chars().all(is_plain) {
            return Err(io::Error::other(format!("{task:?} is no task's id")));
        }
        let state_directory = open_own(CWD, state)?;
        make(&state_directory, task)?;
        let directory = open_own(&state_directory, Path::new(task))?;
        make(&directory, "tmp")?;
        Ok(Self { path: state.join(task), directory })
    }

    /// The name that people and programs know it by.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// The descriptor's number.
    pub fn number(&self) -> RawFd {
        self.directory.as_raw_fd()
    }
}

impl AsFd for Workspace {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.directory.as_fd()
    }
}

/// The path of an open descriptor of this process.
pub fn of_descriptor(number: RawFd) -> PathBuf {
    PathBuf::from(format!("/proc/self/fd/{number}"))
}

fn make(parent: &OwnedFd, name: &str) -> io::Result<()> {
    match mkdirat(parent, name, Mode::RWXU) {
        Err(rustix::io::Errno::EXIST) => Ok(()),
        made => Ok(made?),
    }
}

/// Opens a directory of this process's own user, and closes it to all others.
fn open_own(parent: impl AsFd, name: &Path) -> io::Result<OwnedFd> {
    let failed = |why: String| io::Error::other(format!("{}: {why}", name.display()));
    // Without a right to read: an earlier call may have closed it to its owner too.
    let flags = OFlags::PATH | OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
    let found = openat(parent, name, flags, Mode::empty()).map_err(|error| failed(error.to_string()))?;
    let (owner, own) = (fstat(&found)?.st_uid, nix::unistd::geteuid().as_raw());
    if owner != own {
        return Err(failed(format!("belongs to uid {owner}, not to {own}")));
    }
    fs::set_permissions(of_descriptor(found.as_raw_fd()), Permissions::from_mode(0o700))?;
    Ok(openat(&found, ".", OFlags::RDONLY | OFlags::DIRECTORY | OFlags::CLOEXEC, Mode::empty())?)
}

/// The file over which calls take their turns.
pub fn turns(state: &Path) -> io::Result<File> {
    File::options().create(true).truncate(false).write(true).open(state.join(".turns"))
}

/// How much a directory holds.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Size {
    /// On the disk.
    pub bytes: u64,
    /// Files and directories.
    pub entries: u64,
}

impl Size {
    /// Measures all that is below a directory. A directory that cannot be read counts as too large. Stops far above
    /// a limit.
    pub fn of(path: &Path) -> Self {
        let mut size = Self::default();
        let mut open = vec![path.to_owned()];
        while let Some(directory) = open.pop() {
            match size.add(&directory) {
                Ok(below) => open.extend(below),
                Err(error) if error.kind() == io::ErrorKind::NotFound => {}
                Err(_) => return Self { bytes: u64::MAX, entries: u64::MAX },
            }
            if size.entries > 2 * ENTRIES {
                return size;
            }
        }
        size
    }

    /// Adds what a directory holds; returns the directories in it.
    fn add(&mut self, directory: &Path) -> io::Result<Vec<PathBuf>> {
        let mut below = Vec::new();
        for entry in fs::read_dir(directory)? {
            let entry = entry?;
            let metadata = match entry.metadata() {
                Err(error) if error.kind() == io::ErrorKind::NotFound => continue,
                metadata => metadata?,
            };
            self.entries += 1;
            self.bytes += metadata.blocks() * 512;
            if metadata.is_dir() {
                let path = entry.path();
                // A directory that its owner closed to itself hides what is in it.
                if metadata.mode() & 0o700 != 0o700 {
                    let _ = fs::set_permissions(&path, Permissions::from_mode(0o700));
                }
                below.push(path);
            }
        }
        Ok(below)
    }

    /// It is over the limits, and more than it was: who finds it full may still delete.
    pub fn is_too_much(self, before: Self) -> bool {
        let is_over = |now: u64, most: u64, was: u64| now > most.max(was) || now == u64::MAX;
        is_over(self.bytes, BYTES, before.bytes) || is_over(self.entries, ENTRIES, before.entries)
    }
}

/// The file system of a directory is nearly full: what was deleted and is still open counts for nobody.
pub fn is_nearly_full(path: &Path) -> bool {
    rustix::fs::statvfs(path).is_ok_and(|at| {
        let reserve = (at.f_blocks / 20).saturating_mul(at.f_frsize).min(RESERVE);
        at.f_bavail.saturating_mul(at.f_frsize) < reserve
    })
}
