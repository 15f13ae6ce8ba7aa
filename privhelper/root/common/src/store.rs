//! Files of the program's own state directory, which nobody else can write.

use crate::error::Fault;
use nix::errno::Errno;
use nix::fcntl::{AT_FDCWD, RenameFlags, renameat2};
use nix::unistd::{UnlinkatFlags, unlinkat};
use std::fs::{DirBuilder, File, OpenOptions};
use std::io::{self, Read, Write};
use std::os::unix::fs::{DirBuilderExt, OpenOptionsExt};
use std::path::{Path, PathBuf};

/// When a file is synced to the disk.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Durability {
    /// When the call returns: it survives a power loss.
    Synced,
    /// When the kernel writes it: it survives a kill of this program.
    Cached,
}

/// Makes a directory of mode 0700 if it is not there.
///
/// # Errors
/// It cannot be made.
pub fn make_directory(path: &Path) -> Result<(), Fault> {
    let made = DirBuilder::new().recursive(true).mode(0o700).create(path);
    made.map_err(Fault::io("make a directory of our own state"))
}

/// Reads a file; none if it is not there.
///
/// # Errors
/// It cannot be read, or is larger than `max` bytes.
pub fn read(path: &Path, max: u64) -> Result<Option<Vec<u8>>, Fault> {
    let file = match File::open(path) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
        opened => opened.map_err(Fault::io("open a file of our own state"))?,
    };
    read_capped(file, max).map(Some).map_err(Fault::io("read a file of our own state"))
}

/// Reads all of the input.
///
/// # Errors
/// It cannot be read, or is longer than `max` bytes.
pub fn read_capped(input: impl Read, max: u64) -> io::Result<Vec<u8>> {
    let mut bytes = Vec::new();
    let length = input.take(max.saturating_add(1)).read_to_end(&mut bytes)?;
    if u64::try_from(length).is_ok_and(|length| length <= max) {
        return Ok(bytes);
    }
    Err(io::Error::new(io::ErrorKind::FileTooLarge, format!("it is larger than {max} bytes")))
}

/// Makes a file; false if there is one already. A kill may leave it with a part of its content.
///
/// # Errors
/// It cannot be made.
pub fn claim(path: &Path, parts: &[&[u8]]) -> Result<bool, Fault> {
    let made = create(path).and_then(|mut file| parts.iter().try_for_each(|part| file.write_all(part)));
    if made.as_ref().is_err_and(|error| error.kind() == io::ErrorKind::AlreadyExists) {
        return Ok(false);
    }
    let made = made.map_err(Fault::io("make a file of our own state"));
    made.map(|()| true).inspect_err(|_| drop(remove(path)))
}

/// Replaces a file as a whole, by a temporary name and a rename. `parts` are written one after the other.
///
/// # Errors
/// Any step failed; the old file is still there.
pub fn replace(path: &Path, parts: &[&[u8]], durability: Durability) -> Result<(), Fault> {
    let temporary = path.with_extension("new");
    remove(&temporary)?;
    let write = || -> io::Result<()> {
        let mut file = create(&temporary)?;
        parts.iter().try_for_each(|part| file.write_all(part))?;
        if durability == Durability::Synced {
            file.sync_all()?;
        }
        renameat2(AT_FDCWD, &temporary, AT_FDCWD, path, RenameFlags::empty())?;
        if durability == Durability::Synced {
            File::open(path.parent().unwrap_or(Path::new("/")))?.sync_all()?;
        }
        Ok(())
    };
    // On a full disk a partial file would use space.
    write().map_err(Fault::io("write a file of our own state")).inspect_err(|_| drop(remove(&temporary)))
}

/// Removes a file, if it is there.
///
/// # Errors
/// It cannot be removed.
pub fn remove(path: &Path) -> Result<(), Fault> {
    match unlinkat(AT_FDCWD, path, UnlinkatFlags::NoRemoveDir) {
        Ok(()) | Err(Errno::ENOENT) => Ok(()),
        Err(errno) => Err(Fault::io("remove a file of our own state")(errno)),
    }
}

/// The paths in a directory.
///
/// # Errors
/// It cannot be read.
pub fn list(path: &Path) -> Result<Vec<PathBuf>, Fault> {
    let failed = "list a directory of our own state";
    let entries = std::fs::read_dir(path).map_err(Fault::io(failed))?;
    entries.map(|entry| entry.map(|entry| entry.path())).collect::<Result<_, _>>().map_err(Fault::io(failed))
}

/// Makes a file of mode 0600 for appending; an existing name of any kind is an error.
///
/// # Errors
/// As open(2).
pub fn create(path: &Path) -> io::Result<File> {
    #[expect(clippy::disallowed_methods, reason = "paths of the program's own state alone")]
    OpenOptions::new().append(true).create_new(true).mode(0o600).open(path)
}
