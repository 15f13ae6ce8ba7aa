//! Text for people: what came from elsewhere drives no terminal.

use std::time::{Duration, SystemTime, UNIX_EPOCH};

/// The text with hostile characters as `\u{…}`, so that it stays one line and in order.
pub use postern_text::braced as escape;
/// JSON with such characters as `\uxxxx`: the same JSON, since they occur only in its strings.
pub use postern_text::json as escape_json;

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

/// The error for a word that is none of `permitted`: it names the nearest of them, if one is near, and lists them all.
#[must_use]
pub fn unknown<'a>(what: &str, word: &str, permitted: impl IntoIterator<Item = &'a str>) -> String {
    let permitted = permitted.into_iter().collect::<Vec<_>>();
    let hint = nearest(word, &permitted).map_or_else(String::new, |near| format!(": did you mean `{near}`?"));
    let list = if permitted.is_empty() {
        "none is defined".to_owned()
    } else {
        format!("permitted: {}", permitted.join(", "))
    };
    format!("unknown {what} {word:?}{hint} ({list})")
}

/// The nearest of `permitted` to a word that is none of them, if one is near.
fn nearest<'a>(word: &str, permitted: &[&'a str]) -> Option<&'a str> {
    let far = (word.chars().count() / 3).clamp(1, 4);
    let with_distance = permitted.iter().map(|known| (strsim::damerau_levenshtein(word, known), *known));
    with_distance
        .filter(|(distance, _)| *distance <= far)
        .min_by_key(|(distance, _)| *distance)
        .map(|(_, known)| known)
}
