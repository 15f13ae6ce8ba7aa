//! A step's result as a model gets it.

use crate::protocol::step::{Refusal, StepResult};
use crate::protocol::tool::Tool;
use crate::redaction::redact;
use serde_json::{Value, json};

/// As many of the grants near a refused request are told.
const NEARBY: usize = 3;

/// Returns the result of a step for a model, without ids that differ each time.
pub(super) fn model_result(result: &StepResult) -> Value {
    let mut content = serde_json::to_value(result).unwrap_or_default();
    if let Some(members) = content.as_object_mut() {
        let is_told =
            |name: &str| !matches!(name, "step" | "tool" | "args" | "request_id" | "duration_ms" | "sandbox");
        members.retain(|name, _| is_told(name));
        if let (Tool::Shell { .. }, Some(_)) = (&result.tool, &result.stderr) {
            members.insert("hint".to_owned(), "look at stderr".into());
        }
        if let Some(refusal) = &result.refusal {
            members.insert("error".to_owned(), short(&refusal.code, &refusal.message).into());
            members.insert("refusal".to_owned(), facts(refusal));
        }
    }
    content
}

fn short(code: &str, message: &str) -> String {
    if message.is_empty() { code.to_owned() } else { format!("{code}: {message}") }
}

/// The facts of a refusal that its error does not say: what is granted stands in the instructions, so the first do.
fn facts(refusal: &Refusal) -> Value {
    let mut facts = json!(refusal);
    if let Some(members) = facts.as_object_mut() {
        members.retain(|name, _| !matches!(name.as_str(), "code" | "message"));
        if let Some(Value::Array(nearby)) = members.get_mut("granted_nearby") {
            nearby.truncate(NEARBY);
        }
    }
    facts
}

/// Of a reply that was no call, so many characters are kept.
const EXCERPT_LIMIT: usize = 300;

/// How a reply begins, fit to be shown, kept and logged.
pub fn excerpt(reply: &str) -> String {
    redact::text(reply).0.chars().take(EXCERPT_LIMIT).collect()
}
