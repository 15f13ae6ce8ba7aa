//! A plan that is a diff.

use super::command::{Check, PlannedCall, Step};
use crate::protocol::tool::{FileTool, Tool};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Changes of files, all of them or none.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct FilePatchPlan {
    /// What will be so at the end.
    pub goal: String,
    /// What the person asked for: a new file, a change of one that is there, or neither for sure.
    pub request_intent: Intent,
    /// The files that the diff changes, absolute.
    #[schemars(length(min = 1))]
    pub files_changed: Vec<String>,
    /// A unified diff; /dev/null as the old file creates one.
    pub unified_diff: String,
    /// What could go wrong.
    #[serde(default)]
    pub risk_summary: String,
    /// What must be so afterwards; they change nothing.
    #[serde(default)]
    pub verification_commands: Vec<Check>,
    /// Modes of files that the diff changes.
    #[serde(default)]
    pub permission_changes: Vec<PermissionChange>,
    /// The diff that takes it back; empty where the helper's own undo does.
    #[serde(default)]
    pub rollback_diff: String,
    /// What else will be different.
    #[serde(default)]
    pub expected_side_effects: Vec<String>,
}

/// What the person asked for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Intent {
    /// New files; one that is there already stays as it is, and the plan fails.
    Create,
    /// Changes of files that are there; none is made and none goes.
    Update,
    /// Neither for sure.
    Unknown,
}

/// A file's new mode.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct PermissionChange {
    /// One of the files that the diff changes.
    pub path: String,
    /// Octal, such as 0644; setuid, setgid and sticky bits are refused.
    #[schemars(regex(pattern = r"^0?[0-7]{3}$"))]
    pub mode: String,
    /// Why.
    pub reason: String,
}

impl FilePatchPlan {
    /// The diff, and then the modes.
    #[must_use]
    pub fn steps(&self) -> Vec<Step> {
        let diff = Tool::ApplyPatch { diff: self.unified_diff.clone() };
        let mut steps = vec![Step::Call(PlannedCall { tool: diff, purpose: self.goal.clone() })];
        steps.extend(self.permission_changes.iter().map(|change| {
            let tool = Tool::File(FileTool::SetMode { path: change.path.clone(), mode: change.mode.clone() });
            Step::Call(PlannedCall { tool, purpose: change.reason.clone() })
        }));
        steps
    }
}
