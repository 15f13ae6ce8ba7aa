//! One record as one line for a person. Everything in it is escaped.

use crate::policy::apply::short;
use crate::text::escape;
use serde_json::Value;
use unicode_width::UnicodeWidthStr;

/// The columns of the table and how wide each is; what is longer moves the others, the last is as long as it is.
const COLUMNS: [(&str, usize); 7] = [
    ("RECORD", 7),
    ("TIME (UTC)", 19),
    ("EVENT", 14),
    ("REQUEST", 13),
    ("CLIENT, AND WHAT IT CLAIMS", 26),
    ("VERB", 16),
    ("OBJECT -> DECISION -> OUTCOME", 0),
];

/// The head of the table.
#[must_use]
pub fn head() -> String {
    joined(&COLUMNS.map(|(name, _)| name.to_owned()))
}

/// One record's row.
#[must_use]
pub fn row(record: &Value) -> String {
    let time = text(&record["time"]);
    let time = time.split('.').next().unwrap_or_default().replacen('T', " ", 1);
    let id = text(&record["request_id"]);
    joined(&[
        record["seq"].to_string(),
        time,
        text(&record["event"]).to_owned(),
        // The timestamp of the UUIDv7, which identifies most requests and is accepted by `--request`.
        id.get(..13).unwrap_or(id).to_owned(),
        client(record),
        text(&record["verb"]).to_owned(),
        summary(record),
    ])
}

/// Returns the object, the rule that granted it, and the outcome.
#[must_use]
pub fn summary(record: &Value) -> String {
    let parts = [object(record), decision(record), outcome(record)];
    parts.into_iter().filter(|part| !part.is_empty()).collect::<Vec<_>>().join(" -> ")
}

/// Cells in their columns, as wide as a terminal shows them.
pub(crate) fn joined(cells: &[String; COLUMNS.len()]) -> String {
    let mut row = String::new();
    for (cell, (_, width)) in cells.iter().zip(COLUMNS) {
        let cell = escape(cell);
        row.push_str(&cell);
        row.extend(std::iter::repeat_n(' ', width.saturating_sub(cell.width()) + 1));
    }
    row.truncate(row.trim_end().len());
    row
}

/// The kernel's word for who asked, and the client's for the person behind it; `session of` where one of theirs was open.
pub(crate) fn client(record: &Value) -> String {
    let Some(uid) = record["client"]["uid"].as_u64() else {
        return String::new();
    };
    let name = text(&record["client"]["name"]);
    let who = if name.is_empty() { format!("uid {uid}") } else { format!("{name}({uid})") };
    let person = [("session of", "asked_by"), ("claims", "claimed_by")];
    let person = person.into_iter().find_map(|(word, by)| Some((word, record[by]["uid"].as_u64()?)));
    person.map_or_else(|| who.clone(), |(word, uid)| format!("{who} {word} uid {uid}"))
}

/// Returns the object of the record: the request's arguments, or a statement about the log itself.
fn object(record: &Value) -> String {
    let number = |name: &str| record[name].to_string();
    match text(&record["event"]) {
        "torn" | "malformed" => return format!("{} bytes", number("size")),
        "suppressed" => {
            let (first, last) = (text(&record["first"]), text(&record["last"]));
            return format!(
                "{} requests of uid {} between {first} and {last}",
                number("count"),
                number("uid")
            );
        }
        "rotated" => {
            return format!("{} is put away; kept from record {}", text(&record["file"]), number("kept"));
        }
        "sealed" => return format!("signed, epoch {}", number("epoch")),
        "approval" if record["approval"]["uids"].is_array() => {
            return format!(
                "approval {} by uid {}",
                text(&record["approval"]["id"]),
                flat(&record["approval"]["uids"])
            );
        }
        "start" | "policy_applied" if !text(&record["policy"]).is_empty() => {
            return format!("policy {}", short(text(&record["policy"])));
        }
        _ => {}
    }
    let args = &record["args"];
    let named = ["path", "unit", "packages", "names", "name", "of"].iter().map(|key| &args[*key]);
    let object = named.filter(|value| !value.is_null()).map(flat).collect::<Vec<_>>().join(" ");
    if object.is_empty() && args.is_object() { args.to_string() } else { object }
}

/// A text, a list, or a package's name and version, without JSON around it.
fn flat(value: &Value) -> String {
    match value {
        Value::String(text) => text.clone(),
        Value::Array(values) => values.iter().map(flat).collect::<Vec<_>>().join(" "),
        Value::Object(members) => {
            let name = members.get("name").map(flat).unwrap_or_default();
            match members.get("version").map(flat).filter(|version| !version.is_empty()) {
                Some(version) => format!("{name}={version}"),
                None => name,
            }
        }
        Value::Null | Value::Bool(_) | Value::Number(_) => value.to_string(),
    }
}

fn decision(record: &Value) -> String {
    let (decision, rule) = (text(&record["decision"]), text(&record["rule"]));
    match (decision, rule) {
        ("", "") => String::new(),
        (decision, "") => decision.to_owned(),
        (decision, rule) => format!("{decision} by {rule}"),
    }
}

fn outcome(record: &Value) -> String {
    let outcome = &record["outcome"];
    let mut words = ["status", "code", "detail"].map(|key| text(&outcome[key]).to_owned()).to_vec();
    if let Some(micros) = record["duration_us"].as_u64() {
        words.push(format!("in {}.{:03} s", micros / 1_000_000, micros / 1000 % 1000));
    }
    words.retain(|word| !word.is_empty());
    words.dedup();
    words.join(" ")
}

fn text(value: &Value) -> &str {
    value.as_str().unwrap_or_default()
}
