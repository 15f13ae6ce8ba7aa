//! Credentials are taken out of what leaves for a model, by their shape. Before anything is shortened: half
//! a key is still half a key.

use regex::Regex;
use serde_json::Value;
use std::sync::LazyLock;

/// What stands in their place.
pub const MARK: &str = "[REDACTED]";

/// Shapes, and what of a match is kept.
const SHAPES: &[(&str, &str)] = &[
    // A private key, also one that is cut off.
    (r"-----BEGIN [A-Z0-9 ]*PRIVATE KEY-----[\s\S]*?(?:-----END [A-Z0-9 ]*PRIVATE KEY-----|\z)", MARK),
    (r"(?i)\b((?:proxy-)?authorization|x-api-key|(?:set-)?cookie)(\s*:\s*)[^\r\n]+", "$1$2[REDACTED]"),
    (r"(?i)\b(bearer|basic)\s+[A-Za-z0-9._~+/=-]{8,}", "$1 [REDACTED]"),
    // scheme://name:password@host
    (r"\b([A-Za-z][A-Za-z0-9+.-]*://[^\s/:@]*:)[^\s@/]+@", "$1[REDACTED]@"),
    (r#"(?i)\b(identified\s+by\s+)(?:'[^'\n]*'?|"[^"\n]*"?)"#, "$1[REDACTED]"),
    // An assignment or a member of JSON whose name speaks of a secret.
    (
        r#"(?i)([\w.-]*(?:passw(?:or)?d|passphrase|secret|token|api[_-]?key|access[_-]?key|private[_-]?key|credential)[\w.-]*["']?\s*[:=]\s*)(?:\[REDACTED\]|"(?:[^"\\\n]|\\.)*"?|'[^'\n]*'?|[^\s,;}\]"'&]+)"#,
        "$1[REDACTED]",
    ),
    (r"\bAKIA[0-9A-Z]{16}\b", MARK),
    (r"\bgh[pousr]_[A-Za-z0-9]{20,}", MARK),
    (r"\bgithub_pat_[A-Za-z0-9_]{20,}", MARK),
    (r"\bsk-[A-Za-z0-9_-]{16,}", MARK),
    (r"\bxox[abeoprs]-[A-Za-z0-9-]{10,}", MARK),
    (r"\beyJ[A-Za-z0-9_-]{5,}\.[A-Za-z0-9_-]{5,}(?:\.[A-Za-z0-9_-]*)?", MARK),
    (r"\bAIza[A-Za-z0-9_-]{35}", MARK),
    (r"\b[0-9a-f]{32}\.[A-Za-z0-9]{16}\b", MARK),
];

static PATTERNS: LazyLock<Vec<(Regex, &str)>> = LazyLock::new(|| {
    // The shapes are constants: a test compiles every one of them.
    SHAPES.iter().filter_map(|(shape, kept)| Some((Regex::new(shape).ok()?, *kept))).collect()
});

/// A text without credentials, and how many were taken out.
#[must_use]
pub fn text(text: &str) -> (String, usize) {
    let (mut text, mut count) = (text.to_owned(), 0);
    for (pattern, kept) in PATTERNS.iter() {
        let found = pattern.find_iter(&text).count();
        if found > 0 {
            count += found;
            text = pattern.replace_all(&text, *kept).into_owned();
        }
    }
    (text, count)
}

/// Takes credentials out of all strings of a value; how many.
pub fn strings(value: &mut Value) -> usize {
    match value {
        Value::String(string) => {
            let (clean, count) = text(string);
            *string = clean;
            count
        }
        Value::Array(items) => items.iter_mut().map(strings).sum(),
        Value::Object(members) => members.values_mut().map(strings).sum(),
        Value::Null | Value::Bool(_) | Value::Number(_) => 0,
    }
}

/// How many shapes are known, and how many of them are in use.
#[must_use]
pub fn shapes() -> (usize, usize) {
    (SHAPES.len(), PATTERNS.len())
}
