//! How bad a finding about a policy is, and where it is: the words that reading, lint and output share.

pub use postern_dangers::{Class, Severity};

/// A byte of one of the policy's files.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Hash)]
pub struct Location {
    /// The file, by its rank in the policy.
    pub file: usize,
    /// The offset in bytes.
    pub byte: usize,
}
