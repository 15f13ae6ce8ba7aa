//! Small files: those of the program's own directory, and files of the host that it reads.

use std::fs::{File, OpenOptions};
use std::io::{self, Read, Write};
use std::os::unix::fs::OpenOptionsExt;
use std::path::Path;

/// Reads a file of at most `most` bytes; none if it does not exist.
///
/// # Errors
/// It cannot be read, or is larger (`FileTooLarge`).
pub fn read(path: &Path, most: u64) -> io::Result<Option<Vec<u8>>> {
    let file = match File::open(path) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
        opened => opened?,
    };
    let mut content = Vec::new();
    file.take(most.saturating_add(1)).read_to_end(&mut content)?;
    let fits = u64::try_from(content.len()).is_ok_and(|size| size <= most);
    if fits { Ok(Some(content)) } else { Err(io::ErrorKind::FileTooLarge.into()) }
}

/// Replaces a file as a whole: temporary name, fsync, rename. A power loss right after it may bring back the old file.
///
/// # Errors
/// A step failed; the old file is then unchanged.
pub fn replace(path: &Path, content: &[u8]) -> io::Result<()> {
    let temporary = path.with_extension("new");
    let mut options = OpenOptions::new();
    options.write(true).create(true).truncate(true).mode(0o600).custom_flags(nix::libc::O_NOFOLLOW);
    #[expect(clippy::disallowed_methods, reason = "in the program's own directory alone")]
    let mut file = options.open(&temporary)?;
    file.write_all(content)?;
    file.sync_all()?;
    std::fs::rename(&temporary, path)
}

/// Returns random bytes of the kernel (random(4)).
///
/// # Errors
/// There are none.
pub fn random<const N: usize>() -> io::Result<[u8; N]> {
    let mut bytes = [0; N];
    File::open("/dev/urandom")?.read_exact(&mut bytes)?;
    Ok(bytes)
}
