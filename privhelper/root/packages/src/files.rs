//! Files of the job's directory.

use postern_root::Fault;
use std::fs::{File, OpenOptions};
use std::io::{self, Read, Seek, SeekFrom};
use std::os::unix::fs::OpenOptionsExt;
use std::path::Path;

/// A new file, 0600, for appending; an existing name of any kind is an error.
#[expect(clippy::disallowed_methods, reason = "the one place that makes files; in the job's directory only")]
pub fn create(directory: &Path, name: &str) -> Result<File, Fault> {
    let path = directory.join(name);
    let made = OpenOptions::new().append(true).create_new(true).mode(0o600).open(&path);
    made.map_err(Fault::at(&path))
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
