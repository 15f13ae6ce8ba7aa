//! Patterns of tasks and of names.

use regex::{Regex, RegexBuilder};

/// Largest compiled pattern, in bytes. Matching takes linear time.
const COMPILED: usize = 256 << 10;

/// A pattern with `*` alone.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Glob(pub String);

impl Glob {
    /// Whether a name fits.
    #[must_use]
    pub fn fits(&self, name: &str) -> bool {
        let parts: Vec<&str> = self.0.split('*').collect();
        let [first, middle @ .., last] = parts.as_slice() else { return self.0 == name };
        let Some(rest) = name.strip_prefix(first) else { return false };
        let Some(mut rest) = rest.strip_suffix(last) else { return false };
        for part in middle {
            let Some(at) = rest.find(part) else { return false };
            rest = rest.get(at + part.len()..).unwrap_or_default();
        }
        true
    }
}

/// Compiles a pattern of tasks; case does not count.
pub fn pattern(text: &str) -> Result<Regex, String> {
    let built = RegexBuilder::new(text).case_insensitive(true).size_limit(COMPILED).nest_limit(16).build();
    built.map_err(|error| {
        let text = error.to_string();
        postern_text::line(text.lines().rfind(|line| !line.trim().is_empty()).unwrap_or_default().trim())
    })
}
