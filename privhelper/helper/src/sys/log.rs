//! The audit log's files and the seal's: what is done to them, and what tells that somebody else did.

use nix::fcntl::{FallocateFlags, fallocate};
use std::fs::{File, OpenOptions, Permissions};
use std::io;
use std::os::unix::fs::{FileExt, MetadataExt, OpenOptionsExt, PermissionsExt, fchown};
use std::path::{Path, PathBuf};
use std::time::SystemTime;

/// What tells one file from another, and its size.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Facts {
    /// Device and inode.
    pub id: (u64, u64),
    /// In bytes.
    pub size: u64,
    /// When it was made, if the file system knows.
    pub made: Option<SystemTime>,
    /// When it was last written.
    pub written: Option<SystemTime>,
}

impl From<std::fs::Metadata> for Facts {
    fn from(facts: std::fs::Metadata) -> Self {
        let id = (facts.dev(), facts.ino());
        Self { id, size: facts.len(), made: facts.created().ok(), written: facts.modified().ok() }
    }
}

/// Of an open file.
///
/// # Errors
/// As fstat(2).
pub fn facts(file: &File) -> io::Result<Facts> {
    file.metadata().map(Facts::from)
}

/// Of the file that stands there, if one does.
///
/// # Errors
/// As lstat(2).
pub fn facts_at(path: &Path) -> io::Result<Option<Facts>> {
    match std::fs::symlink_metadata(path) {
        Ok(facts) => Ok(Some(facts.into())),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
        Err(error) => Err(error),
    }
}

/// Opens a log for reading and appending, readable for the group of its directory; makes it if it is not there.
///
/// # Errors
/// It can't be opened, or given to that group.
pub fn open(path: &Path) -> io::Result<File> {
    let mut options = OpenOptions::new();
    options.read(true).append(true).create(true).mode(0o640).custom_flags(nix::libc::O_NOFOLLOW);
    #[expect(clippy::disallowed_methods, reason = "the audit log alone")]
    let file = options.open(path)?;
    // The umask has taken away what auditors need.
    file.set_permissions(Permissions::from_mode(0o640))?;
    fchown(&file, None, Some(std::fs::metadata(path.parent().unwrap_or(path))?.gid()))?;
    Ok(file)
}

/// Takes room on the disk behind a file's end; its size stays (fallocate(2)).
///
/// # Errors
/// There is none, or the file system can't.
pub fn allocate(file: &File, from: u64, size: u64) -> io::Result<()> {
    let number = |n: u64| i64::try_from(n).map_err(|_| io::ErrorKind::FileTooLarge);
    let (from, size) = (number(from)?, number(size)?);
    fallocate(file, FallocateFlags::FALLOC_FL_KEEP_SIZE, from, size).map_err(io::Error::from)
}

/// Gives a log another name in its directory, durably.
///
/// # Errors
/// As rename(2) and fsync(2).
pub fn rename(from: &Path, to: &Path) -> io::Result<()> {
    std::fs::rename(from, to)?;
    File::open(to.parent().unwrap_or(to))?.sync_all()
}

/// A small file that is overwritten where it stands, so that what it held is gone.
#[derive(Debug)]
pub struct Slot(File);

impl Slot {
    /// Opens it, and makes it if it is not there.
    ///
    /// # Errors
    /// As open(2).
    pub fn open(path: &Path) -> io::Result<Self> {
        let mut options = OpenOptions::new();
        options.read(true).write(true).create(true).truncate(false).mode(0o600);
        #[expect(clippy::disallowed_methods, reason = "the two files of the seal alone")]
        options.custom_flags(nix::libc::O_NOFOLLOW).open(path).map(Self)
    }

    /// Writes from its beginning. What is written always has the same size, so nothing of before stays.
    ///
    /// # Errors
    /// As pwrite(2).
    pub fn write(&self, content: &str) -> io::Result<()> {
        self.0.write_all_at(content.as_bytes(), 0)
    }

    /// As [`Self::write`], and waits until the disk has it.
    ///
    /// # Errors
    /// As pwrite(2) and fdatasync(2).
    pub fn write_through(&self, content: &str) -> io::Result<()> {
        self.write(content)?;
        self.0.sync_data()
    }
}

/// Why overwriting a file here does not erase it on the disk, if that is known (statfs(2), proc(5)).
#[must_use]
pub fn keeps_old(path: &Path) -> Option<String> {
    const COPYING: [(i64, &str); 5] = [
        (0x9123_683e, "btrfs"),
        (0x2fc1_2fc1, "zfs"),
        (0xf2f5_2010, "f2fs"),
        (0xca45_1a4e, "bcachefs"),
        (0x794c_7630, "overlayfs"),
    ];
    let kind = nix::sys::statfs::statfs(path).ok()?.filesystem_type().0;
    if let Some((_, name)) = COPYING.iter().find(|(magic, _)| *magic == kind) {
        return Some(format!("{name} writes elsewhere and keeps the old"));
    }
    let device = std::fs::metadata(path).ok()?.dev();
    let (major, minor) = (nix::sys::stat::major(device), nix::sys::stat::minor(device));
    let mounts = super::store::read(Path::new("/proc/self/mountinfo"), 1 << 20).ok()??;
    let device = format!(" {major}:{minor} ");
    let is_journaled = |line: &str| line.contains(&device) && line.contains("data=journal");
    let journaled = String::from_utf8_lossy(&mounts).lines().any(is_journaled);
    journaled.then(|| "ext4 with data=journal keeps copies in its journal".to_owned())
}

/// The files of a directory.
///
/// # Errors
/// It can't be read.
pub fn list(directory: &Path) -> io::Result<Vec<PathBuf>> {
    std::fs::read_dir(directory)?.map(|entry| entry.map(|entry| entry.path())).collect()
}
