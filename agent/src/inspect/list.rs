//! Lists that end where a result is full.

use super::read_result::ReadResult;
use crate::protocol::step::StepStatus;
use serde_json::{Value, json};

/// The most bytes of the JSON of one list: with what stands around it, it fits in a result.
const ROOM: usize = 16_000;

/// Entries of a result.
#[derive(Debug, Default)]
pub struct List {
    entries: Vec<Value>,
    used: usize,
    left_out: usize,
}

impl List {
    /// Adds an entry, or counts it as left out.
    pub fn push(&mut self, entry: Value) {
        let size = entry.to_string().len() + 1;
        if self.left_out > 0 || self.used + size > ROOM {
            self.left_out += 1;
        } else {
            self.used += size;
            self.entries.push(entry);
        }
    }

    /// Nothing more fits.
    pub fn is_full(&self) -> bool {
        self.left_out > 0
    }

    /// How many there are.
    pub fn len(&self) -> usize {
        self.entries.len()
    }

    /// Adds it to a result, with how much of it is missing.
    pub fn put(self, name: &str, content: &mut Value) {
        content[name] = Value::Array(self.entries);
        if self.left_out > 0 {
            let left_out = content["left_out"].as_u64().unwrap_or_default();
            content["left_out"] = json!(left_out + self.left_out as u64);
        }
    }

    /// The result that is this list.
    pub fn found(self, name: &str) -> ReadResult {
        let mut content = json!({});
        self.put(name, &mut content);
        ReadResult::seen(content)
    }
}

impl Extend<Value> for List {
    fn extend<I: IntoIterator<Item = Value>>(&mut self, entries: I) {
        for entry in entries {
            self.push(entry);
        }
    }
}

impl ReadResult {
    /// A result that says itself, by `left_out`, whether something is missing.
    #[must_use]
    pub fn seen(content: Value) -> Self {
        let status = if content.get("left_out").is_some() { StepStatus::Truncated } else { StepStatus::Ok };
        Self { status, content, text: None, error: None }
    }
}
