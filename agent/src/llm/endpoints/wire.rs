//! Tolerant members of "compatible" servers' JSON: null, nothing, or another kind of value.

use crate::config::tables::Model;
use crate::llm::conversation::{CallResult, Turn};
use serde::{Deserialize, Deserializer};
use serde_json::{Map, Value, json};
use std::collections::BTreeSet;

/// Null counts as absent.
pub fn nullable<'de, D: Deserializer<'de>, T: Default + Deserialize<'de>>(
    deserializer: D,
) -> Result<T, D::Error> {
    Ok(Option::deserialize(deserializer)?.unwrap_or_default())
}

/// Words: a string, or a list of parts of which some are words.
pub fn words(content: &Value) -> String {
    match content {
        Value::String(text) => text.clone(),
        Value::Array(parts) => parts.iter().map(words).collect(),
        Value::Object(part) => part.get("text").and_then(Value::as_str).unwrap_or_default().to_owned(),
        Value::Null | Value::Bool(_) | Value::Number(_) => String::new(),
    }
}

/// Arguments as JSON text: some servers write them as the object itself.
pub fn arguments(value: &Value) -> String {
    match value {
        Value::String(text) => text.clone(),
        Value::Null => String::new(),
        other => other.to_string(),
    }
}

/// A number of tokens; whatever is no number counts as none.
pub fn count(value: &Value, path: &str) -> u64 {
    value.pointer(path).and_then(Value::as_u64).unwrap_or_default()
}

/// The turns with a result for every call: an endpoint refuses a whole conversation in which one is missing,
/// as after a kill between call and result. A result without a call is left out.
pub fn paired(turns: &[Turn]) -> Vec<Turn> {
    let mut paired = Vec::new();
    let mut turns = turns.iter().peekable();
    while let Some(turn) = turns.next() {
        let calls = match turn {
            Turn::Model(reply) => reply.calls.as_slice(),
            // Seen after something else than calls: nothing waits for it.
            Turn::Results(results) if results.iter().any(|result| !result.id.is_empty()) => continue,
            Turn::User(_) | Turn::Results(_) => &[],
        };
        paired.push(turn.clone());
        if calls.is_empty() {
            continue;
        }
        let given = match turns.peek() {
            Some(Turn::Results(results)) => results.as_slice(),
            _ => &[],
        };
        let mut answered = BTreeSet::new();
        let results = calls.iter().filter(|call| answered.insert(&call.id)).map(|call| {
            given.iter().find(|result| result.id == call.id).cloned().unwrap_or_else(|| CallResult {
                id: call.id.clone(),
                text:
                    r#"{"status":"error","error":"the call was interrupted: nobody knows what came of it"}"#
                        .to_owned(),
                is_error: true,
            })
        });
        paired.push(Turn::Results(results.collect()));
        if !given.is_empty() {
            turns.next();
        }
    }
    paired
}

/// The parts that the configuration adds to a request.
pub fn add_extra(model: &Model, body: &mut Map<String, Value>) {
    if let Some(temperature) = &model.extra.temperature {
        body.insert("temperature".to_owned(), json!(temperature));
    }
    body.extend(model.extra.body.clone());
}
