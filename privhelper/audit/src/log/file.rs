//! The file that lines go to: space behind its end is reserved, and foreign changes are noticed.

use super::record::Payer;
use crate::fault::Fault;
use crate::sys::files;
use std::fs::File;
use std::io::{self, Read, Seek, SeekFrom, Write};
use std::os::unix::fs::{FileExt, MetadataExt};
use std::path::{Path, PathBuf};
use std::time::SystemTime;

/// The last line is looked for in the last 16 MiB; no record is longer.
pub const TAIL: u64 = 16 * 1024 * 1024;
/// Space that clients cannot use: operators' records.
const RESERVE: u64 = 1024 * 1024;
/// Space is allocated in pieces, because each call costs time.
const PIECE: u64 = 256 * 1024;
/// Space of one `end` at its longest: an inverse and an outcome in hex, and the members.
pub const END_MAX: u64 = 640 * 1024;

/// The file that is written.
pub struct LogFile {
    path: PathBuf,
    file: File,
    /// Its size as the recorder left it.
    pub size: u64,
    /// When it was made, if the file system knows.
    pub made: Option<SystemTime>,
    /// Up to here space is allocated.
    room: u64,
    /// Effects that have begun: each has space for its end.
    pub ends: u64,
    dirty: bool,
    /// The next line begins with the LF that the bytes before it lack.
    pub is_cut: bool,
    /// A failed write may have left bytes behind the end.
    rest: bool,
}

impl LogFile {
    /// Opens the log in this directory; creates it if absent.
    ///
    /// # Errors
    /// It cannot be opened.
    pub fn open(directory: &Path) -> Result<Self, Fault> {
        let path = directory.join("audit.jsonl");
        let file = files::open_log(&path).map_err(Fault::audit)?;
        let facts = file.metadata().map_err(Fault::audit)?;
        let (size, made) = (facts.len(), facts.created().ok());
        let is_cut = tail(&file, size, 1)?.last().is_some_and(|last| *last != b'\n');
        Ok(Self { path, file, size, made, room: size, ends: 0, dirty: true, is_cut, rest: false })
    }

    /// Returns its last bytes.
    ///
    /// # Errors
    /// It cannot be read.
    pub fn tail(&self) -> Result<Vec<u8>, Fault> {
        tail(&self.file, self.size, TAIL)
    }

    /// Appends one line.
    ///
    /// # Errors
    /// It cannot be written, or the rest of the disk is not for this payer. The log then ends as before.
    pub fn append(&mut self, line: &str, payer: Payer) -> Result<(), Fault> {
        let bytes = [if self.is_cut { "\n" } else { "" }, line].concat();
        let size = u64::try_from(bytes.len()).unwrap_or(u64::MAX);
        self.take_room(size, payer)?;
        if let Err(error) = self.file.write_all(bytes.as_bytes()) {
            self.rest = true;
            drop(self.remove_rest());
            return Err(Fault::audit(error));
        }
        self.size = self.size.saturating_add(size);
        (self.dirty, self.is_cut) = (true, false);
        Ok(())
    }

    /// Returns the space behind the end that clients' records must not use.
    fn reserved(&self) -> u64 {
        self.ends.saturating_mul(END_MAX).saturating_add(RESERVE)
    }

    /// Makes sure of space for these bytes and, if a client pays, of the reserve behind them.
    fn take_room(&mut self, size: u64, payer: Payer) -> Result<(), Fault> {
        let reserve = if payer == Payer::Client { self.reserved() } else { 0 };
        let end = |more: u64| self.size.saturating_add(size).saturating_add(more);
        let wanted = end(reserve);
        if wanted <= self.room {
            return Ok(());
        }
        // Only what is new: on tmpfs a failed fallocate(2) gives back all of its range.
        let from = self.room.max(self.size);
        let take = |to: u64| files::allocate(&self.file, from, to.saturating_sub(from)).map(|()| to);
        match take(end(self.reserved()).saturating_add(PIECE)).or_else(|_| take(wanted)) {
            Ok(taken) => self.room = taken,
            // A file system that cannot allocate has no reserve.
            Err(error) if error.kind() == io::ErrorKind::Unsupported => self.room = u64::MAX,
            Err(error) if payer == Payer::Client => return Err(Fault::audit(error)),
            // Into the reserve; the write says if that is used up too.
            Err(_) => {}
        }
        Ok(())
    }

    /// Truncates the rest of a failed write, so that it is not reported as foreign bytes.
    fn remove_rest(&mut self) -> io::Result<()> {
        if self.rest && self.file.metadata()?.len() > self.size {
            self.file.set_len(self.size)?;
            self.room = self.size;
        }
        self.rest = false;
        Ok(())
    }

    /// Reopens the file if another process changed it, and reports the change.
    ///
    /// # Errors
    /// It cannot be examined or opened.
    pub fn watch(&mut self) -> Result<Option<String>, Fault> {
        self.remove_rest().map_err(Fault::audit)?;
        let (known, own) = (self.size, self.file.metadata().map_err(Fault::audit)?);
        let what = match files::metadata(&self.path).map_err(Fault::audit)? {
            None => "was removed or renamed".to_owned(),
            Some(now) if (now.dev(), now.ino()) != (own.dev(), own.ino()) => {
                "was replaced by another".to_owned()
            }
            Some(now) if now.len() < known => format!("was cut from {known} bytes to {}", now.len()),
            Some(now) if now.len() > known => {
                format!("has {} bytes that the recorder did not write", now.len().saturating_sub(known))
            }
            Some(_) => return Ok(None),
        };
        *self = Self { ends: self.ends, ..Self::open(self.directory())? };
        Ok(Some(format!("the file {what}")))
    }

    /// Makes appended lines durable (fdatasync(2)).
    ///
    /// # Errors
    /// The kernel could not write them.
    pub fn sync(&mut self) -> Result<(), Fault> {
        if self.dirty {
            self.file.sync_data().map_err(Fault::audit)?;
            self.dirty = false;
        }
        Ok(())
    }

    /// Renames the file and goes on with a new one, which has the same space reserved.
    ///
    /// # Errors
    /// It cannot be renamed, or no new one be made; the next [`Self::watch`] finds what is there.
    pub fn rotate(&mut self, name: &str) -> Result<(), Fault> {
        self.sync()?;
        let directory = self.directory().to_owned();
        let (away, new) = (directory.join(name), directory.join("audit.jsonl.new"));
        if files::metadata(&away).map_err(Fault::audit)?.is_some() {
            return Err(Fault::audit(io::ErrorKind::AlreadyExists.into()));
        }
        // Made first: on a full disk the old one goes on.
        let made = files::open_log(&new).map_err(Fault::audit)?;
        match files::allocate(&made, 0, self.reserved()) {
            Err(error) if error.kind() != io::ErrorKind::Unsupported => return Err(Fault::audit(error)),
            Ok(()) | Err(_) => {}
        }
        // Frees what was allocated behind the end; a failure costs that space alone.
        drop(self.file.set_len(self.size));
        files::rename(&self.path, &away).map_err(Fault::audit)?;
        files::rename(&new, &self.path).map_err(Fault::audit)?;
        *self = Self { ends: self.ends, ..Self::open(&directory)? };
        Ok(())
    }

    /// Returns its first bytes as text.
    ///
    /// # Errors
    /// It cannot be read.
    pub fn head(&self) -> Result<String, Fault> {
        let mut bytes = [0; 64];
        let read = self.file.read_at(&mut bytes, 0).map_err(Fault::audit)?;
        Ok(String::from_utf8_lossy(bytes.get(..read).unwrap_or_default()).into_owned())
    }

    /// Returns its directory.
    pub fn directory(&self) -> &Path {
        self.path.parent().unwrap_or(&self.path)
    }
}

/// Returns the last bytes of a rotated log.
///
/// # Errors
/// It cannot be read.
pub fn tail_of(path: &Path) -> Result<Vec<u8>, Fault> {
    let file = File::open(path).map_err(Fault::audit)?;
    let size = file.metadata().map_err(Fault::audit)?.len();
    tail(&file, size, TAIL)
}

fn tail(mut file: &File, size: u64, most: u64) -> Result<Vec<u8>, Fault> {
    let mut bytes = Vec::new();
    file.seek(SeekFrom::Start(size.saturating_sub(most))).map_err(Fault::audit)?;
    file.take(most).read_to_end(&mut bytes).map_err(Fault::audit)?;
    Ok(bytes)
}
