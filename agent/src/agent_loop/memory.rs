//! Memory of earlier work: from a run to the next one, and from a task to the one that continues it.

use super::call_log::{Log, line};
use super::claims::Evidence;
use crate::llm::tools::Checkpoint;
use crate::redaction::redact;
use serde::{Deserialize, Serialize};
use std::collections::BTreeSet;
use std::fmt::Write;

/// Earlier tasks that are remembered, and failed approaches.
const EARLIER: usize = 8;
const FAILED: usize = 20;
/// Characters remembered of a person's or a model's text.
const WORDS: usize = 2000;

/// Request for a checkpoint at the end of a run.
pub const ASK: &str = "[System: the steps of this run are used up. Call the tool checkpoint now, once and nothing \
    else: what is done as far as results prove it, what remains, what failed. No other tool is run.]";

/// The request to a model whose conversation is too long for it.
pub const ASK_FOR_ROOM: &str = "[System: this conversation has grown too long, and its beginning is left out. Call the \
    tool checkpoint now, once and nothing else: what is done as far as results prove it, what remains, what failed. No \
    other tool is run.]";

/// Memory of a conversation: its earlier tasks, for later ones.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct Memory {
    /// The oldest first.
    pub earlier: Vec<Earlier>,
    /// Failed calls, from the log.
    pub failed_approaches: Vec<String>,
    /// The digest of the policy at that time; empty where it is not known.
    pub policy: String,
}

/// One earlier task.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct Earlier {
    /// The person's words.
    pub task: String,
    /// How it ended, in a word.
    pub status: String,
    /// Its one line.
    pub summary: String,
    /// Its changes, from the log.
    pub changes: Vec<String>,
    /// Remaining work, from its last checkpoint.
    pub remaining: String,
}

impl Memory {
    /// Adds a task that has ended, with what failed in it and what went well.
    pub fn add(&mut self, earlier: Earlier, failed: Vec<String>, well: &BTreeSet<String>) {
        // A call that works by now is no failed approach.
        self.failed_approaches.retain(|known| {
            let is_of =
                |call: &String| known.strip_prefix(call.as_str()).is_some_and(|rest| rest.starts_with(": "));
            !well.iter().any(is_of)
        });
        let Earlier { task, status, summary, mut changes, remaining } = earlier;
        let clean = |text: &str| cut(&redact::text(text).0);
        changes.truncate(FAILED);
        for change in &mut changes {
            *change = redact::text(change).0;
        }
        let earlier = Earlier {
            task: clean(&task),
            status,
            summary: clean(&summary),
            changes,
            remaining: clean(&remaining),
        };
        self.earlier.push(earlier);
        self.earlier.drain(..self.earlier.len().saturating_sub(EARLIER));
        for approach in failed {
            self.failed_approaches.retain(|known| *known != approach);
            self.failed_approaches.push(approach);
        }
        self.failed_approaches.drain(..self.failed_approaches.len().saturating_sub(FAILED));
    }

    /// A person's next words with it, under the policy with this digest.
    #[must_use]
    pub fn before(&self, words: &str, policy: &str) -> String {
        let mut text = String::new();
        if !self.earlier.is_empty() {
            text.push_str(
                "[System: earlier tasks of this conversation, the oldest first, from the agent's records:",
            );
            for (number, earlier) in self.earlier.iter().enumerate() {
                let Earlier { task, status, summary, changes, remaining } = earlier;
                let _ = write!(text, "\n{}. {task:?}: {status}: {summary:?}", number + 1);
                if !changes.is_empty() {
                    let _ = write!(text, "; changed: {}", changes.join("; "));
                }
                if !remaining.is_empty() {
                    let _ = write!(text, "; remained: {remaining:?}");
                }
            }
            text.push_str("]\n\n");
        }
        let is_other = !self.policy.is_empty() && !policy.is_empty() && self.policy != policy;
        let head = if is_other {
            CHANGED
        } else if says_mended(words) {
            MENDED
        } else {
            EXHAUSTED
        };
        text.push_str(&failures(head, &self.failed_approaches));
        text.push_str(words);
        text
    }
}

/// The sentence ahead of a list of failures.
const EXHAUSTED: &str =
    "The following approaches were tried and failed in previous runs — consider them exhausted:";
const CHANGED: &str =
    "The following calls failed, but the policy was changed since: they may be tried again:";
const MENDED: &str = "The following calls failed; where the person's words below say that the cause is gone, they may be tried again:";

/// Words of a person who has removed the cause of a failure.
const MENDING: &[&str] = &[
    "again",
    "allow",
    "allowed",
    "approved",
    "changed",
    "corrected",
    "fixed",
    "grant",
    "granted",
    "mended",
    "permitted",
    "repaired",
    "resolved",
    "retry",
    "solved",
];

fn says_mended(words: &str) -> bool {
    let mut words = words.split(|c: char| !c.is_alphanumeric());
    words.any(|word| MENDING.contains(&word.to_lowercase().as_str()))
}

/// The words of the next run of a task; of the same one, where a conversation that was too long goes on.
#[must_use]
pub fn next_run(words: &str, run: Option<(u32, u32)>, checkpoint: &Checkpoint, log: &Log) -> String {
    let mut text = match run {
        Some((run, runs)) => format!(
            "{words}\n\n[System: this is run {run} of {runs} of this task. What the runs before it left, their own \
             words held against the log of results:"
        ),
        None => format!(
            "{words}\n\n[System: what was said so far was too long and is left out. What it left, your own words held \
             against the log of results:"
        ),
    };
    for statement in &checkpoint.progress {
        let statement = line(statement.as_str());
        let _ = match log.known().bears_out(&statement) {
            Ok(Evidence::Complete) => write!(text, "\n- {statement}"),
            Ok(Evidence::NamesNothing) => write!(text, "\n- {statement} (not proven: it names nothing)"),
            Err(untouched) => write!(
                text,
                "\n- ~~{statement}~~ (struck out: no successful call did this to {})",
                untouched.join(", ")
            ),
        };
    }
    if !log.changed().is_empty() {
        let _ = write!(text, "\nChanged, by the log: {}", log.changed().join("; "));
    }
    let _ = write!(text, "\nSummary in your words: {}", line(checkpoint.log_summary.as_str()));
    let _ = write!(
        text,
        "\nRemaining in your words: {}]\n\n{}",
        cut(&checkpoint.remaining),
        failures(EXHAUSTED, &log.failed())
    );
    redact::text(text.trim_end()).0
}

/// Formats failures for the model.
fn failures(head: &str, failed: &[String]) -> String {
    if failed.is_empty() {
        return String::new();
    }
    let mut text = format!("[System: {head}");
    for (number, approach) in failed.iter().enumerate() {
        let _ = write!(text, "\n{}. {approach}", number + 1);
    }
    text.push_str("]\n\n");
    text
}

fn cut(text: &str) -> String {
    text.chars().take(WORDS).collect()
}
