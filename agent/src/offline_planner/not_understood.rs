//! Words that the planner can make nothing of.

use std::fmt;

/// Words that the planner can make nothing of.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NotUnderstood {
    /// The words, as they stood.
    pub words: String,
    /// Hint at a phrase that is understood; may be empty.
    pub hint: String,
}

impl fmt::Display for NotUnderstood {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "does not understand {:?}", self.words)?;
        if self.hint.is_empty() { Ok(()) } else { write!(f, ": {}", self.hint) }
    }
}

impl std::error::Error for NotUnderstood {}
