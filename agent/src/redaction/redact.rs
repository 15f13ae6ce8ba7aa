//! Credentials are taken out of what leaves for a model, by their shape. Before anything is shortened: half
//! a key is still half a key.

use regex::{Captures, Regex};
use serde_json::Value;
use std::sync::LazyLock;

/// Replacement for a redacted text.
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
        if !pattern.is_match(&text) {
            continue;
        }
        let clean = pattern.replace_all(&text, |found: &Captures<'_>| {
            let mut clean = String::new();
            if is_count(found) || is_form(found) {
                clean.push_str(&found[0]);
            } else {
                count += 1;
                found.expand(kept, &mut clean);
            }
            clean
        });
        text = clean.into_owned();
    }
    (text, count)
}

/// `max_tokens = 4096` and the like: how many there are is no secret.
fn is_count(found: &Captures<'_>) -> bool {
    let name = found.get(1).map_or("", |name| name.as_str());
    let value = found[0].get(name.len()..).unwrap_or_default().trim_matches(['"', '\'']);
    let name = name.trim_end_matches(|c: char| !c.is_alphanumeric()).to_ascii_lowercase();
    name.ends_with("tokens")
        && !value.is_empty()
        && value.len() < 12
        && value.bytes().all(|b| b.is_ascii_digit())
}

/// `password=<secret>` and `password={{secret:db}}`: Postern's own words for what stands there.
fn is_form(found: &Captures<'_>) -> bool {
    let name = found.get(1).map_or("", |name| name.as_str());
    let value = found[0].get(name.len()..).unwrap_or_default().trim_start_matches(['"', '\'']);
    let kind = value.strip_prefix('<').map(|kind| kind.trim_end_matches(['>', ':']));
    value.starts_with("{{secret:")
        || kind.is_some_and(|kind| {
            kind.len() < value.len() - 1 && !kind.is_empty() && kind.bytes().all(|b| b.is_ascii_lowercase())
        })
}

/// Takes credentials out of all strings of a value; how many.
pub fn strings(value: &mut Value) -> usize {
    each(value, &text)
}

/// Puts every string of a value through a filter that counts.
pub fn each(value: &mut Value, filter: &dyn Fn(&str) -> (String, usize)) -> usize {
    match value {
        Value::String(string) => {
            let (clean, count) = filter(string);
            *string = clean;
            count
        }
        Value::Array(items) => items.iter_mut().map(|item| each(item, filter)).sum(),
        Value::Object(members) => members.values_mut().map(|member| each(member, filter)).sum(),
        Value::Null | Value::Bool(_) | Value::Number(_) => 0,
    }
}

/// How many shapes are known, and how many of them are in use.
#[must_use]
pub fn shapes() -> (usize, usize) {
    (SHAPES.len(), PATTERNS.len())
}
