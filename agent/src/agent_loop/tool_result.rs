//! The result of a tool call.

use serde::{Deserialize, Serialize};
use serde_json::Value;

/// Result of a call that was run.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct ToolResult {
    /// JSON object sent to the model.
    pub content: Value,
    /// How it went.
    pub outcome: CallOutcome,
}

/// How a call went.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum CallOutcome {
    /// Something is different now.
    Changed,
    /// It went well, nothing is different.
    Ok,
    /// It failed or was refused.
    Failed,
    /// The person ended the task meanwhile.
    Cancelled,
    /// The call was all that was wanted.
    Finished,
}

impl CallOutcome {
    /// The outcome as spans name it.
    #[must_use]
    pub fn word(self) -> &'static str {
        match self {
            Self::Changed => "changed",
            Self::Ok => "ok",
            Self::Failed => "failed",
            Self::Cancelled => "cancelled",
            Self::Finished => "finished",
        }
    }
}
