//! Files of the broker's own directory, and host files that it reads.

use crate::error::Fault;
use std::fs::{File, OpenOptions, Permissions};
use std::io::{self, Read, Write};
use std::os::unix::fs::{OpenOptionsExt, PermissionsExt};
use std::path::Path;

/// Reads a file of at most `most` bytes; none if it does not exist.
///
/// # Errors
/// It cannot be read, or is larger.
pub fn read(path: &Path, most: u64) -> Result<Option<Vec<u8>>, Fault> {
    let doing = |what: &str, error: io::Error| {
        Fault::new(postern_policy::Code::Interrupted, format!("{what} {}: {error}", path.display()))
    };
    let file = match File::open(path) {
        Ok(file) => file,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
        Err(error) => return Err(doing("open", error)),
    };
    let mut content = Vec::new();
    file.take(most.saturating_add(1)).read_to_end(&mut content).map_err(|error| doing("read", error))?;
    if u64::try_from(content.len()).is_ok_and(|size| size > most) {
        return Err(doing("read", io::ErrorKind::FileTooLarge.into()));
    }
    Ok(Some(content))
}

/// Replaces a file of mode 0600 as a whole: temporary file, sync, rename(2). A power loss right after it may bring back
/// the file before.
///
/// # Errors
/// Any step failed; the old file is unchanged.
pub fn replace(path: &Path, content: &[u8]) -> Result<(), Fault> {
    let temporary = path.with_extension("new");
    let mut options = OpenOptions::new();
    options.write(true).create(true).truncate(true).mode(0o600).custom_flags(nix::libc::O_NOFOLLOW);
    #[expect(clippy::disallowed_methods, reason = "in the broker's own directory alone")]
    let mut file = options.open(&temporary).map_err(Fault::io("open a file of the broker's own"))?;
    file.set_permissions(Permissions::from_mode(0o600)).map_err(Fault::io("set the mode of a file"))?;
    file.write_all(content).map_err(Fault::io("write a file of the broker's own"))?;
    file.sync_all().map_err(Fault::io("sync a file of the broker's own"))?;
    std::fs::rename(&temporary, path).map_err(Fault::io("rename a file of the broker's own"))
}

/// Returns 32 random bytes of the kernel (random(4)).
///
/// # Errors
/// There are none.
pub fn random() -> Result<[u8; 32], Fault> {
    let mut bytes = [0; 32];
    let read = File::open("/dev/urandom").and_then(|mut source| source.read_exact(&mut bytes));
    read.map_err(Fault::io("read /dev/urandom"))?;
    Ok(bytes)
}
