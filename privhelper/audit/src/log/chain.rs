//! The chain of records: each line holds the hash of the one before, and a seal if there are keys.

use super::file::{self, LogFile, TAIL};
use super::keys::KeyStore;
use super::location::Location;
use super::record::{Event, Mark, Record};
use crate::fault::Fault;
use crate::sys::files;
use postern_policy::types::Digest;
use postern_record::chain::{End, Torn, hashed, last, number};
use postern_record::{Json, rfc3339};
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime};

/// The open log and its end.
pub struct Chain {
    /// The file.
    pub log: LogFile,
    /// The seal's keys.
    pub keys: KeyStore,
    /// Number of the last record.
    pub seq: u64,
    /// Its hash.
    pub prev: Digest,
    boot_id: String,
    /// The last record that is a signature.
    signed: u64,
}

/// A record that was appended.
pub struct Appended {
    /// Its number.
    pub seq: u64,
    /// Its line without the LF.
    pub line: String,
}

/// Findings in a log that was opened, which are recorded first.
#[derive(Default)]
pub struct Opened {
    /// Bytes at its end that are no record: size and digest.
    pub torn: Torn,
    /// It is a new file, and this one has the records before.
    pub rotated: Option<String>,
    /// The boot that wrote its last record.
    pub boot_id: String,
    /// Differences from the state in which the recorder left it.
    pub tampered: Vec<String>,
}

impl Chain {
    /// Continues the log of this location.
    ///
    /// # Errors
    /// Log or keys cannot be read, or no record is found near the log's end: a person must move it away.
    pub fn open(location: &Location) -> Result<(Self, Opened), Fault> {
        let mut log = LogFile::open(&location.log)?;
        let mut opened = Opened::default();
        let (mut end, torn) = last_of(&log.tail()?)?;
        (opened.torn, log.is_cut) = (torn, log.is_cut || torn.is_some());
        if end.seq == 0
            && torn.is_none()
            && let Some(newest) = rotated(&location.log)?.into_iter().rfind(|old| old.is_plain)
        {
            end = last_of(&file::tail_of(&newest.path)?)?.0;
            opened.rotated = Some(newest.name);
        }
        opened.boot_id.clone_from(&end.boot_id);
        let (keys, tampered) = KeyStore::open(location, &mut end)?;
        opened.tampered = tampered;
        Ok((
            Self { log, keys, seq: end.seq, prev: end.hash, boot_id: location.boot_id.clone(), signed: 0 },
            opened,
        ))
    }

    /// Appends a record. Not synced.
    ///
    /// # Errors
    /// It cannot be written, or the keys cannot; the log then ends as before.
    pub fn append(&mut self, event: Event, record: &Record, unix: Duration) -> Result<Appended, Fault> {
        let seq = self.seq.saturating_add(1);
        let head = Json::new().number("v", 1).number("seq", seq).text("time", &rfc3339(unix));
        let mut head = head.text("boot_id", &self.boot_id).text("event", event.as_str());
        if let Some((epoch, since)) = self.keys.epoch().filter(|_| event.is(Mark::Epoch)) {
            head = head.number("epoch", epoch).number("since", since);
        }
        let (hashed, hash) = hashed(&head, &record.members(), self.prev);
        let seal = self.keys.seal(hash).map_or_else(String::new, |seal| format!(",\"seal\":\"{seal}\""));
        let mut line = format!("{hashed},\"hash\":\"{hash}\"{seal}}}\n");
        self.log.append(&line, record.payer(event))?;
        (self.seq, self.prev) = (seq, hash);
        self.keys.evolve(seq, hash, event == Event::Sealed)?;
        line.pop();
        Ok(Appended { seq, line })
    }

    /// Signs the last record, unless that is a signature itself.
    ///
    /// # Errors
    /// As [`Self::append`] and [`LogFile::sync`].
    pub fn sign(&mut self, unix: Duration) -> Result<Option<Appended>, Fault> {
        if self.signed == self.seq {
            return Ok(None);
        }
        let Some(own) = self.keys.sign() else { return Ok(None) };
        let appended = self.append(Event::Sealed, &Record { own, ..Record::default() }, unix)?;
        self.signed = self.seq;
        self.log.sync()?;
        Ok(Some(appended))
    }

    /// Says what another process did to the file since the last call.
    ///
    /// # Errors
    /// There is no file that could be written.
    pub fn watch(&mut self) -> Result<Option<String>, Fault> {
        let what = self.log.watch()?;
        Ok(what.map(|what| format!("{what}, behind record {}", self.seq)))
    }

    /// Renames the file to the number of its first record, and returns its new name.
    ///
    /// # Errors
    /// It cannot be read or renamed.
    pub fn rotate(&mut self) -> Result<String, Fault> {
        let first = number(&self.log.head()?).unwrap_or(self.seq);
        let name = format!("audit-{first:012}.jsonl");
        self.log.rotate(&name)?;
        Ok(name)
    }
}

/// A file that was rotated away.
pub struct Rotated {
    /// Its path.
    pub path: PathBuf,
    /// The last component of it.
    pub name: String,
    /// The number of its first record, from its name.
    pub first: u64,
    /// Whether nobody has compressed it.
    pub is_plain: bool,
    /// When it was last written.
    pub written: Option<SystemTime>,
}

/// Lists the rotated files, oldest first, compressed ones too.
///
/// # Errors
/// The directory cannot be read.
pub fn rotated(directory: &Path) -> Result<Vec<Rotated>, Fault> {
    let mut all = Vec::new();
    for entry in std::fs::read_dir(directory).map_err(Fault::audit)? {
        let entry = entry.map_err(Fault::audit)?;
        let (path, name) = (entry.path(), entry.file_name().to_string_lossy().into_owned());
        let Some((digits, rest)) = name.strip_prefix("audit-").and_then(|name| name.split_once(".jsonl"))
        else {
            continue;
        };
        let is_ours = digits.len() == 12 && (rest.is_empty() || rest.starts_with('.'));
        if let Some(first) = digits.parse().ok().filter(|_| is_ours) {
            let written =
                files::metadata(&path).map_err(Fault::audit)?.and_then(|facts| facts.modified().ok());
            all.push(Rotated { is_plain: rest.is_empty(), path, name, first, written });
        }
    }
    all.sort_by_key(|file| file.first);
    Ok(all)
}

/// Returns the last record in these bytes and what follows it.
fn last_of(tail: &[u8]) -> Result<(End, Torn), Fault> {
    match last(tail) {
        // There may be records before these.
        (None, _) if u64::try_from(tail.len()).is_ok_and(|size| size >= TAIL) => {
            Err(Fault::corrupt("the end of the audit log"))
        }
        (end, torn) => Ok((end.unwrap_or_default(), torn)),
    }
}
