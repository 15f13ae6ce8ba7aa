//! Replies that were read although they are no exact JSON: counted, logged, and no ground for a change.
//!
//! A repair is a guess at what was meant. For a read-only call a wrong guess is harmless; a change is made only from JSON
//! that says it exactly, or after a person has seen it.

use super::conversation::Reply;
use super::reply_parser::{self, Reading};
use super::tools::Call;
use serde_json::json;
use std::collections::BTreeMap;
use std::sync::{Mutex, PoisonError};

/// How often each kind of repair was made since this process began.
#[derive(Debug, Default)]
pub struct Repairs(Mutex<BTreeMap<String, u64>>);

impl Repairs {
    /// Counts repairs of one reply and puts them into the log.
    pub fn note(&self, tool: &str, kinds: &[String]) {
        let mut counts = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        for kind in kinds {
            tracing::warn!(event = "repaired", kind, tool, "a reply of the model is no exact JSON");
            let count = counts.entry(kind.clone()).or_default();
            *count = count.saturating_add(1);
        }
    }

    /// The counts by kind.
    #[must_use]
    pub fn counts(&self) -> BTreeMap<String, u64> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }
}

/// Returns the repairs of a call's JSON, under their names in the log.
#[must_use]
pub fn of_json(reading: &Reading) -> Vec<String> {
    reading.repairs.iter().filter_map(|repair| json!(repair).as_str().map(str::to_owned)).collect()
}

/// Returns the text around an exact call: `fence` or `prose`.
#[must_use]
pub fn around(reply: &Reply) -> Option<String> {
    if !reply.calls.is_empty() {
        return None;
    }
    // Reasoning is no part of a reply.
    let text = ["</think>", "</thinking>", "</reasoning>"]
        .iter()
        .fold(reply.text.as_str(), |text, tag| text.rsplit_once(tag).map_or(text, |(_, rest)| rest));
    let kind = match (reply_parser::is_alone(text), text.trim_start().starts_with("```")) {
        (true, false) => return None,
        (true, true) => "fence",
        (false, _) => "prose",
    };
    Some(kind.to_owned())
}

/// Whether a call is made from exact JSON only.
#[must_use]
pub fn must_be_exact(call: &Call) -> bool {
    call.is_effect() || matches!(call, Call::Shell(_) | Call::MakePlan(_))
}

/// Returns the error sent to the model for a change that was not exact JSON.
#[must_use]
pub fn not_exact(kinds: &[String]) -> String {
    format!(
        "the call was not run: its JSON had to be repaired to be read ({}), and what changes something is made from \
         exact JSON only; give the same call again as exact JSON",
        kinds.join(", ")
    )
}
