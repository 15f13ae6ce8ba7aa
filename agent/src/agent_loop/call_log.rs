//! The results of a task's calls, without the model's word for it: what was done, what failed, whether there
//! is anything new.

use super::claims::{Known, names_of};
use super::tool_result::{CallOutcome, ToolResult};
use crate::llm::tools::Call;
use postern_text::is_hostile;
use serde_json::{Value, json};
use std::collections::BTreeSet;
use std::hash::{DefaultHasher, Hash, Hasher};

/// Failed approaches and changes that are remembered, and how much of each.
const KEPT: usize = 20;
const LINE: usize = 300;

/// The log of a task's calls.
#[derive(Clone, Debug, Default)]
pub struct Log {
    failed: Vec<(Value, String)>,
    changed: Vec<String>,
    well: BTreeSet<String>,
    known: Known,
    /// Calls with their results, as far as they went well.
    effects: BTreeSet<u64>,
    is_new: bool,
}

impl Log {
    /// Remembers a call that was run.
    pub fn ran(&mut self, call: &Call, done: &ToolResult) {
        let value = json!(call);
        self.failed.retain(|(failed, _)| *failed != value);
        match done.outcome {
            CallOutcome::Failed => {
                let error = done.content["error"].as_str().unwrap_or("failed");
                let approach = line(&in_words(call, &value));
                self.failed.push((value, line(&format!("{approach}: {error}"))));
                let extra = self.failed.len().saturating_sub(KEPT);
                self.failed.drain(..extra);
            }
            CallOutcome::Changed | CallOutcome::Ok => {
                let mut hasher = DefaultHasher::new();
                (value.to_string(), done.content.to_string()).hash(&mut hasher);
                self.is_new |= self.effects.insert(hasher.finish());
                self.well.insert(line(&in_words(call, &value)));
                self.known.took(names_of(&value["args"]), call.is_effect());
                if done.outcome == CallOutcome::Changed {
                    self.changed.push(line(&in_words(call, &value)));
                    let extra = self.changed.len().saturating_sub(KEPT);
                    self.changed.drain(..extra);
                }
            }
            CallOutcome::Cancelled | CallOutcome::Finished => {}
        }
    }

    /// Returns failed calls that did not succeed later, the oldest first.
    #[must_use]
    pub fn failed(&self) -> Vec<String> {
        self.failed.iter().map(|(_, line)| line.clone()).collect()
    }

    /// Returns successful calls, in the words that a failure of the same call begins with.
    #[must_use]
    pub fn well(&self) -> &BTreeSet<String> {
        &self.well
    }

    /// Returns the calls that changed something.
    #[must_use]
    pub fn changed(&self) -> &[String] {
        &self.changed
    }

    /// Returns the names in the arguments of successful calls.
    #[must_use]
    pub fn known(&self) -> &Known {
        &self.known
    }

    /// Ends a run; true if it brought something new: a call that went well with a result not seen before.
    pub fn end_run(&mut self) -> bool {
        std::mem::take(&mut self.is_new)
    }
}

/// A call in one line, without long contents.
fn in_words(call: &Call, value: &Value) -> String {
    let members = value["args"].as_object();
    let args: Vec<String> = members
        .into_iter()
        .flatten()
        .map(|(key, value)| match value.as_str() {
            Some(text) if text.len() > LINE / 2 || matches!(key.as_str(), "content" | "diff") => {
                format!("{key} ({} bytes)", text.len())
            }
            Some(text) => format!("{key} {text:?}"),
            None => format!("{key} {value}"),
        })
        .collect();
    format!("{} {}", call.tool(), args.join(", "))
}

/// A text as one line of limited length.
#[must_use]
pub fn line(text: &str) -> String {
    let line: String = text.chars().map(|c| if is_hostile(c) { ' ' } else { c }).take(LINE).collect();
    if line.len() < text.len() { format!("{line} …") } else { line }
}
