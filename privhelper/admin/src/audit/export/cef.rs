//! Common Event Format: "`ArcSight` Common Event Format (CEF) Implementation Standard", version 25, chapters "Header
//! Information", "Using CEF with Character Encoding" and "Extension Dictionary".
//!
//! In the header `|` and `\` are escaped by `\`, in extensions `=` and `\`; line ends would be `\n` and `\r`, and no
//! record holds one. Keys are the dictionary's; values without a key are in its custom strings with their labels.

use super::super::view;
use super::event::{Importance, importance, shown, text};
use crate::text::escape;
use serde_json::Value;

const MONTHS: [&str; 12] =
    ["Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"];

/// A record as a line.
pub fn line(record: &Value, host: &str) -> String {
    let event = text(&record["event"]);
    let name = [text(&record["verb"]), event].join(" ");
    let severity = match importance(record) {
        Importance::Usual => 1,
        Importance::Notable => 3,
        Importance::Warning => 6,
        Importance::Alarm => 10,
    };
    let version = env!("CARGO_PKG_VERSION");
    let mut line = format!(
        "CEF:0|Postern|postern-audit|{version}|{}|{}|{severity}|",
        header(&shown(&record["event"])),
        header(&escape(name.trim()))
    );
    let extensions = extensions(record, host);
    let pairs = extensions.iter().filter(|(_, value)| !value.is_empty());
    let pairs = pairs.map(|(key, value)| format!("{key}={}", extension(value))).collect::<Vec<_>>();
    line.push_str(&pairs.join(" "));
    line
}

fn extensions(record: &Value, host: &str) -> Vec<(&'static str, String)> {
    let (client, outcome) = (&record["client"], &record["outcome"]);
    let mut pairs = vec![
        ("rt", time(text(&record["time"]))),
        ("dvchost", escape(host)),
        ("externalId", shown(&record["seq"])),
        ("suser", shown(&client["name"])),
        ("suid", shown(&client["uid"])),
        ("spid", shown(&client["pid"])),
        ("act", shown(&record["verb"])),
        ("outcome", shown(&outcome["status"])),
        ("reason", shown(&outcome["code"])),
        ("msg", escape(&view::summary(record))),
    ];
    let custom = [
        ("cs1", "cs1Label", "rule", shown(&record["rule"])),
        ("cs2", "cs2Label", "decision", shown(&record["decision"])),
        ("cs3", "cs3Label", "requestId", shown(&record["request_id"])),
        ("cs4", "cs4Label", "policy", shown(&record["policy"])),
        ("cs5", "cs5Label", "arguments", shown(&record["args"])),
        ("cs6", "cs6Label", "hash", shown(&record["hash"])),
        ("cn1", "cn1Label", "durationMicroseconds", shown(&record["duration_us"])),
        ("cn2", "cn2Label", "uidOfOpenSession", shown(&record["asked_by"]["uid"])),
        ("flexString1", "flexString1Label", "uidClaimedByClient", shown(&record["claimed_by"]["uid"])),
        ("flexString2", "flexString2Label", "taskClaimedByClient", shown(&record["task"])),
    ];
    for (key, label, name, value) in custom {
        if !value.is_empty() {
            pairs.extend([(label, name.to_owned()), (key, value)]);
        }
    }
    pairs
}

/// `MMM dd yyyy HH:mm:ss.SSS zzz`, one of the forms that the standard allows.
fn time(rfc3339: &str) -> String {
    let parts = || {
        let month = MONTHS.get(rfc3339.get(5..7)?.parse::<usize>().ok()?.checked_sub(1)?)?;
        let (day, year, clock) = (rfc3339.get(8..10)?, rfc3339.get(..4)?, rfc3339.get(11..23)?);
        Some(escape(&format!("{month} {day} {year} {clock} UTC")))
    };
    parts().unwrap_or_default()
}

fn header(value: &str) -> String {
    value.replace('\\', "\\\\").replace('|', "\\|")
}

fn extension(value: &str) -> String {
    value.replace('\\', "\\\\").replace('=', "\\=")
}
