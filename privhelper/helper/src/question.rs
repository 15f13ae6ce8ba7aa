//! The text that a person agrees to, written by root alone from what will be done.
//!
//! Every line says in its first word what it is; lines of a file's content begin with `+`, `-` or a blank, so
//! content cannot pass for ours. The client's own words stand last, quoted. Nothing here is escaped for a
//! terminal: who shows it must.

use crate::approvals::Question;
use crate::audit::{Asked, Json, rfc3339};
use crate::context::Context;
use crate::error::Stop;
use crate::sys::store;
use crate::verb::{Planned, Verb};
use postern_policy::types::Digest;
use postern_policy::{Code, Denied, Grant, Risk, VerbId};
use postern_proto::v1 as wire;
use std::time::Duration;

/// More than this no person reads.
const LINES_MAX: usize = 2000;
const BYTES_MAX: usize = 256 * 1024;
/// A question stands at least this long: shorter ones could follow each other without end.
const WAIT_MIN: Duration = Duration::from_secs(60);
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
    /// Commands that must agree too, after the person.
    validators: Vec<String>,
}

impl Context {
    /// What a person must agree to before this request goes on.
    ///
    /// # Errors
    /// `plan_too_large`, or no random number can be had.
    pub fn question<V: Verb>(&self, verb: &V, by: &Grant, plan: &V::Plan) -> Result<Question, Stop> {
        let required_grants = &self.required_grants;
        let wait = self.meta.wait.map_or(by.approval_ttl(), |wait| wait.max(WAIT_MIN).min(by.approval_ttl()));
        let since = self.helper.host.unix();
        let risk = Risk::of(required_grants);
        let mut targets = required_grants.iter().map(|(_, object)| object.name()).collect::<Vec<_>>();
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
            // With what nobody knows: of a weak secret in the request its own digest would tell.
            ("request", Digest::of(&[store::random_id()?.as_bytes(), self.digest.as_bytes()]).to_string()),
        ];
        let parts = Parts {
            view: &view,
            bound,
            args: &verb.args(),
            plan: &plan.text(),
            reason: self.meta.reason.as_str(),
            validators: by
                .rules()
                .map(|rule| rule.validate.clone())
                .filter(|name| !name.is_empty())
                .collect(),
        };
        let text = text(&parts)?;
        targets.sort_unstable();
        let same =
            Digest::of(&[V::ID.name().as_bytes(), b"\n", targets.join(" ").as_bytes(), b"\n", parts.plan]);
        let expires = self.helper.boottime().saturating_add(wait);
        Ok(Question {
            view,
            text,
            policy,
            about: (self.peer.uid, self.canonical),
            same,
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
fn text(parts: &Parts<'_>) -> Result<Vec<u8>, Denied> {
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
    head.extend(
        parts.validators.iter().map(|name| format!("only if {name} agrees, which is asked afterwards")),
    );
    if !view.task.is_empty() || view.claimed_uid != 0 {
        head.push(format!("claims task {:?} of uid {}", view.task, view.claimed_uid));
    }
    let mut text = head.join("\n").into_bytes();
    text.extend_from_slice(b"\n\nplan\n");
    text.extend_from_slice(parts.plan);
    let reason = if parts.reason.is_empty() { "none".to_owned() } else { format!("{:?}", parts.reason) };
    text.extend_from_slice(format!("\nthe client's reason, in its own words: {reason}\n").as_bytes());
    if text.len() > BYTES_MAX || text.split_inclusive(|byte| *byte == b'\n').count() > LINES_MAX {
        let why = "the plan is too large for a person to read (2,000 lines, 256 KiB); make it smaller";
        return Err(Denied::new(Code::PlanTooLarge, why));
    }
    Ok(text)
}

/// What changes between two contents: equal lines before and after are cut to three. One block, so that nobody
/// has to believe an algorithm. Ends where it is longer than a person reads.
#[must_use]
pub fn diff(old: &[u8], new: &[u8]) -> Vec<u8> {
    let lines = |content| <[u8]>::split_inclusive(content, |byte| *byte == b'\n');
    let pairs = lines(old).zip(lines(new)).take_while(|(old, new)| old == new);
    let (head, count) = pairs.fold((0_usize, 0_usize), |(bytes, count), (line, _)| {
        (bytes.saturating_add(line.len()), count.saturating_add(1))
    });
    let (old_rest, new_rest) = (old.get(head..).unwrap_or_default(), new.get(head..).unwrap_or_default());
    let equal = lines(old_rest).rev().zip(lines(new_rest).rev()).take_while(|(old, new)| old == new);
    let tail = equal.fold(0_usize, |bytes, (line, _)| bytes.saturating_add(line.len()));
    let middle = |rest: &[u8]| rest.len().saturating_sub(tail);
    let before = lines(old.get(..head).unwrap_or_default()).rev().take(AROUND).collect::<Vec<_>>();
    let after = lines(new_rest.get(middle(new_rest)..).unwrap_or_default()).take(AROUND);
    let first = count.saturating_sub(before.len()).saturating_add(1);
    let mut text = format!("at line {first}\n").into_bytes();
    let marked = |mark: &'static [u8]| move |line| (mark, line);
    let all = before.into_iter().rev().map(marked(b" "));
    let all = all.chain(lines(old_rest.get(..middle(old_rest)).unwrap_or_default()).map(marked(b"-")));
    let all = all.chain(lines(new_rest.get(..middle(new_rest)).unwrap_or_default()).map(marked(b"+")));
    for (mark, line) in all.chain(after.map(marked(b" "))) {
        if text.len() > BYTES_MAX {
            break;
        }
        text.extend_from_slice(mark);
        text.extend_from_slice(line);
        if !line.ends_with(b"\n") {
            text.extend_from_slice(b"\n\\ no line feed at the end\n");
        }
    }
    text
}
