//! Files that this program writes: its own, for everybody to read, and files of the policy that it restores.

use std::fs::{DirBuilder, File, Permissions};
use std::io::{self, Write};
use std::os::unix::fs::{DirBuilderExt, MetadataExt, PermissionsExt, fchown};
use std::path::Path;
use std::time::{SystemTime, UNIX_EPOCH};

/// Seconds since 1970.
#[must_use]
pub fn now() -> u64 {
    SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default().as_secs()
}

/// Writes a file whole or not at all, also when the power goes.
///
/// # Errors
/// It cannot be written; what was there stays.
pub fn replace(directory: &Path, name: &str, bytes: &[u8]) -> io::Result<()> {
    match DirBuilder::new().mode(0o755).create(directory) {
        Err(error) if error.kind() != io::ErrorKind::AlreadyExists => return Err(error),
        Ok(()) | Err(_) => {}
    }
    let mut file = tempfile::NamedTempFile::new_in(directory)?;
    file.write_all(bytes)?;
    file.as_file().set_permissions(Permissions::from_mode(0o644))?;
    file.as_file().sync_all()?;
    file.persist(directory.join(name)).map_err(|error| error.error)?;
    File::open(directory)?.sync_all()
}

/// Writes a file of the policy whole or not at all, for the group that its directory belongs to.
///
/// # Errors
/// It cannot be written; what was there stays.
pub fn put(etc: &Path, relative: &str, bytes: &[u8]) -> io::Result<()> {
    let path = etc.join(relative);
    let directory = path.parent().unwrap_or(etc);
    if !directory.exists() {
        DirBuilder::new().mode(0o750).create(directory)?;
    }
    let group = std::fs::metadata(etc)?.gid();
    let mut file = tempfile::NamedTempFile::new_in(directory)?;
    file.write_all(bytes)?;
    fchown(file.as_file(), None, Some(group))?;
    file.as_file().set_permissions(Permissions::from_mode(0o640))?;
    file.as_file().sync_all()?;
    file.persist(&path).map_err(|error| error.error)?;
    File::open(directory)?.sync_all()
}
