//! A TOML table with the places of its keys: strict, typed reading that collects every error.

use super::finding::Findings;
use super::source::Source;
use crate::finding::Severity;
use crate::text::unknown;
use std::cell::RefCell;
use std::ops::RangeInclusive;
use toml::Spanned;
use toml::de::{DeTable, DeValue};

/// A value and its byte offset in the file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct At<T> {
    /// The value.
    pub value: T,
    /// Its place in the source.
    pub at: usize,
}

/// One table of a source.
#[derive(Clone, Copy)]
pub struct Table<'a> {
    /// Its file.
    pub source: &'a Source,
    /// Where the table begins.
    pub at: usize,
    entries: &'a DeTable<'a>,
    findings: &'a RefCell<Findings>,
}

impl<'a> Table<'a> {
    /// The table that begins at `at`.
    #[must_use]
    pub fn new(
        source: &'a Source,
        at: usize,
        entries: &'a DeTable<'a>,
        findings: &'a RefCell<Findings>,
    ) -> Self {
        Self { source, at, entries, findings }
    }

    /// Records an error at byte `at`.
    pub fn error(&self, at: usize, message: impl Into<String>) {
        self.findings.borrow_mut().error(self.source, at, message);
    }

    /// Records a warning at byte `at`.
    pub fn warn(&self, at: usize, message: impl Into<String>) {
        self.findings.borrow_mut().add(Severity::Warning, self.source, at, message);
    }

    /// Records a note at byte `at`.
    pub fn note(&self, at: usize, message: impl Into<String>) {
        self.findings.borrow_mut().add(Severity::Note, self.source, at, message);
    }

    /// The findings that errors go to.
    #[must_use]
    pub fn findings(&self) -> &'a RefCell<Findings> {
        self.findings
    }

    /// Every key with its place.
    pub fn keys(&self) -> impl Iterator<Item = At<&'a str>> {
        self.entries.keys().map(|key| At { value: key.as_ref().as_ref(), at: key.span().start })
    }

    /// The key's place, if it is there.
    #[must_use]
    pub fn place(&self, key: &str) -> Option<usize> {
        self.entries.get_key_value(key).map(|(key, _)| key.span().start)
    }

    /// Reports every key that is not known.
    pub fn check_keys(&self, known: &[&str]) {
        for key in self.keys() {
            if !known.contains(&key.value) {
                let why = unknown("key", key.value, known.iter().copied());
                self.findings.borrow_mut().add_as("unknown-key", Severity::Error, self.source, key.at, why);
            }
        }
    }

    /// A text; absent or of another type (reported) is none.
    #[must_use]
    pub fn text(&self, key: &str) -> Option<At<&'a str>> {
        let value = self.entries.get(key)?;
        self.expect(key, value, "a text in quotes", value.get_ref().as_str())
    }

    /// As [`Self::text`] for a key that must be there and not be empty.
    #[must_use]
    pub fn required(&self, key: &str) -> Option<At<&'a str>> {
        if self.place(key).is_none() {
            self.error(self.at, format!("`{key}` is missing"));
        }
        let text = self.text(key)?;
        if text.value.trim().is_empty() {
            self.error(text.at, format!("`{key}` is empty"));
            return None;
        }
        Some(text)
    }

    /// `true` or `false`.
    #[must_use]
    pub fn flag(&self, key: &str) -> Option<bool> {
        let value = self.entries.get(key)?;
        self.expect(key, value, "true or false", value.get_ref().as_bool()).map(|flag| flag.value)
    }

    /// A whole number within `range`.
    #[must_use]
    pub fn number(&self, key: &str, range: RangeInclusive<u64>) -> Option<At<u64>> {
        let value = self.entries.get(key)?;
        let digits = self.expect(key, value, "a whole number", value.get_ref().as_integer())?;
        match u64::from_str_radix(digits.value.as_str(), digits.value.radix()) {
            Ok(number) if range.contains(&number) => Some(At { value: number, at: digits.at }),
            _ => {
                let (low, high) = range.into_inner();
                self.error(digits.at, format!("`{key}` must be a whole number from {low} to {high}"));
                None
            }
        }
    }

    /// A list of texts, none of them twice. Elements of another type are reported and left out.
    #[must_use]
    pub fn texts(&self, key: &str) -> Option<Vec<At<&'a str>>> {
        let value = self.entries.get(key)?;
        let array = self.expect(key, value, "a list such as [\"a\", \"b\"]", value.get_ref().as_array())?;
        let mut texts: Vec<At<&str>> = Vec::new();
        for value in array.value {
            let Some(text) = self.expect(key, value, "a list of texts in quotes", value.get_ref().as_str())
            else {
                continue;
            };
            if texts.iter().any(|known| known.value == text.value) {
                self.error(text.at, format!("{:?} is listed twice in `{key}`", text.value));
            } else {
                texts.push(text);
            }
        }
        Some(texts)
    }

    /// As [`Self::texts`], or one text in its place.
    #[must_use]
    pub fn text_or_texts(&self, key: &str) -> Option<Vec<At<&'a str>>> {
        let is_text = self.entries.get(key)?.get_ref().as_str().is_some();
        if is_text { self.text(key).map(|text| vec![text]) } else { self.texts(key) }
    }

    /// A list of tables. A single table where a list belongs is reported.
    #[must_use]
    pub fn tables(&self, key: &str, what: &'static str) -> Vec<Self> {
        let Some(value) = self.entries.get(key) else {
            return Vec::new();
        };
        let Some(array) = self.expect(key, value, what, value.get_ref().as_array()) else {
            return Vec::new();
        };
        let each = |value: &'a Spanned<DeValue<'a>>| {
            let table = self.expect(key, value, what, value.get_ref().as_table())?;
            Some(Self { at: table.at, entries: table.value, ..*self })
        };
        array.value.iter().filter_map(each).collect()
    }

    /// A table in this one. Absent or of another type (reported) is none.
    #[must_use]
    pub fn table(&self, key: &str, what: &str) -> Option<Self> {
        let value = self.entries.get(key)?;
        let table = self.expect(key, value, what, value.get_ref().as_table())?;
        Some(Self { at: table.at, entries: table.value, ..*self })
    }

    /// A table of texts, such as `accept_risk`.
    #[must_use]
    pub fn pairs(&self, key: &str) -> Vec<(At<&'a str>, &'a str)> {
        let inner = self.table(key, "a table such as { finding = \"reason\" }");
        let pairs = |inner: Self| {
            let pair = move |name: At<&'a str>| inner.required(name.value).map(|text| (name, text.value));
            inner.keys().filter_map(pair).collect()
        };
        inner.map(pairs).unwrap_or_default()
    }

    fn expect<T>(
        &self,
        key: &str,
        value: &Spanned<DeValue<'_>>,
        what: &str,
        found: Option<T>,
    ) -> Option<At<T>> {
        let at = value.span().start;
        if found.is_none() {
            self.error(at, format!("`{key}` must be {what}, not {}", kind(value.get_ref())));
        }
        found.map(|value| At { value, at })
    }
}

fn kind(value: &DeValue<'_>) -> &'static str {
    match value {
        DeValue::String(_) => "a text",
        DeValue::Integer(_) => "a whole number",
        DeValue::Float(_) => "a number with a fraction",
        DeValue::Boolean(_) => "true or false",
        DeValue::Datetime(_) => "a date",
        DeValue::Array(_) => "a list",
        DeValue::Table(_) => "a table",
    }
}
