//! Applies a file's hunks to its content.

use crate::lines::{Ends, ends, shown, split, with_end};
use crate::{FileDiff, Kind, Mark};
use std::fmt;

/// Result of applying a file's hunks.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Applied {
    /// The new content.
    pub content: Vec<u8>,
    /// The hunks that stand elsewhere than the diff says.
    pub moved: Vec<Moved>,
}

/// A hunk that was put where its lines stand.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Moved {
    /// The hunk, from 1.
    pub hunk: usize,
    /// The line that the diff names.
    pub from: usize,
    /// The line where it fits.
    pub to: usize,
}

/// A hunk that does not fit.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Conflict {
    /// The file.
    pub path: String,
    /// The hunk, from 1.
    pub hunk: usize,
    /// Why.
    pub reason: Reason,
}

/// Why a hunk does not fit.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Reason {
    /// Its lines stand nowhere.
    Nowhere {
        /// The first line that differs where the diff says, from 1.
        line: usize,
        /// The expected line.
        expected: Vec<u8>,
        /// The actual line; `None` past the end.
        actual: Option<Vec<u8>>,
    },
    /// Its lines stand in several places, and not where the diff says.
    Several(Vec<usize>),
    /// Its lines stand only where an earlier hunk of the file has been, or before it.
    Taken(usize),
    /// It has no old line that says where it belongs.
    NoContext,
    /// More is left of a file that should be gone.
    Rest(usize),
    /// The file that should be new is there.
    Exists,
}

impl fmt::Display for Conflict {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "hunk {} of {:?} ", self.hunk, self.path)?;
        match &self.reason {
            Reason::Nowhere { line, expected, actual } => {
                let actual = actual.as_deref().map_or_else(|| "the file's end".to_owned(), shown);
                write!(f, "does not fit: line {line}: expected {}, actual {actual}", shown(expected))
            }
            Reason::Several(lines) => {
                let shown: Vec<_> = lines.iter().take(5).map(usize::to_string).collect();
                let more = if lines.len() > 5 { ", ..." } else { "" };
                write!(f, "fits in several places, lines {}{more}: give it more context", shown.join(", "))
            }
            Reason::Taken(line) => write!(f, "fits only at line {line}, where an earlier hunk has been"),
            Reason::NoContext => f.write_str("has no line that says where it belongs: give it context"),
            Reason::Rest(count) => write!(f, "leaves {count} lines of a file that should be gone"),
            Reason::Exists => f.write_str("makes a file that is there already"),
        }
    }
}

impl std::error::Error for Conflict {}

/// Applies a file's hunks to what it holds; `None` where there is no file. A hunk goes where the diff says, or
/// where its old lines stand if that is exactly one place. Where the file's line ends are all of one kind and the
/// diff's all of the other, the file's are kept.
///
/// # Errors
/// The first hunk that fits nowhere, in several places, or before an earlier one.
pub fn apply(file: &FileDiff, content: Option<&[u8]>) -> Result<Applied, Conflict> {
    let conflict = |hunk, reason| Conflict { path: file.path.clone(), hunk, reason };
    if file.kind == Kind::Create && content.is_some() {
        return Err(conflict(1, Reason::Exists));
    }
    let content = split(content.unwrap_or_default());
    let hunks = in_ends_of(file, &content);
    let mut applied = Applied { content: Vec::new(), moved: Vec::new() };
    let mut done = 0;
    for (index, (start, lines)) in hunks.iter().enumerate() {
        let number = index + 1;
        let of = |skipped: Mark| {
            let kept = lines.iter().filter(move |(mark, _)| *mark != skipped);
            kept.map(|(_, line)| line.as_slice())
        };
        let old: Vec<&[u8]> = of(Mark::Insert).collect();
        let at = place(&content, &old, *start, done).map_err(|reason| conflict(number, reason))?;
        let said = if old.is_empty() { *start } else { start.saturating_sub(1) };
        if at != said {
            applied.moved.push(Moved { hunk: number, from: *start, to: at + 1 });
        }
        applied.content.extend(content[done..at].concat());
        applied.content.extend(of(Mark::Delete).collect::<Vec<_>>().concat());
        done = at + old.len();
    }
    let rest = &content[done..];
    if file.kind == Kind::Delete && !(rest.is_empty() && applied.content.is_empty()) {
        let count = rest.len() + split(&applied.content).len();
        return Err(conflict(hunks.len().max(1), Reason::Rest(count)));
    }
    applied.content.extend(rest.concat());
    Ok(applied)
}

type Lines = Vec<(Mark, Vec<u8>)>;

/// The hunks with the line ends of the file.
fn in_ends_of(file: &FileDiff, content: &[&[u8]]) -> Vec<(usize, Lines)> {
    let theirs = ends(file.hunks.iter().flat_map(|hunk| &hunk.lines).map(|(_, line)| line.as_slice()));
    let ours = ends(content.iter().copied());
    let differ = matches!((ours, theirs), (Ends::CrLf, Ends::Lf) | (Ends::Lf, Ends::CrLf));
    let adapt =
        |(mark, line): &(Mark, Vec<u8>)| (*mark, if differ { with_end(line, ours) } else { line.clone() });
    file.hunks.iter().map(|hunk| (hunk.old_start, hunk.lines.iter().map(adapt).collect())).collect()
}

/// Where a hunk's old lines stand, from 0; at or after `done`.
fn place(content: &[&[u8]], old: &[&[u8]], start: usize, done: usize) -> Result<usize, Reason> {
    if old.is_empty() {
        // Only an empty file leaves no doubt.
        return if content.is_empty() && start == 0 { Ok(0) } else { Err(Reason::NoContext) };
    }
    let said = start.saturating_sub(1);
    if said >= done && content.get(said..).is_some_and(|rest| rest.starts_with(old)) {
        return Ok(said);
    }
    match occurrences(content, old).as_slice() {
        [] => Err(nowhere(content, old, said)),
        [one] if *one >= done => Ok(*one),
        [one] => Err(Reason::Taken(one + 1)),
        several => Err(Reason::Several(several.iter().map(|at| at + 1).collect())),
    }
}

fn nowhere(content: &[&[u8]], old: &[&[u8]], said: usize) -> Reason {
    let actual = |index: usize| content.get(said + index).copied();
    let differs = |index: &usize| actual(*index) != Some(old[*index]);
    // One of them differs, or it would have been found.
    let index = (0..old.len()).find(differs).unwrap_or_default();
    Reason::Nowhere {
        line: said + index + 1,
        expected: old[index].to_owned(),
        actual: actual(index).map(<[u8]>::to_owned),
    }
}

/// Every place where a run of lines stands: Knuth, Morris and Pratt, so that no content makes it slow.
fn occurrences(content: &[&[u8]], run: &[&[u8]]) -> Vec<usize> {
    let mut fallback = vec![0; run.len()];
    let mut matched = 0;
    for index in 1..run.len() {
        while matched > 0 && run[index] != run[matched] {
            matched = fallback[matched - 1];
        }
        matched += usize::from(run[index] == run[matched]);
        fallback[index] = matched;
    }
    let mut found = Vec::new();
    matched = 0;
    for (index, line) in content.iter().enumerate() {
        while matched > 0 && *line != run[matched] {
            matched = fallback[matched - 1];
        }
        matched += usize::from(*line == run[matched]);
        if matched == run.len() {
            found.push(index + 1 - run.len());
            matched = fallback[matched - 1];
        }
    }
    found
}
