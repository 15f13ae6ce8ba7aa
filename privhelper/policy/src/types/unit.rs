//! Names of systemd units.

use crate::error::Invalid;

/// How units' names end (systemd.unit(5)).
#[rustfmt::skip]
pub const UNIT_SUFFIXES: [&str; 11] = [
    ".service", ".socket", ".timer", ".target", ".path", ".mount", ".automount", ".swap", ".slice", ".scope", ".device",
];

/// A unit's full name with its suffix: at most 255 of `[A-Za-z0-9:_.\\-]`, at most one `@` (systemd.unit(5)).
///
/// No glob, path or bare name passes, so systemctl has nothing to complete or mangle.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct UnitName(String);

const INVALID: Invalid = Invalid::new("unit", "must be a unit's full name such as \"nginx.service\"");

impl UnitName {
    /// Checks the name.
    ///
    /// # Errors
    /// Another character, no known suffix, a first `-` or `.`, nothing before the suffix, a template
    /// without instance (`x@.service`), or `..`.
    pub fn new(text: &str) -> Result<Self, Invalid> {
        Self::new_or_template(text).and_then(|name| if name.is_template() { Err(INVALID) } else { Ok(name) })
    }

    /// Checks a name that may be a template's, as in `[Install]` sections and the links that they make.
    ///
    /// # Errors
    /// As [`Self::new`], templates apart.
    pub fn new_or_template(text: &str) -> Result<Self, Invalid> {
        let set = |b: u8| b.is_ascii_alphanumeric() || matches!(b, b':' | b'_' | b'.' | b'-' | b'\\' | b'@');
        let Some(stem) = UNIT_SUFFIXES.iter().find_map(|suffix| text.strip_suffix(suffix)) else {
            return Err(INVALID);
        };
        let ats = stem.bytes().filter(|b| *b == b'@').count();
        if text.len() > 255
            || stem.is_empty()
            || !text.bytes().all(set)
            || text.contains("..")
            || stem.starts_with(['-', '.', '@'])
            || ats > 1
        {
            return Err(INVALID);
        }
        Ok(Self(text.to_owned()))
    }

    /// Whether it stands for units that differ by what follows the `@`.
    pub fn is_template(&self) -> bool {
        self.0.rsplit_once('.').is_some_and(|(stem, _)| stem.ends_with('@'))
    }
}

readers!(UnitName, 0);
