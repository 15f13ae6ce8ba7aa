//! The stored history of a dialogue, so that it continues where an earlier process was stopped.
//!
//! A dialogue is resumed by replaying it: replies and results come from the store, and counters and logs are built
//! up again. No model is asked and no tool is run until the history is used up.

use super::tool_result::ToolResult;
use crate::llm::conversation::Reply;
use serde::{Deserialize, Serialize};
use std::collections::VecDeque;

/// One piece of a dialogue.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum HistoryEntry {
    /// The model's reply.
    Reply(Reply),
    /// Result of a call in that reply, as sent to the model.
    Result(ToolResult),
    /// It was too long for the model, which is asked where it stands.
    Compacted,
}

/// Stored entries of an earlier process, the oldest first.
#[derive(Debug, Default)]
pub struct History(VecDeque<HistoryEntry>);

impl History {
    /// Of a dialogue that an earlier process began.
    #[must_use]
    pub fn new(said: Vec<HistoryEntry>) -> Self {
        Self(said.into())
    }

    /// Whether nothing of it is left.
    #[must_use]
    pub fn is_used_up(&self) -> bool {
        self.0.is_empty()
    }

    /// Whether the dialogue was compacted here.
    pub fn compacted(&mut self) -> bool {
        let is_here = matches!(self.0.front(), Some(HistoryEntry::Compacted));
        if is_here {
            self.0.pop_front();
        }
        is_here
    }

    /// The reply that stands here, if the dialogue came so far.
    pub fn reply(&mut self) -> Option<Reply> {
        match self.0.pop_front() {
            Some(HistoryEntry::Reply(reply)) => Some(reply),
            // Another version of the program wrote this history; the rest of it does not fit this dialogue.
            Some(HistoryEntry::Result(_) | HistoryEntry::Compacted) => {
                self.0.clear();
                None
            }
            None => None,
        }
    }

    /// Whether the call that stands here was run; `None` if the dialogue did not come so far.
    #[must_use]
    pub fn was_run(&self) -> Option<bool> {
        self.0.front().map(|said| matches!(said, HistoryEntry::Result(_)))
    }

    /// Takes the result of the next call. `None` if it was not run, `Some(None)` if the log has no result.
    pub fn done(&mut self) -> Option<Option<ToolResult>> {
        match self.0.front() {
            None => None,
            Some(HistoryEntry::Reply(_) | HistoryEntry::Compacted) => Some(None),
            Some(HistoryEntry::Result(_)) => match self.0.pop_front() {
                Some(HistoryEntry::Result(done)) => Some(Some(done)),
                Some(HistoryEntry::Reply(_) | HistoryEntry::Compacted) | None => Some(None),
            },
        }
    }
}
