//! The policy's patterns: literals with `*`.

use crate::error::Invalid;
use std::fmt;

/// Literal ASCII text in which `*` stands for any run of characters but `/`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Pattern(String);

impl Pattern {
    /// Checks the pattern's text.
    ///
    /// # Errors
    /// Empty, over 256 bytes, or other than printable ASCII without blanks, `/`, `?`, `[`, `]`, `{`, `}`, `\`.
    pub fn new(text: &str) -> Result<Self, Invalid> {
        let fine =
            |b: u8| b.is_ascii_graphic() && !matches!(b, b'/' | b'?' | b'[' | b']' | b'{' | b'}' | b'\\');
        if text.is_empty() || text.len() > 256 || !text.bytes().all(fine) {
            return Err(Invalid::new(
                "pattern",
                "must be 1 to 256 printable ASCII characters of which only '*' is special; no '/', '?', brackets or '\\'",
            ));
        }
        Ok(Self(text.to_owned()))
    }

    /// The pattern's text.
    #[must_use]
    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// Whether `text` is what the pattern says; `*` crosses no `/`.
    #[must_use]
    pub fn matches(&self, text: &str) -> bool {
        self.matches_but(text, b'/')
    }

    /// As [`Self::matches`] for a unit's name: `*` does not cross `@` either.
    #[must_use]
    pub fn matches_unit(&self, name: &str) -> bool {
        self.matches_but(name, b'@')
    }

    /// As [`Self::matches`] for a file's name: `*` takes no leading dot.
    #[must_use]
    pub fn matches_file(&self, name: &str) -> bool {
        !(name.starts_with('.') && self.0.starts_with('*')) && self.matches(name)
    }

    /// The usual scan with one point to come back to: quadratic at worst, in at most 256 × 4096 steps.
    fn matches_but(&self, text: &str, stop: u8) -> bool {
        let (mut pattern, mut text) = (self.0.as_bytes(), text.as_bytes());
        let mut back: Option<(&[u8], &[u8])> = None;
        loop {
            match (pattern.split_first(), text.split_first()) {
                (Some((b'*', rest)), _) => {
                    pattern = rest;
                    back = Some((rest, text));
                }
                (Some((want, more)), Some((have, left))) if want == have => (pattern, text) = (more, left),
                (None, None) => return true,
                _ => match back {
                    Some((after, from)) => match from.split_first() {
                        Some((taken, left)) if *taken != stop && *taken != b'/' => {
                            back = Some((after, left));
                            (pattern, text) = (after, left);
                        }
                        _ => return false,
                    },
                    None => return false,
                },
            }
        }
    }
}

impl fmt::Display for Pattern {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}
