//! The chain of records: each line holds the hash of the one before, and a seal if there are keys.

use super::file::{self, LogFile, TAIL};
use super::keys::KeyStore;
use super::location::{End, Location};
use super::record::{Event, Record};
use crate::fault::Fault;
use crate::sys::files;
use postern_policy::types::Digest;
use postern_record::Json;
use postern_record::rfc3339;
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
    pub torn: Option<(u64, Digest)>,
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
        let (mut end, torn) = last(log.tail(TAIL)?)?;
        (opened.torn, log.is_cut) = (torn, log.is_cut || torn.is_some());
        if end.seq == 0 && torn.is_none() {
            let newest = rotated(&location.log)?.into_iter().rfind(|old| old.is_plain);
            if let Some(newest) = newest {
                end = last(file::tail_of(&newest.path)?)?.0;
                opened.rotated = Some(newest.name);
            }
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
        if let Some((epoch, since)) = self.keys.epoch().filter(|_| event.names_epoch()) {
            head = head.number("epoch", epoch).number("since", since);
        }
        let members = record.members();
        let comma = if members.members().is_empty() { "" } else { "," };
        let hashed = format!("{{{}{comma}{},\"prev\":\"{}\"", head.members(), members.members(), self.prev);
        let hash = Digest::of(&[hashed.as_bytes()]);
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
    for entry in std::fs::read_dir(directory).map_err(Fault::Audit)? {
        let entry = entry.map_err(Fault::Audit)?;
        let (path, name) = (entry.path(), entry.file_name().to_string_lossy().into_owned());
        let Some((digits, rest)) = name.strip_prefix("audit-").and_then(|name| name.split_once(".jsonl"))
        else {
            continue;
        };
        let is_ours = digits.len() == 12 && (rest.is_empty() || rest.starts_with('.'));
        if let Some(first) = digits.parse().ok().filter(|_| is_ours) {
            let written = files::facts_at(&path).map_err(Fault::Audit)?.and_then(|facts| facts.written);
            all.push(Rotated { is_plain: rest.is_empty(), path, name, first, written });
        }
    }
    all.sort_by_key(|file| file.first);
    Ok(all)
}

/// Returns the last record in these bytes and what follows it: also a `torn` record that was itself cut short, with
/// the line that it was to name.
fn last(tail: file::Bytes) -> Result<(End, Option<(u64, Digest)>), Fault> {
    let file::Bytes { bytes, is_all } = tail;
    let mut end = bytes.iter().rposition(|byte| *byte == b'\n');
    let torn = |from: usize| {
        let torn = bytes.get(from..).unwrap_or_default();
        (!torn.is_empty()).then(|| (u64::try_from(torn.len()).unwrap_or(u64::MAX), Digest::of(&[torn])))
    };
    while let Some(at) = end {
        let before = bytes.get(..at).unwrap_or_default().iter().rposition(|byte| *byte == b'\n');
        let line = bytes.get(before.map_or(0, |lf| lf.saturating_add(1))..at).unwrap_or_default();
        if let Some(record) = std::str::from_utf8(line).ok().and_then(record) {
            return Ok((record, torn(at.saturating_add(1))));
        }
        end = before;
    }
    if is_all { Ok((End::default(), torn(0))) } else { Err(Fault::Corrupt("the end of the audit log")) }
}

/// Reads a line as the record that it says it is.
fn record(line: &str) -> Option<End> {
    let rest = line.strip_suffix("\"}")?;
    let (rest, seal) = match rest.rsplit_once("\",\"seal\":\"") {
        Some((rest, seal)) => (rest, Some(Digest::from_hex(seal)?)),
        None => (rest, None),
    };
    let (hashed, hash) = rest.rsplit_once(",\"hash\":\"")?;
    let (_, prev) = hashed.strip_suffix('"')?.rsplit_once(",\"prev\":\"")?;
    // The recorder's own members come first, before any text of a client.
    let member = |name: &str| Some(line.split_once(name)?.1.split_once('"')?.0);
    let hash = Digest::from_hex(hash)?;
    Some(End {
        seq: number(line)?,
        prev: Digest::from_hex(prev)?,
        hash,
        seal,
        boot_id: member(",\"boot_id\":\"")?.to_owned(),
        is_signature: member(",\"event\":\"")? == Event::Sealed.as_str(),
        is_changed: Digest::of(&[hashed.as_bytes()]) != hash,
    })
}

/// Returns the number of the record in a line.
fn number(line: &str) -> Option<u64> {
    line.strip_prefix("{\"v\":1,\"seq\":")?.split_once(',')?.0.parse().ok()
}
