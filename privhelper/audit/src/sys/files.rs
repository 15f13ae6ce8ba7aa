//! Files of the recorder: the audit log, the seal's keys, and small state files.

use nix::fcntl::{FallocateFlags, fallocate};
use std::fs::{File, Metadata, OpenOptions, Permissions};
use std::io;
use std::os::unix::fs::{MetadataExt, OpenOptionsExt, PermissionsExt, fchown};
use std::path::Path;

/// Returns the metadata of the file at this path, none if there is none.
///
/// # Errors
/// As lstat(2).
pub fn metadata(path: &Path) -> io::Result<Option<Metadata>> {
    match std::fs::symlink_metadata(path) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
        found => found.map(Some),
    }
}

/// Opens a log for reading and appending, readable for the group of its directory; creates it if absent.
///
/// # Errors
/// As open(2), fchmod(2) and fchown(2).
pub fn open_log(path: &Path) -> io::Result<File> {
    let mut options = OpenOptions::new();
    options.read(true).append(true).create(true).mode(0o640).custom_flags(nix::libc::O_NOFOLLOW);
    let file = open(&options, path)?;
    // The umask has removed the group's permission, which auditors need.
    file.set_permissions(Permissions::from_mode(0o640))?;
    fchown(&file, None, Some(std::fs::metadata(path.parent().unwrap_or(path))?.gid()))?;
    Ok(file)
}

/// Allocates disk space after a file's end; its size stays (fallocate(2)).
///
/// # Errors
/// No space, or the file system has no fallocate (`Unsupported`).
pub fn allocate(file: &File, from: u64, size: u64) -> io::Result<()> {
    let number = |n: u64| i64::try_from(n).map_err(|_| io::ErrorKind::FileTooLarge);
    let (from, size) = (number(from)?, number(size)?);
    fallocate(file, FallocateFlags::FALLOC_FL_KEEP_SIZE, from, size).map_err(io::Error::from)
}

/// Renames a file within its directory, durably.
///
/// # Errors
/// As rename(2) and fsync(2).
pub fn rename(from: &Path, to: &Path) -> io::Result<()> {
    std::fs::rename(from, to)?;
    File::open(to.parent().unwrap_or(to))?.sync_all()
}

/// Replaces a small file as a whole, durably.
///
/// # Errors
/// A step failed; the old file is then unchanged, or replaced and not durable yet.
pub fn replace(path: &Path, content: &[u8]) -> io::Result<()> {
    postern_peers::files::replace(path, content)?;
    File::open(path.parent().unwrap_or(path))?.sync_all()
}

fn open(options: &OpenOptions, path: &Path) -> io::Result<File> {
    #[expect(clippy::disallowed_methods, reason = "constant paths of the recorder's own state")]
    options.open(path)
}

/// Opens a small file that is overwritten in place, which erases its old content on most file systems; creates it if absent.
///
/// # Errors
/// As open(2).
pub fn open_slot(path: &Path) -> io::Result<File> {
    let mut options = OpenOptions::new();
    options.read(true).write(true).create(true).truncate(false).mode(0o600);
    open(options.custom_flags(nix::libc::O_NOFOLLOW), path)
}

/// Disk space that is freed while operators pause or undo on a full disk.
pub struct Reserve(File);

/// While this lives, the reserve's space is free.
pub struct FreedReserve<'a>(&'a Reserve);

impl Reserve {
    /// 4 MiB: what a pause writes, and an undo of a file of usual size.
    const SIZE: u64 = 4 * 1024 * 1024;

    /// Takes the space, in a file without content.
    ///
    /// # Errors
    /// The file cannot be opened. A disk that is full now is no error: the space is taken later.
    pub fn open(path: &Path) -> io::Result<Self> {
        let reserve = Self(open_slot(path)?);
        reserve.keep();
        Ok(reserve)
    }

    /// Takes the space again if there is some.
    pub fn keep(&self) {
        // Tried again a second later.
        drop(allocate(&self.0, 0, Self::SIZE));
    }

    /// Frees the space for a while.
    pub fn free(&self) -> FreedReserve<'_> {
        // If it fails, the next write reports that there is no space.
        drop(self.0.set_len(0));
        FreedReserve(self)
    }
}

impl Drop for FreedReserve<'_> {
    fn drop(&mut self) {
        self.0.keep();
    }
}
