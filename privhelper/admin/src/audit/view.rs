//! One record as one line for a person. Everything in it is escaped.

use crate::policy::apply::short;
use crate::text::escape;
use serde_json::Value;

/// The head of the table.
pub const HEAD: &str = "TIME (UTC)           EVENT           CLIENT                 VERB             OBJECT -> DECISION -> OUTCOME";

/// One record's row.
#[must_use]
pub fn row(record: &Value) -> String {
    let time = text(&record["time"]);
    let time = time.split('.').next().unwrap_or_default().replacen('T', " ", 1);
    let parts = [object(record), decision(record), outcome(record)];
    let rest = parts.into_iter().filter(|part| !part.is_empty()).collect::<Vec<_>>().join(" -> ");
    let (event, verb) = (text(&record["event"]), text(&record["verb"]));
    let row = format!("{time:<20} {event:<15} {:<22} {verb:<16} {rest}", client(record));
    escape(row.trim_end())
}

/// The kernel's word for who asked, and the agent's word for the person behind it.
fn client(record: &Value) -> String {
    let Some(uid) = record["client"]["uid"].as_u64() else {
        return String::new();
    };
    let name = text(&record["client"]["name"]);
    let who = if name.is_empty() { format!("uid {uid}") } else { format!("{name}({uid})") };
    let claimed = record["claimed_by"]["uid"].as_u64();
    claimed.map_or_else(|| who.clone(), |claimed| format!("{who} claims uid {claimed}"))
}

/// What the request is about, from its arguments as they came.
fn object(record: &Value) -> String {
    match (text(&record["event"]), text(&record["policy"])) {
        ("torn" | "malformed", _) => return format!("{} bytes", record["size"]),
        ("start" | "policy_applied", policy) if !policy.is_empty() => {
            return format!("policy {}", short(policy));
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
