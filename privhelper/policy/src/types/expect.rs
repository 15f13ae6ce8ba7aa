//! The precondition of a change to a file.

use super::digest::Digest;
use crate::error::Invalid;

/// The precondition of a change to a file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Expect {
    /// Any state.
    Any,
    /// No file.
    Absent,
    /// A file of exactly this content.
    Content(Digest),
}

impl Expect {
    /// `"any"`, `"absent"` or 64 lower-case hex digits.
    ///
    /// # Errors
    /// Anything else.
    pub fn new(text: &str) -> Result<Self, Invalid> {
        match text {
            "any" => Ok(Self::Any),
            "absent" => Ok(Self::Absent),
            hex => Digest::from_hex(hex)
                .map(Self::Content)
                .ok_or(Invalid::new("expect", "must be 64 lower-case hex digits, \"absent\" or \"any\"")),
        }
    }
}
