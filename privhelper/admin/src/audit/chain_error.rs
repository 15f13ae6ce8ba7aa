//! The first line that breaks the hash chain, and the kind of tampering that it shows.

use super::lines::{End, Lines};
use super::record::{Hex, Record};
use serde::Serialize;
use std::cmp::Ordering;
use std::io;
use std::path::{Path, PathBuf};

/// A kind of tampering.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Kind {
    /// A record was changed.
    Modification,
    /// A line was added.
    Insertion,
    /// A record was taken out.
    Removal,
    /// Records are in another order.
    Reordering,
    /// The end is missing.
    Truncation,
}

impl Kind {
    /// The word for it.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Modification => "modification",
            Self::Insertion => "insertion",
            Self::Removal => "removal",
            Self::Reordering => "reordering",
            Self::Truncation => "truncation",
        }
    }
}

/// The first line that breaks the chain.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ChainError {
    /// In which file.
    pub file: PathBuf,
    /// Which line, from 1.
    pub line: u64,
    /// The kind of tampering.
    pub kind: Kind,
    /// How that is known.
    pub reason: String,
}

/// The expected next record.
#[derive(Debug, Clone, Copy)]
pub struct Expected {
    /// Its number.
    pub seq: u64,
    /// The hash of the record before it.
    pub prev: Hex,
}

impl Expected {
    /// Whether this is the expected record.
    pub fn is(&self, record: &Record<'_>) -> bool {
        record.seq == self.seq && *record.prev == self.prev
    }

    /// Looks for the expected record in the rest of this file and in the files after it. `known`: the result so far.
    pub fn following(
        &self,
        known: Following,
        mut lines: Lines,
        files: &[PathBuf],
        open: impl Fn(&Path) -> io::Result<Lines>,
    ) -> io::Result<Following> {
        let (mut known, mut files) = (known, files.iter());
        while known != Following::Expected {
            let Some((line, end)) = lines.next()? else {
                let Some(next) = files.next() else { break };
                lines = open(next)?;
                continue;
            };
            if end == End::Whole
                && let Ok(record) = Record::read(line)
            {
                known = self.kind_of(&record);
            }
        }
        Ok(known)
    }

    /// The result of finding this record.
    pub fn kind_of(&self, record: &Record<'_>) -> Following {
        if self.is(record) { Following::Expected } else { Following::Others }
    }
}

/// The lines after a line that breaks the chain.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Following {
    /// No record.
    Nothing,
    /// Records, but not the expected one.
    Others,
    /// The expected record.
    Expected,
}

/// The error of a line.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum LineError {
    /// It has not the form of a record, and no `torn` record names it.
    NoRecord,
    /// Its hash is not that of its bytes.
    Changed(u64),
    /// A record of another number than the next.
    Number(u64),
    /// A second record of the last number, after the same record as the first.
    Twin(u64),
    /// It does not hold the hash of the record before it.
    Prev,
    /// A `torn` record that names no line.
    Torn,
    /// The file ends inside it.
    Cut,
    /// It is longer than any record.
    TooLong,
    /// Its seal or signature is wrong, and how.
    Seal(String),
    /// It is not what is known from elsewhere of the record of its number.
    Known(String),
}

/// A line that breaks the chain, before it is known why.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Broken {
    /// In which file.
    pub file: PathBuf,
    /// Which line, from 1.
    pub line: u64,
    /// Its error.
    pub what: LineError,
    /// The lines after it that were read already.
    pub following: Following,
}

impl Broken {
    /// Names the kind of tampering, as far as the lines after it show it.
    #[must_use]
    pub fn named(self, expected: &Expected, following: Following) -> ChainError {
        let (seq, follows) = (expected.seq, following == Following::Expected);
        let other = if follows { Kind::Insertion } else { Kind::Modification };
        let (kind, reason) = match self.what {
            LineError::NoRecord if follows => (other, "this line is not a record and was added".to_owned()),
            LineError::NoRecord if following == Following::Nothing => {
                let why = "the log ends in bytes that are not a record; after a crash its writer names it in a `torn` record when it starts";
                (Kind::Truncation, why.to_owned())
            }
            LineError::NoRecord => (other, format!("this line is not a record, where record {seq} must be")),
            LineError::Changed(seq) => {
                (other, format!("record {seq} was changed: its hash is not that of its bytes"))
            }
            LineError::Number(found) => {
                let kind = match found.cmp(&seq) {
                    Ordering::Less => Kind::Insertion,
                    _ if follows => Kind::Reordering,
                    Ordering::Equal | Ordering::Greater => Kind::Removal,
                };
                (kind, format!("record {found} is where record {seq} must be"))
            }
            LineError::Twin(found) => (Kind::Insertion, format!("a second record {found} follows the first")),
            LineError::Prev => {
                (other, format!("record {seq} does not hold the hash of the record before it"))
            }
            LineError::Torn => (Kind::Removal, "this `torn` record names no line before it".to_owned()),
            LineError::Cut => {
                let why = "the log ends inside this line; after a crash its writer names it in a `torn` record when it starts";
                (Kind::Truncation, why.to_owned())
            }
            LineError::TooLong => (other, "the line is longer than any record".to_owned()),
            LineError::Seal(why) | LineError::Known(why) => (other, why),
        };
        ChainError { file: self.file, line: self.line, kind, reason }
    }
}
