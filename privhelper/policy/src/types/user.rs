//! Names of users and groups.

use crate::error::Invalid;

/// A user's or group's name: 1 to 32 of `[a-z0-9_-]`, the first `[a-z_]`. Never a number.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct UserName(String);

impl UserName {
    /// Checks the name; says nothing about who exists.
    ///
    /// # Errors
    /// Another character, length or first character.
    pub fn new(field: &'static str, text: &str) -> Result<Self, Invalid> {
        let first = text.bytes().next().is_some_and(|b| matches!(b, b'a'..=b'z' | b'_'));
        let rest = text.bytes().all(|b| matches!(b, b'a'..=b'z' | b'0'..=b'9' | b'_' | b'-'));
        let why = "must be a user's or group's name of a-z, 0-9, '_', '-', and no number";
        (first && rest && text.len() <= 32).then(|| Self(text.to_owned())).ok_or(Invalid::new(field, why))
    }
}

readers!(UserName, 0);
