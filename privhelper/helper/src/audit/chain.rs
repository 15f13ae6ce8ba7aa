//! The file that records are appended to: each line holds the hash of the one before.

use super::json::Json;
use super::record::{Event, Record};
use super::time::rfc3339;
use crate::error::Fault;
use crate::types::Digest;
use std::fs::File;
use std::io::{self, Read, Seek, SeekFrom, Write};
use std::time::Duration;

/// The last line is looked for in the last 16 MiB; no record is longer.
const TAIL: u64 = 16 * 1024 * 1024;

/// The open log and its end.
#[derive(Debug)]
pub struct Chain {
    file: File,
    /// Bytes up to the last whole line.
    len: u64,
    seq: u64,
    prev: Digest,
    boot_id: String,
    dirty: bool,
    /// A torn line stands at the end: the next record begins with the LF that it lacks.
    torn: bool,
}

/// What stood after the last whole line when the log was opened.
#[derive(Debug, PartialEq, Eq)]
pub enum Tail {
    /// Nothing.
    Whole,
    /// Part of a line, of this size and digest. It stays; a `torn` record must follow.
    Torn(usize, Digest),
}

impl Chain {
    /// Continues the log in `file`, which is opened for reading and appending.
    ///
    /// # Errors
    /// It can't be read, or its last whole line is none of ours: the log must then be moved away by a person.
    pub fn open(mut file: File, boot_id: &str) -> Result<(Self, Tail), Fault> {
        let size = file.metadata().map_err(Fault::io("read the audit log's size"))?.len();
        let from = size.saturating_sub(TAIL);
        let mut tail = Vec::new();
        file.seek(SeekFrom::Start(from)).map_err(Fault::io("seek in the audit log"))?;
        file.read_to_end(&mut tail).map_err(Fault::io("read the audit log"))?;
        let (seq, prev, whole) =
            last(&tail, from == 0).ok_or(Fault::Corrupt { what: "the end of the audit log" })?;
        let torn = tail.get(whole..).unwrap_or(&[]);
        let state = if torn.is_empty() { Tail::Whole } else { Tail::Torn(torn.len(), Digest::of(&[torn])) };
        let torn = state != Tail::Whole;
        Ok((Self { file, len: size, seq, prev, boot_id: boot_id.to_owned(), dirty: true, torn }, state))
    }

    /// Appends a record and returns its number. Not synced.
    ///
    /// # Errors
    /// It can't be written; the file is then cut back to its last whole line, so that the chain goes on.
    pub fn append(&mut self, event: Event, record: &Record, unix: Duration) -> Result<u64, Fault> {
        let seq = self.seq.saturating_add(1);
        let head = Json::new().number("v", 1).number("seq", seq).text("time", &rfc3339(unix));
        let head = head.text("boot_id", &self.boot_id).text("event", event.as_str());
        let members = record.members();
        let comma = if members.members().is_empty() { "" } else { "," };
        let signed = format!("{{{}{comma}{},\"prev\":\"{}\"", head.members(), members.members(), self.prev);
        let hash = Digest::of(&[signed.as_bytes()]);
        let lf = if self.torn { "\n" } else { "" };
        let line = format!("{lf}{signed},\"hash\":\"{hash}\"}}\n");
        if let Err(error) = self.file.write_all(line.as_bytes()) {
            let cut: io::Result<()> = self.file.set_len(self.len);
            return Err(Fault::Audit(cut.err().unwrap_or(error)));
        }
        self.len = self.len.saturating_add(u64::try_from(line.len()).unwrap_or(u64::MAX));
        (self.seq, self.prev, self.dirty, self.torn) = (seq, hash, true, false);
        Ok(seq)
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

    /// The number of the last record.
    #[must_use]
    pub fn seq(&self) -> u64 {
        self.seq
    }
}

/// Number and hash of the last record, and where its line ends. Everything after it is torn: also a `torn`
/// record that was itself cut short, with the line that it was to name.
fn last(tail: &[u8], is_start: bool) -> Option<(u64, Digest, usize)> {
    let mut end = tail.iter().rposition(|byte| *byte == b'\n');
    while let Some(at) = end {
        let before = tail.get(..at)?.iter().rposition(|byte| *byte == b'\n');
        let line = tail.get(before.map_or(0, |lf| lf.saturating_add(1))..at)?;
        if let Some((seq, hash)) = number_and_hash(line) {
            return Some((seq, hash, at.saturating_add(1)));
        }
        end = before;
    }
    is_start.then_some((0, Digest::ZERO, 0))
}

fn number_and_hash(line: &[u8]) -> Option<(u64, Digest)> {
    let line = std::str::from_utf8(line).ok()?;
    let (_, end) = line.strip_suffix("\"}")?.rsplit_once(",\"hash\":\"")?;
    let digits = line.strip_prefix("{\"v\":1,\"seq\":")?.split_once(',')?.0;
    Some((digits.parse().ok()?, Digest::from_hex(end)?))
}
