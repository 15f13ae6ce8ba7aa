//! Syslog messages: RFC 5424, section 6; a message a line, as RFC 6587, section 3.4.2, frames them on a stream.
//!
//! In a parameter's value `"`, `\` and `]` are escaped by `\` (section 6.3.3). The facility is 13, log audit; the
//! structured data's number is the one that RFC 5612 gives for examples, since the project has none of its own. The text
//! begins with a byte order mark, as section 6.4 asks of UTF-8.

use super::super::view;
use super::event::{Importance, importance, shown, text};
use crate::text::escape;
use serde_json::Value;
use std::fmt::Write;

const FACILITY: u8 = 13;
/// Longest name of a parameter (section 6.3.3), and longest `MSGID`.
const NAME_MAX: usize = 32;
/// Objects whose members become separate parameters.
const FLAT: [&str; 6] = ["client", "asked_by", "claimed_by", "outcome", "approval", "undo"];

/// A record as a line.
pub fn line(record: &Value, host: &str) -> String {
    let severity = match importance(record) {
        Importance::Usual => 6,
        Importance::Notable => 5,
        Importance::Warning => 4,
        Importance::Alarm => 1,
    };
    let priority = FACILITY * 8 + severity;
    let time = printable(text(&record["time"]), NAME_MAX);
    let (host, event) = (printable(host, 255), printable(text(&record["event"]), NAME_MAX));
    let mut line = format!("<{priority}>1 {time} {host} postern-audit - {event} [postern@32473");
    for (name, value) in members(record) {
        let value = value.replace('\\', "\\\\").replace('"', "\\\"").replace(']', "\\]");
        // Writing to a String cannot fail.
        let _ = write!(line, " {name}=\"{value}\"");
    }
    let words = [text(&record["verb"]), text(&record["event"])].join(" ");
    let told = [words.trim(), &view::summary(record)].join(": ");
    line.push_str("] \u{feff}");
    line.push_str(escape(&told).trim_end_matches(": "));
    line
}

/// Every member that has a name for it, but for those of the header.
fn members(record: &Value) -> Vec<(String, String)> {
    let mut members = Vec::new();
    let Some(object) = record.as_object() else { return members };
    for (name, value) in object.iter().filter(|(name, _)| !matches!(name.as_str(), "time" | "event")) {
        match value.as_object().filter(|_| FLAT.contains(&name.as_str())) {
            Some(inner) => {
                members.extend(inner.iter().map(|(of, value)| (format!("{name}_{of}"), shown(value))));
            }
            None => members.push((name.clone(), shown(value))),
        }
    }
    members.retain(|(name, _)| is_name(name));
    members
}

/// Fewer characters than section 6.3.3 allows, so that nobody has to wonder.
fn is_name(name: &str) -> bool {
    (1..=NAME_MAX).contains(&name.len()) && name.bytes().all(|b| b.is_ascii_alphanumeric() || b == b'_')
}

/// A part of the header: printable ASCII without blanks, or that there is none.
fn printable(value: &str, most: usize) -> String {
    let is_part = (1..=most).contains(&value.len()) && value.bytes().all(|b| b.is_ascii_graphic());
    if is_part { value.to_owned() } else { "-".to_owned() }
}
