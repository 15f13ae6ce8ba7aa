//! The hash chain of CONTRACTS 7, proven on bytes in constant memory.

use super::first_seq;
use super::lines::{End, Lines};
use postern_helper::types::Digest;
use sha2::{Digest as _, Sha256};
use std::io;
use std::path::{Path, PathBuf};

/// Bytes of `,"hash":"<64 hex>"}`: what the hash of a line does not cover.
const HASH_END: usize = 9 + 64 + 2;
/// Bytes of `,"prev":"<64 hex>"` before it.
const PREV: usize = 9 + 64 + 1;

/// What a verification found.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Verdict {
    /// Records that are proven.
    pub records: u64,
    /// Number of the first.
    pub first_seq: Option<u64>,
    /// Number of the last that is proven.
    pub last_seq: Option<u64>,
    /// Hash of the last that is proven.
    pub last_hash: String,
    /// Torn lines that the log itself names.
    pub torn: u64,
    /// The first line that is not as it must be.
    pub bad: Option<Bad>,
}

/// A line that breaks the chain.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Bad {
    /// In which file.
    pub file: PathBuf,
    /// Which line, from 1.
    pub line: u64,
    /// What is wrong.
    pub reason: String,
}

/// Verifies the files as one log, in this order.
///
/// # Errors
/// A file cannot be read, and which.
pub fn verify(files: &[PathBuf]) -> Result<Verdict, (PathBuf, io::Error)> {
    let mut chain = Chain::default();
    for file in files {
        let broken = chain.file(file).map_err(|error| (file.clone(), error))?;
        if let Some(bad) = broken {
            chain.verdict.bad = Some(bad);
            break;
        }
    }
    chain.verdict.last_hash = chain.prev.map_or_else(String::new, |hash| hash.to_string());
    Ok(chain.verdict)
}

/// One whole line that says of itself what it must.
struct Record {
    seq: u64,
    prev: Digest,
    hash: Digest,
    /// Size and digest that a `torn` record names.
    torn: Option<(u64, Digest)>,
}

/// Bytes after the last record that are no record, until a `torn` record names them.
struct Fragment {
    bad: Bad,
    hasher: Sha256,
    size: u64,
}

#[derive(Default)]
struct Chain {
    verdict: Verdict,
    /// Hash of the last proven record.
    prev: Option<Digest>,
    /// Number and hash of the one before it, in case the last turns out to be torn just before its LF.
    before: Option<(u64, Digest)>,
    /// The line of the last proven record.
    last_line: Vec<u8>,
    fragment: Option<Fragment>,
}

impl Chain {
    /// Takes one file; the first line that breaks the chain, if one does.
    fn file(&mut self, path: &Path) -> io::Result<Option<Bad>> {
        let mut lines = Lines::open(path)?;
        let mut line = Vec::new();
        let mut number = 0;
        let name_says = path.file_name().and_then(|name| name.to_str()).and_then(first_seq);
        while let Some(end) = lines.next_into(&mut line)? {
            number += 1;
            let bad = |reason: String| Bad { file: path.to_owned(), line: number, reason };
            match end {
                End::Whole => {}
                End::File => {
                    let why = "the log ends inside this line; the helper names it in a `torn` record when it starts";
                    return Ok(Some(
                        self.fragment.take().map_or_else(|| bad(why.to_owned()), |held| held.bad),
                    ));
                }
                End::TooLong => return Ok(Some(bad("the line is longer than any record".to_owned()))),
            }
            match read(&line) {
                Ok(record) => {
                    if let Err(why) = self.take(&record, name_says) {
                        // A line before it that is no record is what broke first.
                        return Ok(Some(self.fragment.take().map_or_else(|| bad(why), |held| held.bad)));
                    }
                    std::mem::swap(&mut self.last_line, &mut line);
                }
                Err(why) => self.hold(&line, bad(why)),
            }
        }
        // What was cut short by a crash is named in the same file.
        Ok(self.fragment.take().map(|held| held.bad))
    }

    /// Keeps what is no record until the next record says whether it was torn.
    fn hold(&mut self, line: &[u8], bad: Bad) {
        if let Some(held) = &mut self.fragment {
            held.hasher.update(b"\n");
            held.hasher.update(line);
            held.size += line.len() as u64 + 1;
        } else {
            let hasher = Sha256::new().chain_update(line);
            self.fragment = Some(Fragment { bad, hasher, size: line.len() as u64 });
        }
    }

    /// Takes the next record into the chain.
    fn take(&mut self, record: &Record, name_says: Option<u64>) -> Result<(), String> {
        if let Some(held) = &self.fragment {
            let found = Digest::from_bytes(&held.hasher.clone().finalize());
            if record.torn.is_none_or(|(size, digest)| size != held.size || Some(digest) != found) {
                return Err("the line before is no record, and no `torn` record names it".to_owned());
            }
        } else if let Some((size, digest)) = record.torn {
            self.untake(size, digest)?;
        }
        let (seq, prev) = match (self.verdict.last_seq, self.prev) {
            (Some(seq), Some(prev)) => (seq + 1, prev),
            // The log begins at 1; a later beginning must at least be what the file's name says.
            _ if name_says == Some(record.seq) && record.seq > 1 => (record.seq, record.prev),
            _ => (1, Digest::ZERO),
        };
        if record.seq != seq {
            return Err(format!("record {} stands where record {seq} must stand", record.seq));
        }
        if record.prev != prev {
            return Err(format!("record {seq} does not hold the hash of the record before it"));
        }
        self.before = self.verdict.last_seq.zip(self.prev);
        self.prev = Some(record.hash);
        self.verdict.first_seq = self.verdict.first_seq.or(Some(seq));
        self.verdict.last_seq = Some(seq);
        self.verdict.records += 1;
        self.verdict.torn += u64::from(record.torn.is_some());
        self.fragment = None;
        Ok(())
    }

    /// A `torn` record after a whole line: that line lacked its LF only when the helper found it.
    fn untake(&mut self, size: u64, digest: Digest) -> Result<(), String> {
        if self.last_line.len() as u64 != size || Digest::of(&[&self.last_line]) != digest {
            return Err("this `torn` record names no line before it".to_owned());
        }
        (self.verdict.last_seq, self.prev) = self.before.unzip();
        self.verdict.records -= 1;
        if self.verdict.records == 0 {
            self.verdict.first_seq = None;
        }
        Ok(())
    }
}

/// A line as a record, if its form is that of one and its hash is its own.
fn read(line: &[u8]) -> Result<Record, String> {
    let no_record = || "this line is no record".to_owned();
    let (signed, end) = line.len().checked_sub(HASH_END).map(|at| line.split_at(at)).ok_or_else(no_record)?;
    let hash = hex(end, b",\"hash\":\"", b"\"}").ok_or_else(no_record)?;
    let at = signed.len().checked_sub(PREV).ok_or_else(no_record)?;
    let prev = hex(&signed[at..], b",\"prev\":\"", b"\"").ok_or_else(no_record)?;
    let (seq, members) = head(&signed[..at]).ok_or_else(no_record)?;
    if Digest::of(&[signed]) != hash {
        return Err(format!("record {seq} was changed: its hash is not that of its bytes"));
    }
    Ok(Record { seq, prev, hash, torn: torn(members) })
}

fn hex(bytes: &[u8], before: &[u8], after: &[u8]) -> Option<Digest> {
    let digits = bytes.strip_prefix(before)?.strip_suffix(after)?;
    Digest::from_hex(std::str::from_utf8(digits).ok()?)
}

/// The number of a record, in its one canonical form, and the members after it.
fn head(line: &[u8]) -> Option<(u64, &[u8])> {
    let rest = line.strip_prefix(b"{\"v\":1,\"seq\":")?;
    let (seq, rest) = number(rest)?;
    Some((seq, rest.strip_prefix(b",")?))
}

fn number(bytes: &[u8]) -> Option<(u64, &[u8])> {
    let len = bytes.iter().take_while(|b| b.is_ascii_digit()).count();
    let (digits, rest) = bytes.split_at(len);
    let is_canonical = digits.first() != Some(&b'0') || digits.len() == 1;
    let number = std::str::from_utf8(digits).ok()?.parse().ok()?;
    is_canonical.then_some((number, rest))
}

/// What a `torn` record names: the members right after `event`.
fn torn(members: &[u8]) -> Option<(u64, Digest)> {
    // `time` and `boot_id` come from the helper and hold no quote, so the first match is the member.
    let event = b",\"event\":\"torn\",\"size\":";
    let at = members.windows(event.len()).take(256).position(|window| window == event)?;
    let (size, rest) = number(&members[at + event.len()..])?;
    let digits = rest.strip_prefix(b",\"sha256\":\"")?.get(..64)?;
    Some((size, Digest::from_hex(std::str::from_utf8(digits).ok()?)?))
}
