//! The final JSON object of a request: stable names, what is absent left out.

use crate::client::pending_request::Outcome;
use crate::protocol::event::{
    Decision, Description, Event, ExitInfo, FileInfo, PackageInfo, Plan, Status, UnitInfo,
};
use crate::protocol::exit::Exit;
use crate::protocol::file_view::FileView;
use crate::render;
use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use schemars::JsonSchema;
use serde::Serialize;

/// One object, whatever the verb.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub struct Report {
    v: u8,
    /// The request's id.
    pub request_id: String,
    /// The verb.
    pub verb: &'static str,
    /// How it ended.
    pub status: &'static str,
    /// A stable code; empty when done.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub code: String,
    /// For people.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub message: String,
    /// The policy's decision.
    #[serde(skip_serializing_if = "is_unspecified")]
    pub decision: Decision,
    /// The rule that says so.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub rule: String,
    #[serde(skip_serializing_if = "String::is_empty")]
    missing: String,
    /// An operator's next command after a refusal.
    #[serde(skip_serializing_if = "Option::is_none")]
    next: Option<String>,
    /// The plan: predicted changes, or those that were made.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub plan: Option<Plan>,
    #[serde(skip_serializing_if = "is_empty")]
    result: VerbResult,
    /// The id to undo it by.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub undo: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    duration_us: Option<u64>,
}

/// State that the verb found or left behind.
#[derive(Clone, Debug, Default, PartialEq, Serialize, JsonSchema)]
struct VerbResult {
    #[serde(skip_serializing_if = "Vec::is_empty")]
    packages: Vec<PackageInfo>,
    #[serde(skip_serializing_if = "Option::is_none")]
    unit: Option<UnitInfo>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    files: Vec<FileInfo>,
    #[serde(skip_serializing_if = "Option::is_none")]
    exit: Option<ExitInfo>,
    #[serde(skip_serializing_if = "Option::is_none")]
    description: Option<Description>,
    #[serde(skip_serializing_if = "Option::is_none")]
    content: Option<String>,
    /// In place of `content`, where that is not UTF-8.
    #[serde(skip_serializing_if = "Option::is_none")]
    content_base64: Option<String>,
    /// A dry run's changes of files, as a unified diff.
    #[serde(skip_serializing_if = "String::is_empty")]
    diff: String,
    #[serde(skip_serializing_if = "String::is_empty")]
    stdout: String,
    #[serde(skip_serializing_if = "String::is_empty")]
    stderr: String,
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    truncated: bool,
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    replayed: bool,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    granted_nearby: Vec<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    retry_after_s: Option<u32>,
    #[serde(skip_serializing_if = "Option::is_none")]
    keep_until_unix_s: Option<u64>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    loaded_by: Vec<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    reboot_unix_s: Option<u64>,
}

fn is_empty(answer: &VerbResult) -> bool {
    *answer == VerbResult::default()
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde passes a reference")]
fn is_unspecified(decision: &Decision) -> bool {
    *decision == Decision::Unspecified
}

impl Report {
    /// The report on an outcome.
    #[must_use]
    pub fn new(outcome: &Outcome) -> Self {
        let mut report = Self {
            v: 1,
            request_id: outcome.id.clone(),
            verb: outcome.verb,
            status: "failed",
            code: String::new(),
            message: String::new(),
            decision: Decision::Unspecified,
            rule: String::new(),
            missing: String::new(),
            next: None,
            plan: None,
            result: VerbResult {
                diff: outcome.views.iter().map(FileView::text).collect(),
                stdout: String::from_utf8_lossy(&outcome.stdout).into_owned(),
                stderr: String::from_utf8_lossy(&outcome.stderr).into_owned(),
                truncated: outcome.truncated,
                ..VerbResult::default()
            },
            undo: None,
            duration_us: None,
        };
        report.fill(&outcome.end);
        report.next = render::next_step(&report.code, &outcome.explain);
        // A file, or lines of a unit's journal.
        let is_file = outcome.verb == "file.read" && report.status == "done";
        if is_file || !outcome.content.is_empty() {
            match String::from_utf8(outcome.content.clone()) {
                Ok(text) => report.result.content = Some(text),
                Err(bytes) => report.result.content_base64 = Some(STANDARD.encode(bytes.as_bytes())),
            }
        }
        report
    }

    fn fill(&mut self, end: &Event) {
        match end {
            Event::Completed(done) => {
                self.status = status_word(done.status, &done.code);
                self.code.clone_from(&done.code);
                self.message.clone_from(&done.message);
                self.decision = done.decision;
                self.rule.clone_from(&done.rule);
                self.plan.clone_from(&done.plan);
                self.undo = done.undoable.then(|| self.request_id.clone());
                self.duration_us = Some(done.duration_us);
                self.result.packages.clone_from(&done.packages);
                self.result.unit.clone_from(&done.unit);
                self.result.files.clone_from(&done.files);
                self.result.exit.clone_from(&done.exit);
                self.result.description.clone_from(&done.description);
                self.result.replayed = done.replayed;
                self.result.keep_until_unix_s =
                    (done.keep_until_unix_s > 0).then_some(done.keep_until_unix_s);
                self.result.loaded_by.clone_from(&done.loaded_by);
                self.result.reboot_unix_s = (done.reboot_unix_s > 0).then_some(done.reboot_unix_s);
            }
            Event::Refused(refused) => {
                self.status = refusal_word(&refused.code);
                self.code.clone_from(&refused.code);
                self.message.clone_from(&refused.message);
                self.missing.clone_from(&refused.missing);
                self.plan.clone_from(&refused.plan);
                self.result.granted_nearby.clone_from(&refused.granted_nearby);
                self.result.retry_after_s = (refused.retry_after_s > 0).then_some(refused.retry_after_s);
            }
            Event::Error(fault) => {
                self.status = match Exit::of_code(&fault.code) {
                    Exit::Refused | Exit::NotApproved => refusal_word(&fault.code),
                    _ => "failed",
                };
                self.code.clone_from(&fault.code);
                self.message.clone_from(&fault.message);
            }
            Event::Accepted(_) | Event::Waiting(_) | Event::Progress(_) | Event::Output(_) => {}
        }
    }
}

fn refusal_word(code: &str) -> &'static str {
    if Exit::of_code(code) == Exit::NotApproved { "not_approved" } else { "refused" }
}

fn status_word(status: Status, code: &str) -> &'static str {
    match status {
        // The recorded outcome of one that nobody approved.
        Status::Failed if Exit::of_code(code) == Exit::NotApproved => "not_approved",
        Status::Done => "done",
        Status::Unchanged => "unchanged",
        Status::Failed | Status::Unspecified => "failed",
        Status::Partly => "partly",
        Status::Interrupted => "interrupted",
        Status::Previewed => "previewed",
    }
}
