//! The one canonical form of JSON that records are written in.

use postern_policy::types::Digest;
/// Most bytes of a record's object.
const OBJECT_MAX: usize = 16 * 1024;

/// An object under construction. Members stand in the order in which they are added.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Json(String);

impl Json {
    /// An empty object.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// Adds a text. An empty text is left out.
    #[must_use]
    pub fn text(mut self, name: &str, value: &str) -> Self {
        if !value.is_empty() {
            self.name(name);
            quote(&mut self.0, value);
        }
        self
    }

    /// Adds an integer.
    #[must_use]
    pub fn number(mut self, name: &str, value: impl Into<i128>) -> Self {
        self.name(name);
        self.0.push_str(&value.into().to_string());
        self
    }

    /// Adds `true`; `false` is left out.
    #[must_use]
    pub fn flag(mut self, name: &str, value: bool) -> Self {
        if value {
            self.name(name);
            self.0.push_str("true");
        }
        self
    }

    /// Adds an object. An empty object is left out.
    #[must_use]
    pub fn object(mut self, name: &str, value: &Self) -> Self {
        if !value.0.is_empty() {
            self.name(name);
            self.0.push_str(&value.to_string());
        }
        self
    }

    /// Adds an object; one of more than 16 KiB as its size and SHA-256, so that a record stays a line to be read.
    #[must_use]
    pub fn bounded(self, name: &str, value: &Self) -> Self {
        if value.0.len() <= OBJECT_MAX {
            return self.object(name, value);
        }
        let digest = Digest::of(&[value.0.as_bytes()]).to_string();
        let size = i128::try_from(value.0.len()).unwrap_or(-1);
        self.object(name, &Self::new().number("size", size).text("sha256", &digest))
    }

    /// Adds a list of texts. An empty list is left out.
    #[must_use]
    pub fn texts<'a>(self, name: &str, values: impl IntoIterator<Item = &'a str>) -> Self {
        let quoted = values.into_iter().map(|value| {
            let mut text = String::new();
            quote(&mut text, value);
            text
        });
        self.list(name, quoted)
    }

    /// Adds a list of integers. An empty list is left out.
    #[must_use]
    pub fn numbers(self, name: &str, values: &[u32]) -> Self {
        self.list(name, values.iter().map(ToString::to_string))
    }

    /// Adds a list of objects. An empty list is left out.
    #[must_use]
    pub fn objects(self, name: &str, values: impl IntoIterator<Item = Self>) -> Self {
        self.list(name, values.into_iter().map(|value| value.to_string()))
    }

    fn list(mut self, name: &str, values: impl Iterator<Item = String>) -> Self {
        let joined = values.collect::<Vec<_>>().join(",");
        if !joined.is_empty() {
            self.name(name);
            self.0.push('[');
            self.0.push_str(&joined);
            self.0.push(']');
        }
        self
    }

    fn name(&mut self, name: &str) {
        if !self.0.is_empty() {
            self.0.push(',');
        }
        quote(&mut self.0, name);
        self.0.push(':');
    }

    /// The members without the braces.
    #[must_use]
    pub fn members(&self) -> &str {
        &self.0
    }
}

impl std::fmt::Display for Json {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{{{}}}", self.0)
    }
}

/// A text as it stands in a record, without the quotes.
#[must_use]
pub fn escaped(text: &str) -> String {
    let mut quoted = String::new();
    quote(&mut quoted, text);
    quoted.strip_prefix('"').and_then(|text| text.strip_suffix('"')).unwrap_or_default().to_owned()
}

/// Escapes what could end a line, drive a terminal or turn text around, besides `"` and `\`.
fn quote(out: &mut String, text: &str) {
    out.push('"');
    for c in text.chars() {
        match c {
            '"' => out.push_str("\\\""),
            '\\' => out.push_str("\\\\"),
            '\u{0}'..='\u{1f}'
            | '\u{7f}'..='\u{9f}'
            | '\u{61c}'
            | '\u{200e}'
            | '\u{200f}'
            | '\u{2028}'..='\u{202e}'
            | '\u{2066}'..='\u{2069}' => {
                out.extend(format!("\\u{:04x}", u32::from(c)).chars());
            }
            plain => out.push(plain),
        }
    }
    out.push('"');
}
