//! The text that a person agrees to, written by root alone from what will be done.
//!
//! Every line says in its first word what it is; lines of a file's content begin with `+`, `-` or a blank, so
//! content cannot pass for ours. The client's own words stand last, quoted. Nothing here is escaped for a
//! terminal: who shows it must.

use crate::approvals::Question;
use crate::audit::{Asked, Json, rfc3339};
use crate::context::Context;
use crate::error::{Code, Refusal, Stop};
use crate::policy::{Authorized, Risk};
use crate::sys::store;
use crate::verb::{Planned, Verb};
use crate::verb_id::VerbId;
use postern_proto::v1 as wire;
use std::time::Duration;

/// More than this no person reads.
const LINES_MAX: usize = 2000;
const BYTES_MAX: usize = 256 * 1024;
/// Lines of a file that are shown around what changes.
const AROUND: usize = 3;

/// What the text is made of, besides the list entry.
struct Parts<'a> {
    /// What operators' lists show.
    view: &'a wire::Approval,
    /// This boot and policy, and the request's own digest: what the answer is bound to.
    bound: [(&'static str, String); 3],
    /// The arguments as the audit has them, less the client's words.
    args: &'a Json,
    /// The plan, as its own lines.
    plan: &'a [u8],
    /// The client's words.
    reason: &'a str,
}

impl Context {
    /// What a person must agree to before this request goes on.
    ///
    /// # Errors
    /// `plan_too_large`, or no random number can be had.
    pub fn question<V: Verb>(&self, verb: &V, by: &Authorized<V>, plan: &V::Plan) -> Result<Question, Stop> {
        let wishes = &verb.wishes();
        let wait = self.meta.wait.map_or(by.approval_ttl(), |wait| wait.min(by.approval_ttl()));
        let since = self.helper.host.unix();
        let risk = Risk::of(wishes);
        let mut targets = wishes.iter().map(|(_, object)| object.name()).collect::<Vec<_>>();
        targets.dedup();
        let view = wire::Approval {
            approval_id: store::random_id()?,
            client: self.record.client_name.clone(),
            uid: self.peer.uid,
            request_id: self.meta.request_id.to_string(),
            task: self.meta.task.as_str().to_owned(),
            claimed_uid: self.meta.claimed_uid,
            verb: V::ID.name().to_owned(),
            target: targets.join(" "),
            rule: by.rule_id().to_owned(),
            risk_score: risk.score,
            capabilities: risk.capabilities.iter().map(ToString::to_string).collect(),
            since_unix_s: since.as_secs(),
            expires_unix_s: since.saturating_add(wait).as_secs(),
            approvers: by.approvers().max(1),
            approved_by: Vec::new(),
        };
        let policy = self.policy.digest();
        let bound = [
            ("boot", self.helper.host.boot_id.clone()),
            ("policy", policy.to_string()),
            ("request", self.digest.to_string()),
        ];
        let parts = Parts {
            view: &view,
            bound,
            args: &verb.args(),
            plan: &plan.text(),
            reason: self.meta.reason.as_str(),
        };
        let text = text(&parts)?;
        let expires = self.helper.boottime().saturating_add(wait);
        Ok(Question {
            view,
            text,
            policy,
            about: (self.peer.uid, self.canonical),
            limits: self.policy.approvals(),
            expires,
        })
    }

    /// Takes the request's id and records that it waits, both on disk.
    ///
    /// # Errors
    /// The same request was faster, or the log can't take it: nobody must be asked.
    pub fn ask(&mut self, verb: VerbId, question: &Question) -> Result<Asked, Stop> {
        // No rule is used up by waiting.
        self.helper.requests.take(self.entry(verb, Vec::new()), &self.watchers)?;
        self.has_id = true;
        self.record.approval = question.json();
        Ok(self.helper.audit.ask(&self.record)?)
    }
}

/// Writes the text.
///
/// # Errors
/// `plan_too_large`: more than 2,000 lines or 256 KiB.
fn text(parts: &Parts<'_>) -> Result<Vec<u8>, Refusal> {
    let view = parts.view;
    let expires = rfc3339(Duration::from_secs(view.expires_unix_s));
    let mut head = vec![
        "postern approval 1".to_owned(),
        format!("verb {}", view.verb),
        format!("target {}", view.target),
        format!("client {} (uid {})", view.client, view.uid),
        format!("rule {}", view.rule),
        format!("risk {} of 100: {}", view.risk_score, view.capabilities.join(", ")),
        format!("arguments {}", parts.args),
        format!("expires {expires}"),
        format!("approvers {}", view.approvers),
    ];
    head.extend(parts.bound.iter().map(|(name, value)| format!("{name} {value}")));
    if !view.task.is_empty() || view.claimed_uid != 0 {
        head.push(format!("claims task {:?} of uid {}", view.task, view.claimed_uid));
    }
    let mut text = head.join("\n").into_bytes();
    text.extend_from_slice(b"\n\nplan\n");
    text.extend_from_slice(parts.plan);
    let reason = if parts.reason.is_empty() { "none".to_owned() } else { format!("{:?}", parts.reason) };
    text.extend_from_slice(format!("\nthe client's reason, in its own words: {reason}\n").as_bytes());
    if text.len() > BYTES_MAX || lines(&text).len() > LINES_MAX {
        let why = "the plan is too large for a person to read (2,000 lines, 256 KiB); make it smaller";
        return Err(Refusal::new(Code::PlanTooLarge, why));
    }
    Ok(text)
}

/// What changes between two contents: equal lines before and after are cut to three. One block, so that nobody
/// has to believe an algorithm.
#[must_use]
pub fn diff(old: &[u8], new: &[u8]) -> Vec<u8> {
    let (old, new) = (lines(old), lines(new));
    let head = old.iter().zip(&new).take_while(|(old, new)| old == new).count();
    let left = |lines: &[&[u8]]| lines.len().saturating_sub(head);
    let most = left(&old).min(left(&new));
    let tail = old.iter().rev().zip(new.iter().rev()).take(most).take_while(|(old, new)| old == new).count();
    let first = head.saturating_sub(AROUND);
    let mut text = format!("at line {}\n", first.saturating_add(1)).into_bytes();
    let mut put = |mark: &[u8], from: &[&[u8]], start: usize, end: usize| {
        for line in from.get(start..end).unwrap_or_default() {
            text.extend_from_slice(mark);
            text.extend_from_slice(line);
            if !line.ends_with(b"\n") {
                text.extend_from_slice(b"\n\\ no line feed at the end\n");
            }
        }
    };
    put(b" ", &old, first, head);
    put(b"-", &old, head, old.len().saturating_sub(tail));
    put(b"+", &new, head, new.len().saturating_sub(tail));
    let after = new.len().saturating_sub(tail);
    put(b" ", &new, after, after.saturating_add(AROUND).min(new.len()));
    text
}

fn lines(content: &[u8]) -> Vec<&[u8]> {
    content.split_inclusive(|byte| *byte == b'\n').collect()
}
