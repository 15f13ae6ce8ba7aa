//! The directories that read-only tools read, and the result of one.

use super::roots::Roots;
use crate::protocol::step::{StepResult, StepStatus};
use crate::protocol::tool::Tool;
use serde_json::{Value, json};
use std::path::PathBuf;

/// Warning to the model where something was not read.
pub const UNREAD: &str = "Do not infer facts from unread content";

/// The directories that read-only tools read.
#[derive(Debug)]
pub struct HostPaths {
    pub roots: Roots,
    /// Where /proc, /sys, /etc, /run and /var are.
    pub base: PathBuf,
}

/// The result of a read-only tool.
#[derive(Debug)]
pub struct ReadResult {
    /// How it ended.
    pub status: StepStatus,
    /// JSON object sent to the model.
    pub content: Value,
    /// Text shown to a person in place of it.
    pub text: Option<String>,
    /// `CODE: message`.
    pub error: Option<String>,
}

/// Whether there is something that was not read: what is missing, or failed, holds nothing to guess at.
#[must_use]
pub fn is_unread(status: StepStatus) -> bool {
    matches!(status, StepStatus::Truncated | StepStatus::Timeout | StepStatus::Denied)
}

impl ReadResult {
    /// Nothing was found; the code and why.
    #[must_use]
    pub fn failed(status: StepStatus, code: &str, why: &str) -> Self {
        Self { status, content: json!({}), text: None, error: Some(format!("{code}: {why}")) }
    }

    /// Returns the content with status and error, and a warning if something was not read.
    #[must_use]
    pub fn shown(&self) -> Value {
        let mut content = self.content.clone();
        content["status"] = json!(self.status);
        if let Some(error) = &self.error {
            content["error"] = json!(error);
        }
        if is_unread(self.status) {
            content["unread"] = json!(UNREAD);
        }
        content
    }

    /// The result of the step that it is.
    #[must_use]
    pub fn result(&self, number: usize, tool: &Tool) -> StepResult {
        let is_found = matches!(self.status, StepStatus::Ok | StepStatus::Truncated);
        let text = || self.text.clone().unwrap_or_else(|| self.content.to_string());
        StepResult {
            stdout: is_found.then(text),
            error: self.error.clone(),
            ..StepResult::new(number, tool.clone(), self.status)
        }
    }
}
