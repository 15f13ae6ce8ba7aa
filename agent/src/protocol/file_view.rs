//! Differences of a file, as the client can tell from what it may read.

use super::event::FileInfo;
use postern_patch::Difference;

/// A share of a file's lines from which on removing them is told: it is a new file under an old name.
const MANY: (usize, usize) = (8, 30);

/// One file of a plan.
#[derive(Clone, Debug, Default)]
pub struct FileView {
    /// The file.
    pub path: String,
    /// There is no such file yet.
    pub is_new: bool,
    /// The file as it is, if that is known.
    pub was: Option<FileInfo>,
    /// How many lines it has.
    pub lines: usize,
    /// The difference.
    pub difference: Difference,
}

impl FileView {
    /// `+3 -1`, and what a person should know of it.
    #[must_use]
    pub fn counts(&self) -> String {
        let Difference { added, removed, .. } = self.difference;
        let most = if self.is_rewrite() {
            format!(" (drops {} % of its lines)", self.dropped())
        } else {
            String::new()
        };
        format!("+{added} -{removed}{most}")
    }

    /// So many of its lines would go that it is a new file under an old name.
    #[must_use]
    pub fn is_rewrite(&self) -> bool {
        self.difference.removed >= MANY.0 && self.dropped() >= MANY.1
    }

    /// It would not hold what it holds.
    #[must_use]
    pub fn differs(&self) -> bool {
        !self.difference.text.is_empty()
    }

    /// The share of its lines that would go, in percent.
    fn dropped(&self) -> usize {
        self.difference.removed * 100 / self.lines.max(1)
    }

    /// The diff; what is not UTF-8 in it is replaced.
    #[must_use]
    pub fn text(&self) -> String {
        String::from_utf8_lossy(&self.difference.text).into_owned()
    }
}
