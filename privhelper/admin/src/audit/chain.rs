//! Verifies the hash chain of `privhelper/audit/AUDIT.md`, on bytes and in constant memory.

use super::chain_error::{Broken, ChainError, Expected, Following, Kind, LineError};
use super::delays::Delays;
use super::files::first_seq;
use super::lines::{End, Lines};
use super::proof::{Proof, ProofState};
use super::record::{FIRST_PREV, Hex, NoRecord, Record, hex, words};
use super::seals::Seals;
use super::statements::{Difference, Statements};
use serde::Deserialize;
use sha2::{Digest as _, Sha256};
use std::io;
use std::path::{Path, PathBuf};

/// The result of a verification.
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
    /// The proofs besides the hashes.
    pub state: ProofState,
    /// How late the agent's records were anchored.
    pub delays: Delays,
    /// Where root states something else than the broker claimed.
    pub differences: Vec<Difference>,
    /// The first line that is not as it must be.
    pub bad: Option<ChainError>,
}

/// Which files are verified.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Extent {
    /// All that an installation keeps: what is missing must have been removed by retention.
    Installed,
    /// All that the agent keeps: another user writes them.
    Agents,
    /// Some that were named.
    Named,
}

impl Extent {
    /// Opens one of the files.
    ///
    /// # Errors
    /// As [`Lines::open`] and [`Lines::of_another_user`].
    pub fn open(self, path: &Path) -> io::Result<Lines> {
        match self {
            Self::Agents => Lines::of_another_user(path),
            Self::Installed | Self::Named => Lines::open(path),
        }
    }
}

/// Verifies the files as one log, in this order, against all that is known beside them.
///
/// # Errors
/// A file cannot be read, and which.
pub fn verify(files: &[PathBuf], extent: Extent, proof: &Proof) -> Result<Verdict, (PathBuf, io::Error)> {
    let mut chain = Chain {
        extent,
        proof,
        verdict: Verdict::default(),
        now: None,
        before: None,
        last_line: Vec::new(),
        fragment: None,
        begins: None,
        statements: Statements::default(),
    };
    for (index, file) in files.iter().enumerate() {
        let broken = chain.file(file, &files[index + 1..]).map_err(|error| (file.clone(), error))?;
        if broken.is_some() {
            chain.verdict.bad = broken;
            break;
        }
    }
    let mut verdict = chain.verdict();
    if verdict.bad.is_none() {
        let wrong = missing(&verdict, extent).or_else(|| proof.missing(verdict.last_seq, &verdict.state));
        let file = files.last().cloned().unwrap_or_default();
        verdict.bad = wrong.map(|(kind, reason)| ChainError { file, line: 0, kind, reason });
    }
    Ok(verdict)
}

/// Reports records before the first one that retention did not remove.
fn missing(verdict: &Verdict, extent: Extent) -> Option<(Kind, String)> {
    let first = verdict.first_seq.filter(|_| extent != Extent::Named)?;
    let kept = verdict.state.kept.unwrap_or(1);
    (first > kept).then(|| {
        let gone =
            format!("the records {kept} to {} are not here, and retention did not remove them", first - 1);
        (Kind::Removal, gone)
    })
}

/// The state of the chain after a record.
#[derive(Debug, Clone)]
struct Point {
    seq: u64,
    hash: Hex,
    /// The input of this record's hash.
    prev: Hex,
    seals: Seals,
}

/// Bytes after the last record that are no record, until a `torn` record names them.
struct Fragment {
    broken: Broken,
    hasher: Sha256,
    size: u64,
}

struct Chain<'a> {
    extent: Extent,
    proof: &'a Proof,
    verdict: Verdict,
    /// The last proven record.
    now: Option<Point>,
    /// The one before it, in case the last turns out to be torn just before its LF.
    before: Option<Point>,
    /// The line of the last proven record.
    last_line: Vec<u8>,
    fragment: Option<Fragment>,
    /// Where a log that does not begin at 1 begins: as the first file's name says.
    begins: Option<u64>,
    statements: Statements,
}

impl Chain<'_> {
    /// Takes one file; the first line that breaks the chain, if one does. `later`: the files after it.
    fn file(&mut self, path: &Path, later: &[PathBuf]) -> io::Result<Option<ChainError>> {
        let mut lines = self.extent.open(path)?;
        let mut number = 0;
        if self.now.is_none() {
            self.begins = first_seq(path).filter(|first| *first > 1);
        }
        let broken = loop {
            let Some((line, end)) = lines.next()? else {
                // A `torn` record is in the same file as the line that it names.
                break self.fragment.take().map(|held| held.broken);
            };
            number += 1;
            let broken =
                |what| Broken { file: path.to_owned(), line: number, what, following: Following::Nothing };
            if let Err(broken) = self.line(line, end, broken) {
                break Some(broken);
            }
        };
        let Some(broken) = broken else { return Ok(None) };
        let expected = self.expected();
        let following = expected.following(broken.following, lines, later, |path| self.extent.open(path))?;
        Ok(Some(broken.named(&expected, following)))
    }

    /// Takes one line.
    fn line(&mut self, line: &[u8], end: End, broken: impl Fn(LineError) -> Broken) -> Result<(), Broken> {
        let what = match end {
            End::Whole => match Record::read(line) {
                Ok(record) => return self.record(&record, broken),
                Err(NoRecord::Form) => LineError::NoRecord,
                Err(NoRecord::Hash(seq)) => LineError::Changed(seq),
            },
            // A line before it that is no record is what broke first.
            End::File => {
                return Err(self.fragment.take().map_or_else(|| broken(LineError::Cut), |held| held.broken));
            }
            End::TooLong => {
                return Err(self
                    .fragment
                    .take()
                    .map_or_else(|| broken(LineError::TooLong), |held| held.broken));
            }
        };
        self.hold(line, || broken(what));
        Ok(())
    }

    /// Keeps what is no record until the next record says whether it was torn.
    fn hold(&mut self, line: &[u8], broken: impl FnOnce() -> Broken) {
        if let Some(held) = &mut self.fragment {
            held.hasher.update(b"\n");
            held.hasher.update(line);
            held.size += line.len() as u64 + 1;
        } else {
            let hasher = Sha256::new().chain_update(line);
            self.fragment = Some(Fragment { broken: broken(), hasher, size: line.len() as u64 });
        }
    }

    /// The expected next record.
    fn expected(&self) -> Expected {
        match &self.now {
            Some(point) => Expected { seq: point.seq + 1, prev: point.hash },
            None => Expected { seq: 1, prev: FIRST_PREV },
        }
    }

    /// Takes the next record into the chain.
    fn record(&mut self, record: &Record<'_>, broken: impl Fn(LineError) -> Broken) -> Result<(), Broken> {
        let torn = (record.event == b"torn").then(|| Torn::of(record));
        if let Some(held) = self.fragment.take() {
            let found = hex(&held.hasher.finalize().into());
            if torn.flatten().is_none_or(|torn| torn.size != held.size || torn.sha256.as_bytes() != found) {
                return Err(Broken { following: self.expected().kind_of(record), ..held.broken });
            }
        } else if torn.is_some() && !self.untake(torn.flatten()) && self.expected().is(record) {
            return Err(broken(LineError::Torn));
        }
        self.take(record).map_err(broken)?;
        self.verdict.torn += u64::from(record.event == b"torn");
        self.last_line.clear();
        self.last_line.extend_from_slice(record.line);
        Ok(())
    }

    fn take(&mut self, record: &Record<'_>) -> Result<(), LineError> {
        let begins = self.now.is_none() && self.begins == Some(record.seq);
        let expected = self.expected();
        if !begins && !expected.is(record) {
            let is_twin = |point: &Point| point.seq == record.seq && point.prev == *record.prev;
            return Err(match &self.now {
                Some(point) if is_twin(point) && point.hash != *record.hash => LineError::Twin(record.seq),
                _ if record.seq != expected.seq => LineError::Number(record.seq),
                _ => LineError::Prev,
            });
        }
        let mut seals = self.now.as_ref().map(|point| point.seals.clone()).unwrap_or_default();
        self.proof.check(&mut seals, &mut self.verdict.state, record)?;
        if self.extent == Extent::Agents {
            self.verdict.delays.take(&self.proof.anchors, record);
        }
        self.statements.take(record.seq, record.event, record.line);
        self.before = self.now.take();
        self.now = Some(Point { seq: record.seq, hash: *record.hash, prev: *record.prev, seals });
        self.verdict.first_seq = self.verdict.first_seq.or(Some(record.seq));
        self.verdict.records += 1;
        Ok(())
    }

    /// A `torn` record after a whole line: that line lacked its LF only when the recorder found it. Whether it is named so.
    fn untake(&mut self, torn: Option<Torn<'_>>) -> bool {
        let is_named = |torn: Torn<'_>| {
            self.last_line.len() as u64 == torn.size
                && hex(&Sha256::digest(&self.last_line).into()) == torn.sha256.as_bytes()
        };
        if self.now.is_none() || !torn.is_some_and(is_named) {
            return false;
        }
        self.now = self.before.take();
        self.verdict.records -= 1;
        if self.verdict.records == 0 {
            self.verdict.first_seq = None;
        }
        true
    }

    fn verdict(mut self) -> Verdict {
        self.verdict.last_seq = self.now.as_ref().map(|point| point.seq);
        self.verdict.differences = self.statements.found;
        self.verdict.last_hash = self.now.map_or_else(String::new, |point| words(&point.hash));
        self.verdict
    }
}

/// The bytes that a `torn` record names.
#[derive(Deserialize)]
struct Torn<'a> {
    size: u64,
    #[serde(borrow)]
    sha256: &'a str,
}

impl<'a> Torn<'a> {
    fn of(record: &Record<'a>) -> Option<Self> {
        serde_json::from_slice(record.line).ok()
    }
}
