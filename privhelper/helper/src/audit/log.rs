//! The file that lines go to: room behind its end for those who must be heard, and a watch over who else touches it.

use super::record::Payer;
use crate::error::Fault;
use crate::sys::log::{self, Facts};
use std::fs::File;
use std::io::{self, Read, Seek, SeekFrom, Write};
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};

/// The last line is looked for in the last 16 MiB; no record is longer.
const TAIL: u64 = 16 * 1024 * 1024;
/// Room on the disk that is not clients': the ends of what has begun, and what operators do.
const RESERVE: u64 = 1024 * 1024;
/// Room is taken in pieces, for it costs a call of the kernel's.
const PIECE: u64 = 256 * 1024;

/// The file that is written.
#[derive(Debug)]
pub struct Log {
    path: PathBuf,
    file: File,
    /// As the helper left it.
    known: Facts,
    /// Up to here room is taken.
    room: u64,
    dirty: bool,
    /// Its last line has no LF.
    cut: bool,
    /// A failed write may have left bytes behind the end.
    rest: bool,
}

impl Log {
    /// Opens the log in this directory; makes it if it is not there.
    ///
    /// # Errors
    /// It can't be opened.
    pub fn open(directory: &Path) -> Result<Self, Fault> {
        let path = directory.join("audit.jsonl");
        let file = log::open(&path).map_err(Fault::Audit)?;
        let known = log::facts(&file).map_err(Fault::Audit)?;
        let mut log = Self { path, file, known, room: known.size, dirty: true, cut: false, rest: false };
        log.cut = log.tail(1)?.is_some_and(|tail| tail.bytes.last().is_some_and(|last| *last != b'\n'));
        Ok(log)
    }

    /// The next line begins with the LF that the bytes before it lack.
    pub fn end_line(&mut self) {
        self.cut = true;
    }

    /// Its last bytes; none if it is empty.
    ///
    /// # Errors
    /// It can't be read.
    pub fn tail(&self, most: u64) -> Result<Option<Bytes>, Fault> {
        tail(&self.file, self.known.size, most)
    }

    /// Appends one line.
    ///
    /// # Errors
    /// It can't be written, or what is left of the disk is not for this payer. The log then ends as before.
    pub fn append(&mut self, line: &str, payer: Payer) -> Result<(), Fault> {
        let bytes = [if self.cut { "\n" } else { "" }, line].concat();
        let size = u64::try_from(bytes.len()).unwrap_or(u64::MAX);
        self.take_room(size, payer)?;
        if let Err(error) = self.file.write_all(bytes.as_bytes()) {
            self.rest = true;
            drop(self.remove_rest());
            return Err(Fault::Audit(error));
        }
        self.known.size = self.known.size.saturating_add(size);
        (self.dirty, self.cut) = (true, false);
        Ok(())
    }

    /// Makes sure of room for these bytes and, if a client pays, of the reserve behind them.
    fn take_room(&mut self, size: u64, payer: Payer) -> Result<(), Fault> {
        let reserve = if payer == Payer::Client { RESERVE } else { 0 };
        let wanted = size.saturating_add(reserve);
        if self.known.size.saturating_add(wanted) <= self.room {
            return Ok(());
        }
        let take = |size: u64| log::allocate(&self.file, self.known.size, size).map(|()| size);
        let ahead = size.saturating_add(RESERVE).saturating_add(PIECE);
        match take(ahead).or_else(|_| take(wanted)) {
            Ok(taken) => self.room = self.known.size.saturating_add(taken),
            // A file system that can't reserve has no reserve.
            Err(error) if error.kind() == io::ErrorKind::Unsupported => self.room = u64::MAX,
            Err(error) if payer == Payer::Client => return Err(Fault::Audit(error)),
            // Into the reserve; the write says if that is used up too.
            Err(_) => {}
        }
        Ok(())
    }

    /// Cuts off what a failed write left, for nobody to take it for a stranger's.
    fn remove_rest(&mut self) -> io::Result<()> {
        if self.rest && log::facts(&self.file)?.size > self.known.size {
            self.file.set_len(self.known.size)?;
            self.room = self.known.size;
        }
        self.rest = false;
        Ok(())
    }

    /// Whether somebody else touched the file; it is then opened anew, and this says what was done.
    ///
    /// # Errors
    /// It can't be looked at, or not be opened again.
    pub fn watch(&mut self) -> Result<Option<String>, Fault> {
        self.remove_rest().map_err(Fault::Audit)?;
        let known = self.known;
        let what = match log::facts_at(&self.path).map_err(Fault::Audit)? {
            None => "was removed or renamed".to_owned(),
            Some(there) if there.id != known.id => "was replaced by another".to_owned(),
            Some(there) if there.size < known.size => {
                format!("was cut from {} bytes to {}", known.size, there.size)
            }
            Some(there) if there.size > known.size => {
                format!("has {} bytes that the helper did not write", there.size.saturating_sub(known.size))
            }
            Some(_) => return Ok(None),
        };
        *self = Self::open(self.directory())?;
        Ok(Some(format!("the file {what}")))
    }

    /// Makes what was appended durable (fdatasync(2)).
    ///
    /// # Errors
    /// The kernel could not write it out.
    pub fn sync(&mut self) -> Result<(), Fault> {
        if self.dirty {
            self.file.sync_data().map_err(Fault::Audit)?;
            self.dirty = false;
        }
        Ok(())
    }

    /// Puts the file away under another name and goes on with a new one.
    ///
    /// # Errors
    /// It can't be renamed, or no new one be made; the next look takes up what is there.
    pub fn rotate(&mut self, name: &str) -> Result<(), Fault> {
        self.sync()?;
        let directory = self.directory().to_owned();
        let (away, new) = (directory.join(name), directory.join("audit.jsonl.new"));
        if log::facts_at(&away).map_err(Fault::Audit)?.is_some() {
            return Err(Fault::Audit(io::ErrorKind::AlreadyExists.into()));
        }
        // Made first: on a full disk the old one goes on.
        drop(log::open(&new).map_err(Fault::Audit)?);
        log::rename(&self.path, &away).and_then(|()| log::rename(&new, &self.path)).map_err(Fault::Audit)?;
        *self = Self::open(&directory)?;
        Ok(())
    }

    /// Its first bytes: what the number of its first record stands in.
    ///
    /// # Errors
    /// They can't be read.
    pub fn head(&self) -> Result<String, Fault> {
        let mut bytes = [0; 64];
        let read = self.file.read_at(&mut bytes, 0).map_err(Fault::Audit)?;
        Ok(String::from_utf8_lossy(bytes.get(..read).unwrap_or_default()).into_owned())
    }

    /// What is known of the file.
    pub fn facts(&self) -> Facts {
        self.known
    }

    /// Its directory.
    pub fn directory(&self) -> &Path {
        self.path.parent().unwrap_or(&self.path)
    }
}

/// The last bytes of a file.
#[derive(Debug)]
pub struct Bytes {
    /// What they are.
    pub bytes: Vec<u8>,
    /// Whether there are none before them.
    pub is_all: bool,
}

/// The last bytes of a log that was put away; none if it is empty.
///
/// # Errors
/// It can't be read.
pub fn tail_of(path: &Path) -> Result<Option<Bytes>, Fault> {
    let file = File::open(path).map_err(Fault::Audit)?;
    let size = log::facts(&file).map_err(Fault::Audit)?.size;
    tail(&file, size, TAIL)
}

fn tail(mut file: &File, size: u64, most: u64) -> Result<Option<Bytes>, Fault> {
    let from = size.saturating_sub(most.min(TAIL));
    let mut bytes = Vec::new();
    file.seek(SeekFrom::Start(from)).map_err(Fault::Audit)?;
    file.take(most).read_to_end(&mut bytes).map_err(Fault::Audit)?;
    Ok((!bytes.is_empty()).then_some(Bytes { bytes, is_all: from == 0 }))
}

/// All of the last line and more.
pub const WHOLE: u64 = TAIL;
