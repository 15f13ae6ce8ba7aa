//! The policy's patterns: literals with `*`.

use crate::error::Invalid;
use std::fmt;

/// Literal ASCII text in which `*` stands for any run of characters. What it does not cross depends on what is matched.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Pattern(String);

impl Pattern {
    /// A pattern of names.
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

    /// A pattern of lines and of texts, in which `/`, blanks and brackets are themselves.
    ///
    /// # Errors
    /// Empty, over 256 bytes, other than printable ASCII and blanks, or with a last `\`, which would join two lines.
    pub fn of_text(text: &str) -> Result<Self, Invalid> {
        let is_printable = text.bytes().all(|b| matches!(b, b' '..=b'~'));
        if text.is_empty() || text.len() > 256 || !is_printable || text.ends_with('\\') {
            return Err(Invalid::new(
                "pattern",
                "must be 1 to 256 printable ASCII characters or blanks of which only '*' is special, the last no '\\'",
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
        self.matches_but(text, |b| b != b'/')
    }

    /// As [`Self::matches`] for a unit's name: `*` does not cross `@` either.
    #[must_use]
    pub fn matches_unit(&self, name: &str) -> bool {
        self.matches_but(name, |b| b != b'/' && b != b'@')
    }

    /// As [`Self::matches`] for a file's name: `*` takes no leading dot.
    #[must_use]
    pub fn matches_file(&self, name: &str) -> bool {
        !(name.starts_with('.') && self.0.starts_with('*')) && self.matches(name)
    }

    /// Whether a line is what the pattern says; `*` takes any printable ASCII character and blanks.
    #[must_use]
    pub fn matches_line(&self, line: &str) -> bool {
        self.matches_but(line, |b| matches!(b, b' '..=b'~'))
    }

    /// What stands before the first `*` and after the last decides nearly always.
    fn matches_but(&self, text: &str, takes: impl Fn(u8) -> bool) -> bool {
        let Some((first, rest)) = self.0.split_once('*') else {
            return self.0 == text;
        };
        let (middle, last) =
            rest.rsplit_once('*').map_or((None, rest), |(middle, last)| (Some(middle), last));
        let inner = text.strip_prefix(first).and_then(|text| text.strip_suffix(last));
        match (inner, middle) {
            (None, _) => false,
            (Some(inner), None) => inner.bytes().all(takes),
            (Some(inner), Some(middle)) => between(middle.as_bytes(), inner.as_bytes(), &takes),
        }
    }
}

/// Whether `text` is `*`, `pattern`, `*`: the usual scan with one point to come back to. The first place where a
/// literal fits is as good as any later one: a literal that holds a character which `*` cannot take fits only there.
fn between(pattern: &[u8], text: &[u8], can_take: &impl Fn(u8) -> bool) -> bool {
    let (mut rest, mut text) = (pattern, text);
    let mut back = (rest, text);
    loop {
        match (rest.split_first(), text.split_first()) {
            (Some((b'*', after)), _) => {
                rest = after;
                back = (rest, text);
            }
            (None, _) => return text.iter().all(|b| can_take(*b)),
            (Some((want, more)), Some((have, left))) if want == have => (rest, text) = (more, left),
            _ => match back.1.split_first() {
                Some((taken, left)) if can_take(*taken) => {
                    back.1 = left;
                    (rest, text) = back;
                }
                _ => return false,
            },
        }
    }
}

impl fmt::Display for Pattern {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}
