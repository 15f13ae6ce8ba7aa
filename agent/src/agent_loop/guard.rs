//! The loop guard: the same failing call with the same result is not run for ever.

use crate::llm::tools::Call;
use serde_json::{Value, json};
use std::collections::BTreeMap;

/// The same failure so often is enough.
const SAME_LIMIT: u32 = 2;

/// Failures since the last change.
#[derive(Clone, Debug, Default)]
pub struct Guard {
    /// How often each call failed with each result.
    failures: BTreeMap<String, BTreeMap<String, u32>>,
}

/// Outcome of a call, for the loop guard.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Outcome<'r> {
    /// It changed something: what failed before may work now.
    Changed,
    /// It went well, and nothing is different.
    Fine,
    /// It failed with this.
    Failed(&'r str),
}

impl Guard {
    /// Whether a call may be run.
    ///
    /// # Errors
    /// It has failed twice in the same way, and nothing has changed since: the task ends with this.
    pub fn may_run(&self, call: &Call) -> Result<(), String> {
        let failures = self.failures.get(&key(call)).into_iter().flatten();
        let same = failures.map(|(_, count)| *count).max().unwrap_or_default();
        if same < SAME_LIMIT {
            return Ok(());
        }
        Err(format!("the model calls {} a third time that failed twice in the same way", call.tool()))
    }

    /// Remembers what came of a call; what the model is to be told besides, if anything.
    pub fn ran(&mut self, call: &Call, outcome: Outcome<'_>) -> Option<String> {
        let result = match outcome {
            Outcome::Changed => {
                self.failures.clear();
                return None;
            }
            Outcome::Fine => {
                self.failures.remove(&key(call));
                return None;
            }
            Outcome::Failed(result) => result,
        };
        let count = self.failures.entry(key(call)).or_default().entry(result.to_owned()).or_default();
        *count = count.saturating_add(1);
        (*count >= SAME_LIMIT).then(|| {
            format!(
                "This call of {} has failed twice in the same way. It will not be run again before something has \
                 changed: another try ends the task. Do something else, or end the task and say why.",
                call.tool()
            )
        })
    }
}

/// Returns the part of a failed call's result that tells one failure from another. A result without an exit code is a
/// request's: its error says why it failed, and its output has the state and the journal, with other times at each try.
#[must_use]
pub fn failure(content: &Value) -> String {
    let mut content = content.clone();
    if content.get("error").is_some() && content.get("exit_code").is_none() {
        content.as_object_mut().and_then(|members| members.remove("stdout"));
    }
    content.to_string()
}

/// A call as text; its members stand in one order.
fn key(call: &Call) -> String {
    json!(call).to_string()
}
