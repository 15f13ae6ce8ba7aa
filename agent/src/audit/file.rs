//! The files of the log: the one that is written, and those that were rotated away.

use std::fs::{DirBuilder, File, Metadata, OpenOptions};
use std::io::{self, Read, Seek, SeekFrom, Write};
use std::os::unix::fs::{DirBuilderExt, FileExt, MetadataExt, OpenOptionsExt};
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime};

/// The last line is looked for in so many bytes; no record is longer.
const TAIL: u64 = 1 << 20;

/// Identity and size of a file as this program left it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Known {
    id: (u64, u64),
    size: u64,
}

impl Known {
    fn of(facts: &Metadata) -> Self {
        Self { id: (facts.dev(), facts.ino()), size: facts.len() }
    }
}

/// The file that is written.
#[derive(Debug)]
pub struct LogFile {
    path: PathBuf,
    file: File,
    known: Known,
    /// The next line begins with the LF that the bytes before it lack.
    pub is_cut: bool,
}

impl LogFile {
    /// Opens the log in this directory, and makes both where they are absent.
    ///
    /// # Errors
    /// As mkdir(2) and open(2).
    pub fn open(directory: &Path) -> io::Result<Self> {
        match DirBuilder::new().mode(0o700).create(directory) {
            Err(error) if error.kind() != io::ErrorKind::AlreadyExists => return Err(error),
            Ok(()) | Err(_) => {}
        }
        let path = directory.join("audit.jsonl");
        let file = open(&path)?;
        let known = Known::of(&file.metadata()?);
        let mut log = Self { path, file, known, is_cut: false };
        log.is_cut = tail(&log.file, known.size, 1)?.last().is_some_and(|last| *last != b'\n');
        Ok(log)
    }

    /// Its size.
    pub fn size(&self) -> u64 {
        self.known.size
    }

    /// Another descriptor of it, to be synced without a lock.
    ///
    /// # Errors
    /// As dup(2).
    pub fn twin(&self) -> io::Result<File> {
        self.file.try_clone()
    }

    /// Returns its last bytes, and whether none are before them.
    ///
    /// # Errors
    /// It cannot be read.
    pub fn tail(&self) -> io::Result<(Vec<u8>, bool)> {
        Ok((tail(&self.file, self.known.size, TAIL)?, self.known.size <= TAIL))
    }

    /// Returns its first bytes as text.
    ///
    /// # Errors
    /// It cannot be read.
    pub fn head(&self) -> io::Result<String> {
        let mut bytes = [0; 64];
        let read = self.file.read_at(&mut bytes, 0)?;
        Ok(String::from_utf8_lossy(&bytes[..read]).into_owned())
    }

    /// Appends one line.
    ///
    /// # Errors
    /// It cannot be written; the file then ends as before.
    pub fn append(&mut self, line: &str) -> io::Result<()> {
        let bytes = [if self.is_cut { "\n" } else { "" }, line].concat();
        if let Err(error) = self.file.write_all(bytes.as_bytes()) {
            // The rest of a failed write would look like bytes of another program.
            drop(self.file.set_len(self.known.size));
            return Err(error);
        }
        self.known.size = self.known.size.saturating_add(u64::try_from(bytes.len()).unwrap_or(u64::MAX));
        self.is_cut = false;
        Ok(())
    }

    /// Reopens the file if another program changed it, and says how it did.
    ///
    /// # Errors
    /// It cannot be looked at or opened.
    pub fn watch(&mut self) -> io::Result<Option<String>> {
        let known = self.known;
        let now = match std::fs::symlink_metadata(&self.path) {
            Ok(facts) => Some(Known::of(&facts)),
            Err(error) if error.kind() == io::ErrorKind::NotFound => None,
            Err(error) => return Err(error),
        };
        let what = match now {
            None => "was removed or renamed".to_owned(),
            Some(now) if now.id != known.id => "was replaced by another".to_owned(),
            Some(now) if now.size < known.size => {
                format!("was cut from {} bytes to {}", known.size, now.size)
            }
            Some(now) if now.size > known.size => {
                format!("has {} bytes that the agent did not write", now.size - known.size)
            }
            Some(_) => return Ok(None),
        };
        *self = Self::open(self.directory())?;
        Ok(Some(format!("the file {what}")))
    }

    /// Renames the file, and goes on with a new one.
    ///
    /// # Errors
    /// It cannot be renamed, or no new one be made; the file then stays.
    pub fn rotate(&mut self, name: &str) -> io::Result<()> {
        self.file.sync_data()?;
        let directory = self.directory().to_owned();
        let away = directory.join(name);
        if away.symlink_metadata().is_ok() {
            return Err(io::ErrorKind::AlreadyExists.into());
        }
        // Made before the first rename: if it cannot be, the log goes on as it is, and nothing looks as if another program had
        // taken the file away.
        let next = directory.join("audit.jsonl.next");
        let file = open(&next)?;
        file.set_len(0)?;
        std::fs::rename(&self.path, away)?;
        std::fs::rename(&next, &self.path)?;
        let known = Known::of(&file.metadata()?);
        (self.file, self.known, self.is_cut) = (file, known, false);
        File::open(&directory)?.sync_all()
    }

    /// Its directory.
    pub fn directory(&self) -> &Path {
        self.path.parent().unwrap_or(&self.path)
    }
}

fn open(path: &Path) -> io::Result<File> {
    let mut options = OpenOptions::new();
    options.read(true).append(true).create(true).mode(0o600).custom_flags(nix::libc::O_NOFOLLOW);
    options.open(path)
}

fn tail(mut file: &File, size: u64, most: u64) -> io::Result<Vec<u8>> {
    let mut bytes = Vec::new();
    file.seek(SeekFrom::Start(size.saturating_sub(most)))?;
    file.take(most).read_to_end(&mut bytes)?;
    Ok(bytes)
}

/// A file that was rotated away.
#[derive(Debug)]
pub struct Rotated {
    /// Its path.
    pub path: PathBuf,
    /// Its name.
    pub name: String,
    /// The number of its first record, from its name.
    pub first: u64,
    written: SystemTime,
}

impl Rotated {
    /// Whether it was last written longer ago than this.
    pub fn is_older_than(&self, age: Duration) -> bool {
        self.written.elapsed().is_ok_and(|is| is > age)
    }

    /// Returns its last bytes, and whether none are before them.
    ///
    /// # Errors
    /// It cannot be read.
    pub fn tail(&self) -> io::Result<(Vec<u8>, bool)> {
        let file = File::open(&self.path)?;
        let size = file.metadata()?.len();
        Ok((tail(&file, size, TAIL)?, size <= TAIL))
    }
}

/// Lists the rotated files, the oldest first.
///
/// # Errors
/// The directory cannot be read.
pub fn rotated(directory: &Path) -> io::Result<Vec<Rotated>> {
    let mut all = Vec::new();
    for entry in std::fs::read_dir(directory)? {
        let entry = entry?;
        let name = entry.file_name().to_string_lossy().into_owned();
        let digits = name.strip_prefix("audit-").and_then(|name| name.strip_suffix(".jsonl"));
        if let Some(first) = digits.filter(|digits| digits.len() == 12).and_then(|digits| digits.parse().ok())
        {
            all.push(Rotated { path: entry.path(), name, first, written: entry.metadata()?.modified()? });
        }
    }
    all.sort_by_key(|file| file.first);
    Ok(all)
}
