//! The report, as JSON and in the `OpenAPI` document.

use crate::protocol::task::TaskStatus;
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

/// The most entries of a list.
pub const ENTRY_LIMIT: usize = 100;
/// The most request ids of an entry: the newest.
pub const ID_LIMIT: usize = 100;
/// So often the same must have been approved or done to count as repeated.
pub const REPEATED: usize = 3;

/// A report on the record. Each list begins with the most frequent or the slowest.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct Insights {
    /// Version of this form.
    pub version: u32,
    /// Only what began then or later counts; absent if all of the record does.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub since_unix_s: Option<u64>,
    /// Ended tasks that were read.
    pub tasks: usize,
    /// Tasks that ended otherwise than completed or cancelled, by cause.
    pub failing_tasks: Vec<FailingTasks>,
    /// Requests that no rule grants.
    pub missing_grants: Vec<MissingGrant>,
    /// How long steps took, by kind.
    pub slow_steps: Vec<StepTimes>,
    /// Requests that were approved several times and never denied.
    pub repeated_approvals: Vec<RepeatedApproval>,
    /// Tasks that changed the same in the same order, and are no runbook.
    pub repeated_tasks: Vec<RepeatedTask>,
    /// Entries beyond the 100 of each list.
    pub left_out: usize,
}

/// Tasks that failed alike.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct FailingTasks {
    /// How they ended.
    pub status: TaskStatus,
    /// The code of the step that decided; `interrupted`; or `none` where no step failed.
    pub cause: String,
    /// The verb or tool of that step; empty where no step failed.
    pub step: String,
    /// Their number.
    pub count: usize,
    /// The newest of them.
    pub task: String,
    /// Its summary in one line.
    pub summary: String,
    /// A command to go on with.
    pub next: String,
}

/// A request that no rule grants.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct MissingGrant {
    /// The verb.
    pub verb: String,
    /// The packages, unit, paths or command.
    pub target: String,
    /// How often it was refused.
    pub count: usize,
    /// The newest of these requests, at most 100.
    pub request_ids: Vec<String>,
    /// The operator's command that prints a rule for it.
    pub next: String,
}

/// How long steps of one kind took. The percentiles are times that were measured (nearest rank).
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct StepTimes {
    /// A verb of the helper, or `shell` for commands in the agent's sandbox.
    pub kind: String,
    /// Steps that were measured.
    pub count: usize,
    /// Half of them took at most so many milliseconds; waits for people are not in it.
    pub median_ms: u64,
    /// Nine of ten took at most so many milliseconds.
    pub p90_ms: u64,
    /// The longest time in milliseconds.
    pub max_ms: u64,
    /// How many waited for a person.
    pub waits: usize,
    /// Half of those waited at most so many milliseconds; 0 where none did.
    pub median_wait_ms: u64,
}

/// A request that was approved several times.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct RepeatedApproval {
    /// The verb.
    pub verb: String,
    /// The packages, unit, paths or command.
    pub target: String,
    /// The rule that asked, of the newest one.
    pub rule: String,
    /// How often it was approved.
    pub count: usize,
    /// The newest of these requests, at most 100.
    pub request_ids: Vec<String>,
    /// Why no rule covers exactly what was approved; empty where one can.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub no_rule: String,
    /// The operator's command that prints a rule for it; empty where none covers it.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub next: String,
}

/// Tasks that changed the same.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct RepeatedTask {
    /// The newest of them.
    pub task: String,
    /// Its order in the person's words.
    pub words: String,
    /// Their number.
    pub count: usize,
    /// The changes of each of them, in order.
    pub changes: Vec<String>,
    /// The command that makes a draft of a runbook of it.
    pub next: String,
}
