//! Files that this program keeps for itself, for everybody to read.

use crate::file::{self, Access};
use std::fs::DirBuilder;
use std::io;
use std::os::unix::fs::DirBuilderExt;
use std::path::Path;

/// Replaces one of them, and makes their directory if there is none.
///
/// # Errors
/// It cannot be written; what was there stays.
pub fn replace(directory: &Path, name: &str, bytes: &[u8]) -> io::Result<()> {
    match DirBuilder::new().mode(0o755).create(directory) {
        Err(error) if error.kind() != io::ErrorKind::AlreadyExists => return Err(error),
        Ok(()) | Err(_) => {}
    }
    file::replace(&directory.join(name), bytes, Access::own(0o644))
}
