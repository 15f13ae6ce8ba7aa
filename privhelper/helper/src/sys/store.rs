//! Root's own files below its state directory, which nobody else can reach.

use crate::error::Fault;
use postern_policy::types::Digest;
use std::fs::{DirBuilder, File, OpenOptions, Permissions};
use std::io::{self, Read, Seek, SeekFrom, Write};
use std::os::unix::fs::{OpenOptionsExt, PermissionsExt};
use std::path::{Path, PathBuf};

/// Most bytes of an accepted policy.
pub const POLICY_MAX: u64 = 16 * 1024 * 1024;
/// Most bytes that a job or a simulation may write into a file that the helper reads.
pub const JOB_MAX: u64 = 512 * 1024;

/// Makes a directory of mode 0700 if it is not there.
///
/// # Errors
/// It can't be made.
pub fn make_directory(path: &Path) -> Result<(), Fault> {
    if path.is_dir() {
        return Ok(());
    }
    let failed = "make a directory of the helper's own";
    DirBuilder::new().recursive(true).create(path).map_err(Fault::io(failed))?;
    // The umask takes away what a directory needs.
    std::fs::set_permissions(path, Permissions::from_mode(0o700)).map_err(Fault::io(failed))
}

/// The content of a file; none if it is not there.
///
/// # Errors
/// It can't be read, or is larger than `most` bytes.
pub fn read(path: &Path, most: u64) -> Result<Option<Vec<u8>>, Fault> {
    let file = match File::open(path) {
        Ok(file) => file,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
        Err(error) => return Err(Fault::Io { doing: "open a file of the helper's own", error }),
    };
    let mut content = Vec::new();
    file.take(most.saturating_add(1))
        .read_to_end(&mut content)
        .map_err(Fault::io("read a file of the helper's own"))?;
    if u64::try_from(content.len()).is_ok_and(|size| size > most) {
        return Err(Fault::Corrupt { what: "a file of the helper's own (too large)" });
    }
    Ok(Some(content))
}

/// What stands in a file behind this place, at most `most` bytes; nothing if it is not there.
///
/// # Errors
/// It can't be read.
pub fn read_behind(path: &Path, place: u64, most: u64) -> Result<Vec<u8>, Fault> {
    let mut file = match File::open(path) {
        Ok(file) => file,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Vec::new()),
        Err(error) => return Err(Fault::Io { doing: "open a file of the helper's own", error }),
    };
    let mut content = Vec::new();
    file.seek(SeekFrom::Start(place))
        .and_then(|_| file.take(most).read_to_end(&mut content))
        .map_err(Fault::io("read a file of the helper's own"))?;
    Ok(content)
}

/// Opens a log of mode `mode` for reading and appending, and makes it if it is not there.
///
/// # Errors
/// It can't be opened, or is a symbolic link.
pub fn open_log(path: &Path, mode: u32) -> Result<File, Fault> {
    let mut options = OpenOptions::new();
    options.read(true).append(true).create(true).mode(mode).custom_flags(nix::libc::O_NOFOLLOW);
    let file = open(&options, path)?;
    // The umask has taken away what auditors need.
    file.set_permissions(Permissions::from_mode(mode)).map_err(Fault::io("set a log's mode"))?;
    Ok(file)
}

/// Replaces a file as a whole: temporary name, fsync, rename, fsync of the directory.
///
/// # Errors
/// Any step failed; the old file then still stands.
pub fn replace(path: &Path, content: &[u8]) -> Result<(), Fault> {
    let temporary = path.with_extension("new");
    let mut options = OpenOptions::new();
    options.write(true).create(true).truncate(true).mode(0o600).custom_flags(nix::libc::O_NOFOLLOW);
    let mut file = open(&options, &temporary)?;
    file.write_all(content).map_err(Fault::io("write a file of the helper's own"))?;
    file.sync_all().map_err(Fault::io("sync a file of the helper's own"))?;
    std::fs::rename(&temporary, path).map_err(Fault::io("rename a file of the helper's own"))?;
    let directory = path.parent().unwrap_or(Path::new("/"));
    File::open(directory)
        .and_then(|dir| dir.sync_all())
        .map_err(Fault::io("sync a directory of the helper's own"))
}

/// Removes a directory of a job and what is in it.
///
/// # Errors
/// It can't be removed.
pub fn remove_directory(path: &Path) -> Result<(), Fault> {
    std::fs::remove_dir_all(path).map_err(Fault::io("remove a job's directory"))
}

/// What is in a directory of the helper's own.
///
/// # Errors
/// It can't be read.
pub fn list(path: &Path) -> Result<Vec<PathBuf>, Fault> {
    let entries = std::fs::read_dir(path).map_err(Fault::io("list a directory of the helper's own"))?;
    let paths = entries.map(|entry| entry.map(|entry| entry.path()));
    paths.collect::<Result<_, _>>().map_err(Fault::io("list a directory of the helper's own"))
}

/// Removes a file of the helper's own.
///
/// # Errors
/// It can't be removed.
pub fn remove_file(path: &Path) -> Result<(), Fault> {
    std::fs::remove_file(path).map_err(Fault::io("remove a file of the helper's own"))
}

fn open(options: &OpenOptions, path: &Path) -> Result<File, Fault> {
    #[expect(clippy::disallowed_methods, reason = "paths of the helper's own state alone")]
    options.open(path).map_err(Fault::io("open a file of the helper's own"))
}

/// 32 hex digits that nobody can guess (128 bits): of two random UUIDs of the kernel, random(4).
///
/// # Errors
/// The kernel gives none.
pub fn random_id() -> Result<String, Fault> {
    let random = || read(Path::new("/proc/sys/kernel/random/uuid"), 64);
    let parts = (random()?.unwrap_or_default(), random()?.unwrap_or_default());
    if parts.0.len() < 36 || parts.0 == parts.1 {
        return Err(Fault::Corrupt { what: "the kernel's source of random numbers" });
    }
    Ok(Digest::of(&[&parts.0, &parts.1]).to_string().chars().take(32).collect())
}
