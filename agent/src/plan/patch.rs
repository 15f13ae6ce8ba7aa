//! A plan that is a diff.

use super::command::{Check, PlannedCall, Step};
use super::fit::only_look;
use super::unfit::{Code, Unfit, unfit};
use crate::tool::{FileTool, Tool};
use postern_patch::{FileDiff, Kind, parse};
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

    pub(super) fn check(&self) -> Result<(), Unfit> {
        let invalid = |why: String| Err(unfit(Code::InvalidSchema, why));
        if self.files_changed.is_empty() {
            return invalid("files_changed is empty".into());
        }
        let files = match parse(self.unified_diff.as_bytes()) {
            Ok(files) => files,
            Err(fault) => return invalid(format!("unified_diff: {fault}")),
        };
        if !self.rollback_diff.is_empty()
            && let Err(fault) = parse(self.rollback_diff.as_bytes())
        {
            return invalid(format!("rollback_diff: {fault}"));
        }
        let mut said = self.files_changed.clone();
        let mut changed: Vec<String> = files.iter().map(|file| file.path.clone()).collect();
        said.sort_unstable();
        changed.sort_unstable();
        if said != changed {
            return invalid(format!("files_changed is not what the diff changes: {}", changed.join(", ")));
        }
        self.intent_fits(&files)?;
        for change in &self.permission_changes {
            let mode = change.mode.strip_prefix('0').filter(|mode| mode.len() == 3).unwrap_or(&change.mode);
            if mode.len() != 3 || !mode.bytes().all(|b| (b'0'..=b'7').contains(&b)) {
                let what = "three octal digits, without setuid, setgid and sticky bits";
                return invalid(format!("the mode {:?} of {:?} is not {what}", change.mode, change.path));
            }
            if !files.iter().any(|file| file.path == change.path && file.kind != Kind::Delete) {
                return invalid(format!(
                    "permission_changes names {:?}, which the diff does not change",
                    change.path
                ));
            }
        }
        only_look("verification", &self.verification_commands)
    }

    /// The model says what was asked for; the diff must do just that.
    fn intent_fits(&self, files: &[FileDiff]) -> Result<(), Unfit> {
        let odd = |is_odd: fn(Kind) -> bool| files.iter().find(|file| is_odd(file.kind));
        let (odd, does) = match self.request_intent {
            Intent::Unknown => return Ok(()),
            Intent::Create => (odd(|kind| kind == Kind::Delete), "removes"),
            Intent::Update => (odd(|kind| kind != Kind::Modify), "creates or removes"),
        };
        match odd {
            None if self.request_intent == Intent::Create
                && !files.iter().any(|f| f.kind == Kind::Create) =>
            {
                Err(unfit(Code::InvalidSchema, "request_intent is create, but the diff creates no file"))
            }
            None => Ok(()),
            Some(file) => Err(unfit(
                Code::InvalidSchema,
                format!("the diff {does} {:?}, which request_intent does not say", file.path),
            )),
        }
    }
}
