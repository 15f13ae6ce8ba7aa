//! Text for people: what came from elsewhere drives no terminal.

use std::time::{Duration, SystemTime, UNIX_EPOCH};

/// The text with hostile characters as `\u{…}`, so that it stays one line and in order.
pub use postern_text::braced as escape;
/// JSON with such characters as `\uxxxx`: the same JSON, since they occur only in its strings.
pub use postern_text::json as escape_json;
/// The error for a word that is none of the permitted ones.
pub use postern_text::{did_you_mean, unknown, with_nearest};

/// Seconds since 1970.
#[must_use]
pub fn now() -> u64 {
    SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default().as_secs()
}

/// `2026-11-21 04:13:14 UTC` of seconds since 1970.
#[must_use]
pub fn time(unix_s: u64) -> String {
    let text = postern_record::rfc3339(Duration::from_secs(unix_s));
    let seconds = text.split('.').next().unwrap_or_default();
    format!("{} UTC", seconds.replacen('T', " ", 1))
}

/// `1 rule`, `2 rules`.
#[must_use]
pub fn count(number: usize, noun: &str) -> String {
    format!("{number} {noun}{}", if number == 1 { "" } else { "s" })
}
