//! Errors of a log: the first line that breaks the chain, and the kind of tampering.

use super::lines::{End, Lines};
use super::record::{Hex, Record};
use serde::Serialize;
use std::cmp::Ordering;
use std::io;
use std::path::PathBuf;

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
    /// Records stand in another order.
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
pub struct Bad {
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
    /// Whether this record may stand here.
    pub fn is(&self, record: &Record<'_>) -> bool {
        record.seq == self.seq && *record.prev == self.prev
    }

    /// What stands in what remains of this file and in the files after it, where so much is known already.
    pub fn behind(&self, known: Behind, mut lines: Lines, files: &[PathBuf]) -> io::Result<Behind> {
        let (mut known, mut files) = (known, files.iter());
        while known != Behind::Expected {
            let Some((line, end)) = lines.next()? else {
                let Some(next) = files.next() else { break };
                lines = Lines::open(next)?;
                continue;
            };
            if end == End::Whole
                && let Ok(record) = Record::read(line)
            {
                known = self.this(&record);
            }
        }
        Ok(known)
    }

    /// What it is to find this record.
    pub fn this(&self, record: &Record<'_>) -> Behind {
        if self.is(record) { Behind::Expected } else { Behind::Others }
    }
}

/// The lines after a line that breaks the chain.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Behind {
    /// No record.
    Nothing,
    /// Records, but not the one that must stand there.
    Others,
    /// The record that must stand there.
    Expected,
}

/// The error of a line.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum What {
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
    pub what: What,
    /// What was read behind it already.
    pub behind: Behind,
}

impl Broken {
    /// Says what was done, as far as what stands behind it shows that.
    #[must_use]
    pub fn named(self, expected: &Expected, behind: Behind) -> Bad {
        let (seq, follows) = (expected.seq, behind == Behind::Expected);
        let other = if follows { Kind::Insertion } else { Kind::Modification };
        let (kind, reason) = match self.what {
            What::NoRecord if follows => (other, "this line is no record and was added".to_owned()),
            What::NoRecord if behind == Behind::Nothing => {
                let why = "the log ends in what is no record; after a crash the recorder names it in a `torn` record when it starts";
                (Kind::Truncation, why.to_owned())
            }
            What::NoRecord => (other, format!("this line is no record, where record {seq} must stand")),
            What::Changed(seq) => {
                (other, format!("record {seq} was changed: its hash is not that of its bytes"))
            }
            What::Number(found) => {
                let kind = match found.cmp(&seq) {
                    Ordering::Less => Kind::Insertion,
                    _ if follows => Kind::Reordering,
                    Ordering::Equal | Ordering::Greater => Kind::Removal,
                };
                (kind, format!("record {found} stands where record {seq} must stand"))
            }
            What::Twin(found) => {
                (Kind::Insertion, format!("a second record {found} stands behind the first"))
            }
            What::Prev => (other, format!("record {seq} does not hold the hash of the record before it")),
            What::Torn => (Kind::Removal, "this `torn` record names no line before it".to_owned()),
            What::Cut => {
                let why = "the log ends inside this line; after a crash the recorder names it in a `torn` record when it starts";
                (Kind::Truncation, why.to_owned())
            }
            What::TooLong => (other, "the line is longer than any record".to_owned()),
            What::Seal(why) | What::Known(why) => (other, why),
        };
        Bad { file: self.file, line: self.line, kind, reason }
    }
}
