//! Texts of the log as TOML.

use postern_text::is_hostile;
use std::fmt::Write as _;

/// A text in TOML: characters that a terminal or an editor does not show are escaped.
pub fn quoted(text: &str) -> String {
    let mut out = String::from("\"");
    for c in text.chars() {
        match c {
            '"' | '\\' => out.extend(['\\', c]),
            _ if is_hostile(c) => {
                let _ = write!(out, "\\U{:08X}", u32::from(c));
            }
            _ => out.push(c),
        }
    }
    out.push('"');
    out
}

/// A list of texts in TOML.
pub fn list(items: impl IntoIterator<Item = impl AsRef<str>>) -> String {
    let items = items.into_iter().map(|item| quoted(item.as_ref())).collect::<Vec<_>>();
    format!("[{}]", items.join(", "))
}
