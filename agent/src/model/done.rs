//! What came of a call.

use serde::{Deserialize, Serialize};
use serde_json::Value;

/// What came of a call that was run.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Done {
    /// What the model is told, as an object.
    pub told: Value,
    /// How it went.
    pub went: Went,
}

/// How a call went.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Went {
    /// Something is different now.
    Changed,
    /// It went well, nothing is different.
    Well,
    /// It failed or was refused.
    Badly,
    /// The person ended the task meanwhile.
    Cancelled,
    /// The call was all that was wanted.
    Over,
}
