//! `audit export`: records as other systems read them, one a line.

mod cef;
mod rfc5424;

use crate::text::{escape, escape_json};
use clap::ValueEnum;
use serde_json::Value;

/// For what a record is exported.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum Format {
    /// `ArcSight` Common Event Format, version 0
    Cef,
    /// Syslog messages with structured data, after RFC 5424
    Rfc5424,
}

impl Format {
    /// The record as a line; `host` is what it is of.
    pub fn line(self, record: &Value, host: &str) -> String {
        match self {
            Self::Cef => cef::line(record, host),
            Self::Rfc5424 => rfc5424::line(record, host),
        }
    }
}

/// How much a record is worth somebody's attention.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Weight {
    /// What every day brings.
    Usual,
    /// What an operator does, and what the log says of itself.
    Notable,
    /// What was refused or went wrong.
    Warning,
    /// The log is not as the recorder left it.
    Alarm,
}

fn weight(record: &Value) -> Weight {
    match text(&record["event"]) {
        "tampered" => Weight::Alarm,
        "refused" | "malformed" | "suppressed" | "interrupted" | "torn" => Weight::Warning,
        "end" if !matches!(text(&record["outcome"]["status"]), "done" | "unchanged") => Weight::Warning,
        "start" | "stop" | "policy_applied" | "paused" | "resumed" | "pending" | "approval" | "rotated"
        | "sealed" => Weight::Notable,
        _ => Weight::Usual,
    }
}

fn text(value: &Value) -> &str {
    value.as_str().unwrap_or_default()
}

/// A member's value as one safe line: a text without quotes, everything else as JSON.
fn shown(value: &Value) -> String {
    match value {
        Value::String(text) => escape(text),
        Value::Null => String::new(),
        Value::Bool(_) | Value::Number(_) | Value::Array(_) | Value::Object(_) => {
            escape_json(&value.to_string())
        }
    }
}
