//! Names of systemd units.

use crate::error::Invalid;
use std::fmt;

/// How units' names end (systemd.unit(5)).
pub const UNIT_SUFFIXES: [&str; 11] = [
    ".service",
    ".socket",
    ".timer",
    ".target",
    ".path",
    ".mount",
    ".automount",
    ".swap",
    ".slice",
    ".scope",
    ".device",
];

/// A unit's full name with its suffix: at most 255 of `[A-Za-z0-9:_.\\-]`, at most one `@` (systemd.unit(5)).
///
/// No glob, path or bare name passes, so systemctl has nothing to complete or mangle.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct UnitName(String);

impl UnitName {
    /// Checks the name.
    ///
    /// # Errors
    /// Another character, no known suffix, a first `-` or `.`, nothing before the suffix, a template
    /// without instance (`x@.service`), or `..`.
    pub fn new(text: &str) -> Result<Self, Invalid> {
        let bad = Err(Invalid::new("unit", "must be a unit's full name such as \"nginx.service\""));
        let set = |b: u8| b.is_ascii_alphanumeric() || matches!(b, b':' | b'_' | b'.' | b'-' | b'\\' | b'@');
        let Some(stem) = UNIT_SUFFIXES.iter().find_map(|suffix| text.strip_suffix(suffix)) else {
            return bad;
        };
        let ats = stem.bytes().filter(|b| *b == b'@').count();
        if text.len() > 255
            || stem.is_empty()
            || !text.bytes().all(set)
            || text.contains("..")
            || stem.starts_with(['-', '.', '@'])
            || stem.ends_with('@')
            || ats > 1
        {
            return bad;
        }
        Ok(Self(text.to_owned()))
    }

    /// The name.
    #[must_use]
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl fmt::Display for UnitName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}
