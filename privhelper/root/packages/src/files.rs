//! Files of the job's directory.

use postern_apt::Fault;
use std::fs::{self, File, OpenOptions};
use std::io::{self, Read, Seek, SeekFrom, Write};
use std::os::fd::{AsRawFd, RawFd};
use std::os::unix::fs::OpenOptionsExt;
use std::path::Path;

use nix::fcntl::{FcntlArg, FdFlag, fcntl};

/// A new file, 0600, for appending; an existing name of any kind is an error.
#[expect(clippy::disallowed_methods, reason = "the one place that makes files; in the job's directory only")]
pub fn create(directory: &Path, name: &str) -> Result<File, Fault> {
    let path = directory.join(name);
    let made = OpenOptions::new().append(true).create_new(true).mode(0o600).open(&path);
    made.map_err(|error| Fault::at(&path, &error))
}

/// Makes a file that is either absent or whole, also after a power loss.
pub fn write_whole(directory: &Path, name: &str, bytes: &[u8]) -> Result<(), Fault> {
    let temporary = format!(".{name}.new");
    let mut file = create(directory, &temporary)?;
    file.write_all(bytes)
        .and_then(|()| file.sync_all())
        .and_then(|()| fs::rename(directory.join(&temporary), directory.join(name)))
        .and_then(|()| File::open(directory)?.sync_all())
        .map_err(|error| Fault::at(&directory.join(name), &error))
}

/// The last `max` bytes of a file; none if it cannot be read.
pub fn tail(path: &Path, max: u64) -> Vec<u8> {
    let read = || -> io::Result<Vec<u8>> {
        let mut file = File::open(path)?;
        let len = file.metadata()?.len();
        file.seek(SeekFrom::Start(len.saturating_sub(max)))?;
        let mut bytes = Vec::new();
        file.take(max).read_to_end(&mut bytes)?;
        Ok(bytes)
    };
    read().unwrap_or_default()
}

/// Lets the next started program inherit this file, and tells its number.
pub fn inheritable(file: &File) -> Result<RawFd, Fault> {
    fcntl(file, FcntlArg::F_SETFD(FdFlag::empty()))
        .map_err(|error| Fault::new(format!("cannot pass on a descriptor: {error}")))?;
    Ok(file.as_raw_fd())
}
