//! Names of commands, and the values that a client gives their parameters.

use crate::error::Invalid;
use std::fmt;

/// A command's name: 1 to 64 of `[a-z0-9-]`, as ids are.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CommandName(String);

impl CommandName {
    /// Checks the name; says nothing about which commands the policy names.
    ///
    /// # Errors
    /// Another character or length.
    pub fn new(text: &str) -> Result<Self, Invalid> {
        let set = |b: u8| matches!(b, b'a'..=b'z' | b'0'..=b'9' | b'-');
        let is_name = (1..=64).contains(&text.len()) && text.bytes().all(set);
        let invalid = Invalid::new("name", "a command's name is 1 to 64 of a-z, 0-9 and '-'");
        is_name.then(|| Self(text.to_owned())).ok_or(invalid)
    }
}

readers!(CommandName, 0);

/// Parameters with their values, sorted by name. The command's parameter types restrict the values further.
#[derive(Clone, Default, PartialEq, Eq)]
pub struct Arguments(Vec<(String, String)>);

impl Arguments {
    /// Most parameters of a command.
    pub const MAX: usize = 32;

    /// Checks names and values.
    ///
    /// # Errors
    /// Too many, not sorted or not unique; a name that [`Self::is_name`] is not; a value that is empty or over 4096
    /// bytes. That a value which is no secret is one of [`Self::is_value`], the command's row checks.
    pub fn new(pairs: Vec<(String, String)>) -> Result<Self, Invalid> {
        let sorted = pairs.iter().zip(pairs.iter().skip(1)).all(|((a, _), (b, _))| a < b);
        if pairs.len() > Self::MAX || !sorted || !pairs.iter().all(|(name, _)| Self::is_name(name)) {
            return Err(Invalid::new("parameters", "must be up to 32 pairs, sorted by name, each name once"));
        }
        if !pairs.iter().all(|(_, value)| (1..=4096).contains(&value.len())) {
            return Err(Invalid::new("parameters", "each value is 1 to 4096 bytes"));
        }
        Ok(Self(pairs))
    }

    /// Whether this may name a parameter: 1 to 32 of `[a-z0-9_-]`, the first a letter.
    pub fn is_name(text: &str) -> bool {
        text.len() <= 32
            && text.starts_with(|c: char| c.is_ascii_lowercase())
            && text.bytes().all(|b| matches!(b, b'a'..=b'z' | b'0'..=b'9' | b'_' | b'-'))
    }

    /// Whether this may be a value of any parameter, one that stands in `argv`: it begins with none of `-`, `@` and
    /// `+`, which programs read as something else.
    pub fn is_value(text: &str) -> bool {
        (1..=4096).contains(&text.len())
            && !text.starts_with(['-', '@', '+'])
            && !text.chars().any(|c| c.is_control() || super::path::is_bidi(c))
    }

    /// The value of this name.
    pub fn get(&self, name: &str) -> Option<&str> {
        self.iter().find(|(known, _)| *known == name).map(|(_, value)| value)
    }

    /// Names and values, in the names' order.
    pub fn iter(&self) -> impl Iterator<Item = (&str, &str)> {
        self.0.iter().map(|(name, value)| (name.as_str(), value.as_str()))
    }
}

/// Names alone: a value may be a secret.
impl fmt::Debug for Arguments {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_list().entries(self.iter().map(|(name, _)| name)).finish()
    }
}
