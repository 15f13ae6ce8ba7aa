//! A diff of one file, read.

/// The change of one file in a diff.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FileDiff {
    /// The file, absolute.
    pub path: String,
    /// The kind of change.
    pub kind: Kind,
    /// Its parts, in the diff's order.
    pub hunks: Vec<Hunk>,
}

/// The kind of change of a file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// It must not be there, and is there afterwards.
    Create,
    /// Its content changes.
    Modify,
    /// It is gone afterwards.
    Delete,
}

/// A run of lines that change, with those around them.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Hunk {
    /// The first line in the old file as the header says, from 1; where no old line is in the hunk, the line
    /// that it comes after.
    pub old_start: usize,
    /// The lines, each with its end.
    pub lines: Vec<(Mark, Vec<u8>)>,
}

/// The kind of a line in a hunk.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Mark {
    /// It stays.
    Context,
    /// It goes.
    Delete,
    /// It comes.
    Insert,
}

impl FileDiff {
    /// How many lines come and how many go.
    #[must_use]
    pub fn counts(&self) -> (usize, usize) {
        let count =
            |mark| self.hunks.iter().flat_map(|hunk| &hunk.lines).filter(|(is, _)| *is == mark).count();
        (count(Mark::Insert), count(Mark::Delete))
    }
}
