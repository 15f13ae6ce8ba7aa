//! The importance and the texts of a record, for both formats.

use crate::text::{escape, escape_json};
use serde_json::Value;

/// How important a record is to somebody who watches the log.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Importance {
    /// Everyday operation.
    Usual,
    /// An operator's act, or a statement of the log about itself.
    Notable,
    /// A refusal or a failure.
    Warning,
    /// The log is not as the recorder left it.
    Alarm,
}

/// How important a record is, by its event and outcome.
pub fn importance(record: &Value) -> Importance {
    match text(&record["event"]) {
        "tampered" => Importance::Alarm,
        "refused" | "malformed" | "suppressed" | "interrupted" | "not_taken_back" | "torn" => {
            Importance::Warning
        }
        "end" if !matches!(text(&record["outcome"]["status"]), "done" | "unchanged") => Importance::Warning,
        "start" | "stop" | "policy_applied" | "paused" | "resumed" | "pending" | "approval" | "rotated"
        | "sealed" => Importance::Notable,
        _ => Importance::Usual,
    }
}

/// A text of a record; empty if the member is none.
pub fn text(value: &Value) -> &str {
    value.as_str().unwrap_or_default()
}

/// A member's value as one safe line: a text without quotes, everything else as JSON.
pub fn shown(value: &Value) -> String {
    match value {
        Value::String(text) => escape(text),
        Value::Null => String::new(),
        Value::Bool(_) | Value::Number(_) | Value::Array(_) | Value::Object(_) => {
            escape_json(&value.to_string())
        }
    }
}
