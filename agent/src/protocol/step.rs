//! The result of a step.

use super::confinement::Enforced;
use super::tool::Tool;
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

/// Result of a step.
#[derive(Clone, Debug, Serialize, Deserialize, ToSchema)]
pub struct StepResult {
    /// Counts from 1.
    pub step: usize,
    /// The tool and its arguments.
    #[serde(flatten)]
    pub tool: Tool,
    /// Origin of the step, where it was not the order itself.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub origin: Option<Origin>,
    /// How it ended.
    pub status: StepStatus,
    /// The policy says of its command that it changes nothing, so it is no change that was made or not made.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub no_effect: bool,
    /// The program's, or 0 where the step succeeded without one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub exit_code: Option<i32>,
    /// Output: found facts, or a program's standard output.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub stdout: Option<String>,
    /// A program's standard error, and nothing else.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub stderr: Option<String>,
    /// `CODE: message`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub error: Option<String>,
    /// Why it was not done, as data.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub refusal: Option<Refusal>,
    /// The helper's record of it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub request_id: Option<String>,
    /// How long a command of the agent's own took.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub duration_ms: Option<u64>,
    /// Sandbox that a command of the agent's own ran in.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub sandbox: Option<Enforced>,
    /// Files hidden by the sandbox that the command names or could not open, a line each.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub hidden: Vec<String>,
}

impl StepResult {
    /// A step that ended so, of which nothing else is known.
    #[must_use]
    pub fn new(step: usize, tool: Tool, status: StepStatus) -> Self {
        Self {
            step,
            tool,
            origin: None,
            status,
            no_effect: false,
            exit_code: None,
            stdout: None,
            stderr: None,
            error: None,
            refusal: None,
            request_id: None,
            duration_ms: None,
            sandbox: None,
            hidden: Vec::new(),
        }
    }

    /// It is one of the order's own steps, not a part of another.
    #[must_use]
    pub fn is_own(&self) -> bool {
        self.origin.is_none()
    }
}

/// Origin of a step.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "snake_case")]
pub enum Origin {
    /// A program that a command of the agent's own called, such as `sudo`. Its number is that command's.
    Shim,
}

/// Why a step was refused or not approved: what the words of the error say, for a program.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, ToSchema)]
#[serde(default)]
pub struct Refusal {
    /// A stable code.
    pub code: String,
    /// The helper's words; of a denial the operator's.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub message: String,
    /// The grant that a rule lacks.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub missing: String,
    /// Grants of the same verb.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub granted_nearby: Vec<String>,
    /// After how many seconds asking again makes sense.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub retry_after_s: Option<u32>,
    /// An operator's next command.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub next: Option<String>,
}

/// How a step ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "snake_case")]
pub enum StepStatus {
    /// Done.
    Ok,
    /// Failed.
    Error,
    /// The policy does not let it.
    Refused,
    /// Done, but not all of the output is here.
    Truncated,
    /// A person said no, or the agent itself may not look there.
    Denied,
    /// No answer in time.
    Timeout,
    /// The task was cancelled meanwhile.
    Cancelled,
}
