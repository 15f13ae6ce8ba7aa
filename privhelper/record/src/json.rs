//! Canonical JSON of audit records (`privhelper/audit/AUDIT.md`): the broker writes the members of its claims with it, the
//! recorder whole records.

use postern_policy::types::Digest;

/// Most bytes of a record's object.
const OBJECT_MAX: usize = 16 * 1024;
/// Deepest nesting of an object that is read.
const DEPTH_MAX: usize = 8;

/// An object under construction. Members keep the order in which they are added.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Json(String);

impl Json {
    /// An empty object.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// Reads an object in the form that this type writes, and no other: what another program wrote cannot end a record.
    #[must_use]
    pub fn parse(text: &str) -> Option<Self> {
        if !object(text, DEPTH_MAX)?.is_empty() {
            return None;
        }
        text.strip_prefix('{')?.strip_suffix('}').map(|members| Self(members.to_owned()))
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

    /// Adds an object; one of more than 16 KiB as its size and SHA-256, so that a record stays one readable line.
    #[must_use]
    pub fn bounded(self, name: &str, value: &Self) -> Self {
        self.object(name, &value.clone().shortened())
    }

    /// Returns the object itself, or `size` and `sha256` of its members if they are more than 16 KiB.
    #[must_use]
    pub fn shortened(self) -> Self {
        if self.0.len() <= OBJECT_MAX {
            return self;
        }
        let digest = Digest::of(&[self.0.as_bytes()]).to_string();
        Self::new().number("size", i128::try_from(self.0.len()).unwrap_or(-1)).text("sha256", &digest)
    }

    /// Adds a list of texts. An empty list is left out.
    #[must_use]
    pub fn texts(self, name: &str, values: impl IntoIterator<Item = impl AsRef<str>>) -> Self {
        let quoted = values.into_iter().map(|value| {
            let mut text = String::new();
            quote(&mut text, value.as_ref());
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

    /// Returns the members without the braces.
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

/// Escapes a text as records do, without the quotes.
#[must_use]
pub fn escaped(text: &str) -> String {
    let mut quoted = String::new();
    quote(&mut quoted, text);
    quoted.strip_prefix('"').and_then(|text| text.strip_suffix('"')).unwrap_or_default().to_owned()
}

/// Escapes characters that could end a line, control a terminal or reorder text, and `"` and `\`.
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

/// Returns what follows the object that the text begins with.
fn object(text: &str, depth: usize) -> Option<&str> {
    items(text.strip_prefix('{')?, '}', |rest| value(string(rest)?.strip_prefix(':')?, depth))
}

/// Returns what follows one or more items and the end of their list.
fn items(text: &str, end: char, item: impl Fn(&str) -> Option<&str>) -> Option<&str> {
    let mut rest = item(text)?;
    while let Some(more) = rest.strip_prefix(',') {
        rest = item(more)?;
    }
    rest.strip_prefix(end)
}

fn value(text: &str, depth: usize) -> Option<&str> {
    let depth = depth.checked_sub(1)?;
    match text.chars().next()? {
        '"' => string(text),
        '{' => object(text, depth),
        '[' => items(text.strip_prefix('[')?, ']', |rest| value(rest, depth)),
        't' => text.strip_prefix("true"),
        _ => {
            let end = text.find([',', '}', ']'])?;
            let (number, rest) = text.split_at_checked(end)?;
            (number.parse::<i128>().ok()?.to_string() == number).then_some(rest)
        }
    }
}

/// Returns what follows a text whose escapes are those that [`quote`] writes.
fn string(text: &str) -> Option<&str> {
    let mut rest = text.strip_prefix('"')?;
    let mut plain = String::new();
    loop {
        let end = rest.find(['"', '\\'])?;
        let (before, after) = rest.split_at_checked(end)?;
        plain.push_str(before);
        if let Some(rest) = after.strip_prefix('"') {
            let mut quoted = String::new();
            quote(&mut quoted, &plain);
            return text.strip_prefix(quoted.as_str()).filter(|after| *after == rest);
        }
        let escape = after.strip_prefix('\\')?;
        let (c, after) = match escape.strip_prefix('u') {
            Some(code) => {
                let (digits, after) = code.split_at_checked(4)?;
                (char::from_u32(u32::from_str_radix(digits, 16).ok()?)?, after)
            }
            None => (escape.chars().next()?, escape.strip_prefix(['"', '\\'])?),
        };
        plain.push(c);
        rest = after;
    }
}
