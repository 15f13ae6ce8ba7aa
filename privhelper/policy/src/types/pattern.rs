//! The policy's patterns: literals with `*`.

use crate::error::Invalid;
use std::ops::Range;

/// Literal ASCII text in which `*` matches any run of characters. Each `matches` method names the characters that
/// `*` does not take.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Pattern {
    text: String,
    stars: Option<Stars>,
}

/// Where the stars stand: lengths and places in bytes, found once.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Stars {
    /// Bytes before the first.
    first: usize,
    /// Where the bytes after the last begin.
    last: usize,
    /// Range between the first and the last, if there are two.
    between: Option<Range<usize>>,
}

impl Stars {
    fn find(text: &str) -> Option<Self> {
        let (first, last) = (text.find('*')?, text.rfind('*')?);
        let between = (first < last).then_some(first.saturating_add(1)..last);
        Some(Self { first, last: last.saturating_add(1), between })
    }
}

impl Pattern {
    /// A pattern of names.
    ///
    /// # Errors
    /// Empty, over 256 bytes, or other than printable ASCII without blanks, `/`, `?`, `[`, `]`, `{`, `}`, `\`.
    pub fn new(text: &str) -> Result<Self, Invalid> {
        let fine =
            |b: u8| b.is_ascii_graphic() && !matches!(b, b'/' | b'?' | b'[' | b']' | b'{' | b'}' | b'\\');
        let why = "must be 1 to 256 printable ASCII characters of which only '*' is special; no '/', '?', brackets or '\\'";
        Self::of(text, text.bytes().all(fine), why)
    }

    /// A pattern of lines and of texts, in which `/`, blanks and brackets are themselves.
    ///
    /// # Errors
    /// Empty, over 256 bytes, other than printable ASCII and blanks, or with a last `\`, which would join two lines.
    pub fn of_text(text: &str) -> Result<Self, Invalid> {
        let is_printable = text.bytes().all(|b| matches!(b, b' '..=b'~'));
        let why = "must be 1 to 256 printable ASCII characters or blanks of which only '*' is special, the last no '\\'";
        Self::of(text, is_printable && !text.ends_with('\\'), why)
    }

    fn of(text: &str, is_pattern: bool, why: &'static str) -> Result<Self, Invalid> {
        if !is_pattern || text.is_empty() || text.len() > 256 {
            return Err(Invalid::new("pattern", why));
        }
        Ok(Self { text: text.to_owned(), stars: Stars::find(text) })
    }

    /// Whether `text` is what the pattern says; `*` crosses no `/`.
    pub fn matches(&self, text: &str) -> bool {
        self.matches_but(text, |b| b != b'/')
    }

    /// As [`Self::matches`] for a unit's name: `*` does not cross `@` either.
    pub fn matches_unit(&self, name: &str) -> bool {
        self.matches_but(name, |b| b != b'/' && b != b'@')
    }

    /// As [`Self::matches`] for a file's name: `*` takes no leading dot.
    pub fn matches_file(&self, name: &str) -> bool {
        !(name.starts_with('.') && self.text.starts_with('*')) && self.matches(name)
    }

    /// Whether a line is what the pattern says; `*` takes any printable ASCII character and blanks.
    pub fn matches_line(&self, line: &str) -> bool {
        self.matches_but(line, |b| matches!(b, b' '..=b'~'))
    }

    /// Compares the text before the first `*` and after the last first, which nearly always decides.
    fn matches_but(&self, text: &str, can_take: impl Fn(u8) -> bool) -> bool {
        let Some(stars) = &self.stars else {
            return self.text == text;
        };
        let pattern = self.text.as_bytes();
        let part = |range: Range<usize>| pattern.get(range).unwrap_or_default();
        let after = text.as_bytes().strip_prefix(part(0..stars.first));
        let inner = after.and_then(|text| text.strip_suffix(part(stars.last..pattern.len())));
        inner.is_some_and(|inner| match &stars.between {
            None => inner.iter().all(|b| can_take(*b)),
            Some(range) => between(part(range.clone()), inner, &can_take),
        })
    }
}

/// Whether `text` is `*`, `pattern`, `*`. The first place where a literal stands is as good as any later one: what
/// cannot be taken before the first cannot be taken before a later one either, and a literal that holds what cannot be
/// taken stands in one place only.
fn between(pattern: &[u8], mut text: &[u8], can_take: &impl Fn(u8) -> bool) -> bool {
    for literal in pattern.split(|b| *b == b'*').filter(|literal| !literal.is_empty()) {
        let first = literal.first();
        let place =
            text.windows(literal.len()).position(|window| window.first() == first && window == literal);
        let Some((taken, rest)) = place.and_then(|place| text.split_at_checked(place)) else {
            return false;
        };
        if !taken.iter().all(|b| can_take(*b)) {
            return false;
        }
        text = rest.strip_prefix(literal).unwrap_or_default();
    }
    text.iter().all(|b| can_take(*b))
}

readers!(Pattern, text);
