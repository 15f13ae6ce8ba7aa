//! `pending` and `show`: the list of waiting requests, and the text of one.

use super::order;
use super::render::{self, Screen, cut, field, inline};
use super::result::{CommandError, CommandResult, call};
use crate::host::Host;
use crate::io::{Exit, Io};
use crate::loaded_policy::LoadedPolicy;
use crate::operator::CallError;
use crate::operator::{REPLY_TIMEOUT, Replies};
use crate::policy::apply::Format;
use crate::text::{count, escape_json, time};
use nix::unistd::{Uid, User};
use postern_policy::VerbId;
use postern_policy::types::Digest;
use postern_proto::v1::{
    Approval, OperatorPending, OperatorPendingRequest, OperatorShowRequest, OperatorShown, Unkept,
};
use serde_json::{Value, json};
use std::fmt::Write as _;

/// Fewest digits of an id that name a request.
const PREFIX_MIN: usize = 4;
/// Digits of an id.
const ID: usize = 32;
/// Digits that a table shows, more where two ids begin alike.
const SHORT: usize = 8;
/// Most lines and bytes of a text that a person can be expected to read.
const LINES_MAX: usize = 2_000;
const BYTES_MAX: usize = 256 * 1024;
/// Most bytes of content of any request.
const CONTENT_MAX: usize = 16 * 1024 * 1024;

/// A request's text, and the approval digest of the order that it is rendered from.
pub(super) struct WaitingRequest {
    pub approval: Approval,
    pub text: Vec<u8>,
    pub digest: Digest,
    /// Description of the command in the policy.
    pub about: Option<String>,
}

impl WaitingRequest {
    pub(super) fn fetch(host: &Host, id: &str) -> Result<Self, CommandError> {
        let request = OperatorShowRequest { approval_id: id.to_owned() };
        let malformed = |what: &str| CallError::Malformed(what.to_owned());
        let socket = &host.operator_socket;
        let mut replies =
            Replies::open(socket, host.owner_uid, "Operator/Show", &request, Some(REPLY_TIMEOUT))?;
        let (mut shown, mut size) = (Vec::new(), 0);
        while let Some(reply) = replies.receive::<OperatorShown>()? {
            size += reply.content.len();
            shown.push(reply);
            if size > CONTENT_MAX {
                return Err(malformed("more content than any request has").into());
            }
        }
        let decoded = order::decode(&shown).map_err(|what| malformed(&what))?;
        let order::Decoded { approval, text, digest, command } = decoded;
        if approval.approval_id != id {
            return Err(malformed("it shows another request").into());
        }
        let about = command.and_then(|(name, policy)| about(host, &name, policy));
        Ok(Self { approval, text, digest, about })
    }

    /// Everything about it as rows.
    pub(super) fn rendered(&self, screen: Screen) -> String {
        let a = &self.approval;
        let mut out = field("request", &a.approval_id, screen) + &self.named(screen);
        let mut line = |name: &str, value: String| out.push_str(&field(name, &value, screen));
        if !a.task.is_empty() {
            line("task", format!("{} (the client's word)", a.task));
        }
        if let Some(about) = &self.about {
            line("about", format!("{about} (the policy's words)"));
        }
        line("rule", a.rule.clone());
        line("risk", format!("{}: {}", a.risk_score, a.capabilities.join(" ")));
        line("waits", format!("since {}, until {}", time(a.since_unix_s), time(a.expires_unix_s)));
        line("agreed", agreed(a));
        let (lines, bytes) = (render::lines(&self.text).len(), self.text.len());
        // Writing to a String cannot fail.
        let _ = writeln!(out, "--- the text, {}, {}", count(lines, "line"), count(bytes, "byte"));
        out.push_str(&render::text(&self.text, screen));
        let end = if self.text.ends_with(b"\n") { "" } else { ", without a line end" };
        let _ = writeln!(out, "--- end of the text{end}");
        out
    }

    /// Verb, target and client.
    pub(super) fn named(&self, screen: Screen) -> String {
        let a = &self.approval;
        let person = match (a.asked_by, a.claimed_uid) {
            (0, 0) => String::new(),
            (0, claimed) => format!(", says it asks for uid {claimed}"),
            (uid, _) => {
                format!(", says it asks for uid {uid}; a session of {} was open and was quoted", person(uid))
            }
        };
        field("verb", &a.verb, screen)
            + &field("target", &a.target, screen)
            + &field("client", &format!("{} (uid {}){person}", a.client, a.uid), screen)
    }
}

/// A person's name, as this host knows it, and uid.
fn person(uid: u32) -> String {
    let user = User::from_uid(Uid::from_raw(uid)).ok().flatten();
    user.map_or_else(|| format!("uid {uid}"), |user| format!("{} (uid {uid})", user.name))
}

/// The `description` of a command in the policy with this digest; none if this user cannot read that policy.
#[must_use]
pub fn about(host: &Host, command: &str, policy: Digest) -> Option<String> {
    let (rules, _) = LoadedPolicy::rules(host).filter(|(_, digest)| *digest == policy)?;
    let row = rules.commands.into_iter().find(|row| row.name == command)?;
    Some(row.description).filter(|text| !text.is_empty())
}

/// Why nobody can be asked to agree to so much.
pub(super) fn too_long(shown: &[WaitingRequest]) -> Option<String> {
    let lines: usize = shown.iter().map(|one| render::lines(&one.text).len()).sum();
    let bytes: usize = shown.iter().map(|one| one.text.len()).sum();
    (lines > LINES_MAX || bytes > BYTES_MAX).then(|| {
        format!(
            "plan_too_large: {lines} lines and {bytes} bytes; nobody reads more than {LINES_MAX} lines or {BYTES_MAX} bytes at once, so \
             it cannot be approved"
        )
    })
}

/// How many of those who must agree have.
pub(super) fn agreed(approval: &Approval) -> String {
    let by = approval.approved_by.iter().map(|uid| format!("uid {uid}")).collect::<Vec<_>>();
    let by = if by.is_empty() { String::new() } else { format!(" ({})", by.join(", ")) };
    format!("{}/{}{by}", approval.approved_by.len(), approval.approvers)
}

/// All that waits, oldest first.
pub(super) fn all(host: &Host) -> Result<Vec<Approval>, CommandError> {
    listed(host).map(|pending| pending.approvals)
}

/// All that waits for approval, and all that waits to be kept, oldest first.
fn listed(host: &Host) -> Result<OperatorPending, CommandError> {
    let mut pending: OperatorPending = call(host, "Operator/Pending", &OperatorPendingRequest {})?;
    pending.approvals.sort_by(|a, b| (a.since_unix_s, &a.approval_id).cmp(&(b.since_unix_s, &b.approval_id)));
    pending.unkept.sort_by_key(|change| change.keep_until_unix_s);
    Ok(pending)
}

/// One line for each change that is taken back unless its client keeps it, and for each that could not be taken back.
fn unkept(changes: &[Unkept], now_unix_s: u64, screen: Screen, io: &mut Io<'_>) -> CommandResult {
    for change in changes {
        let Unkept { request_id, client, verb, target, keep_until_unix_s, not_taken_back, loaded_by, .. } =
            change;
        let left = span(keep_until_unix_s.saturating_sub(now_unix_s));
        let (what, id) = (format!("{verb} {target}"), request_id);
        let how = match loaded_by.as_slice() {
            [] => format!("it (postern keep {id})"),
            loads => format!("a later run of {}", loads.join(" and ")),
        };
        let line = match (*keep_until_unix_s, not_taken_back.as_str()) {
            (0, why) => {
                format!("NOT TAKEN BACK, though {client} did not keep it (request {id}): {what}: {why}")
            }
            (_, "") => format!("taken back in {left} unless {client} keeps {how}: {what}"),
            (_, why) => format!("is to be taken back and will be tried again (request {id}): {what}: {why}"),
        };
        writeln!(io.out, "{}", cut(inline(&line), screen))?;
    }
    Ok(Exit::Done)
}

/// The ids of all that waits; none where the recorder does not say.
#[must_use]
pub fn ids(host: &Host) -> Vec<String> {
    all(host).map(|all| all.into_iter().map(|one| one.approval_id).collect()).unwrap_or_default()
}

/// The whole id of which `prefix` is the beginning.
pub(super) fn resolve(host: &Host, prefix: &str) -> Result<String, CommandError> {
    let told = |exit, why: String| Err(CommandError::Message(exit, why));
    let id = prefix.to_ascii_lowercase();
    if !id.bytes().all(|byte| byte.is_ascii_hexdigit()) || !(PREFIX_MIN..=ID).contains(&id.len()) {
        let why = format!(
            "`{}` is not a valid id: use {PREFIX_MIN} to {ID} hexadecimal digits of it",
            inline(prefix)
        );
        return told(Exit::Usage, why);
    }
    if id.len() == ID {
        return Ok(id);
    }
    let waiting = all(host)?;
    let mut fits = waiting.iter().filter(|approval| approval.approval_id.starts_with(&id));
    match (fits.next(), fits.count()) {
        (None, _) => {
            let why =
                format!("unknown_request: nothing that waits begins with {id}; see `postern-admin pending`");
            told(Exit::Refused, why)
        }
        (Some(one), 0) => Ok(one.approval_id.clone()),
        (Some(_), more) => {
            let why = format!(
                "{} requests begin with {id}: say more digits; see `postern-admin pending`",
                more + 1
            );
            told(Exit::Usage, why)
        }
    }
}

/// The prefix of an id that people see: at least [`SHORT`] digits, and unique among `all`.
pub(super) fn short<'a>(id: &'a str, all: &[Approval]) -> &'a str {
    let is_unique = |len: &usize| {
        let others = all.iter().filter(|other| other.approval_id != id);
        id.get(..*len)
            .is_some_and(|start| !others.into_iter().any(|other| other.approval_id.starts_with(start)))
    };
    let len = (SHORT..id.len()).find(is_unique).unwrap_or(id.len());
    id.get(..len).unwrap_or(id)
}

/// `42s`, `12m`, `3h05m`, `2d`.
fn span(seconds: u64) -> String {
    match seconds {
        0..=99 => format!("{seconds}s"),
        100..=5_999 => format!("{}m", seconds / 60),
        6_000..=172_799 => format!("{}h{:02}m", seconds / 3_600, seconds / 60 % 60),
        _ => format!("{}d", seconds / 86_400),
    }
}

pub(super) fn as_json(approval: &Approval) -> Value {
    json!({
        "approval_id": approval.approval_id, "client": approval.client, "uid": approval.uid,
        "request_id": approval.request_id, "task": approval.task, "claimed_uid": approval.claimed_uid,
        "asked_by": approval.asked_by, "excludes_asker": approval.excludes_asker,
        "verb": approval.verb, "target": approval.target, "rule": approval.rule, "risk_score": approval.risk_score,
        "capabilities": approval.capabilities, "since_unix_s": approval.since_unix_s,
        "expires_unix_s": approval.expires_unix_s, "approvers": approval.approvers, "approved_by": approval.approved_by,
    })
}

/// `pending`.
///
/// # Errors
/// The recorder does not answer, or the result cannot be written.
pub fn pending(
    host: &Host,
    now_unix_s: u64,
    screen: Screen,
    format: Format,
    io: &mut Io<'_>,
) -> CommandResult {
    let OperatorPending { approvals: mut waiting, unkept: changes } = listed(host)?;
    for approval in waiting.iter_mut().filter(|approval| approval.verb == VerbId::CommandRun.name()) {
        // The values are in the order alone. A request that was decided meanwhile keeps the command's name.
        if let Ok(shown) = WaitingRequest::fetch(host, &approval.approval_id) {
            approval.target = shown.approval.target;
        }
    }
    if format == Format::Json {
        let approvals: Vec<Value> = waiting.iter().map(as_json).collect();
        let unkept = changes.iter().map(|change| {
            json!({
                "request_id": change.request_id, "uid": change.uid, "client": change.client, "verb": change.verb,
                "target": change.target, "keep_until_unix_s": change.keep_until_unix_s,
                "not_taken_back": change.not_taken_back, "loaded_by": change.loaded_by,
            })
        });
        let unkept = unkept.collect::<Vec<_>>();
        let all = json!({ "v": 1, "pending": approvals, "unkept": unkept });
        writeln!(io.out, "{}", escape_json(&all.to_string()))?;
        return Ok(Exit::Done);
    }
    if waiting.is_empty() {
        writeln!(io.out, "nothing waits for approval")?;
        return unkept(&changes, now_unix_s, screen, io);
    }
    let head =
        ["ID", "CLIENT", "VERB", "RULE", "RISK", "WAITS", "EXPIRES", "AGREED", "TARGET"].map(str::to_owned);
    let rows = waiting.iter().map(|a| {
        [
            short(&a.approval_id, &waiting).to_owned(),
            a.client.clone(),
            a.verb.clone(),
            a.rule.clone(),
            a.risk_score.to_string(),
            span(now_unix_s.saturating_sub(a.since_unix_s)),
            format!("in {}", span(a.expires_unix_s.saturating_sub(now_unix_s))),
            format!("{}/{}", a.approved_by.len(), a.approvers),
            a.target.clone(),
        ]
        .map(|cell| inline(&cell))
    });
    let rows: Vec<_> = std::iter::once(head).chain(rows).collect();
    for row in &rows {
        let mut line = String::new();
        for (column, cell) in row.iter().enumerate() {
            let width =
                rows.iter().filter_map(|row| row.get(column)).map(String::len).max().unwrap_or_default();
            let _ = write!(line, "{cell:<width$}  ");
        }
        writeln!(io.out, "{}", cut(line.trim_end().to_owned(), screen))?;
    }
    unkept(&changes, now_unix_s, screen, io)
}

/// `show ID`.
///
/// # Errors
/// The recorder does not answer or knows no such request, or the result cannot be written.
pub fn show(host: &Host, id: &str, screen: Screen, format: Format, io: &mut Io<'_>) -> CommandResult {
    let shown = WaitingRequest::fetch(host, &resolve(host, id)?)?;
    if format == Format::Json {
        let mut result =
            json!({ "v": 1, "approval": as_json(&shown.approval), "sha256": shown.digest.to_string() });
        if let Some(about) = &shown.about {
            result["about"] = about.as_str().into();
        }
        // JSON holds no bytes that are no UTF-8; the text must be exact.
        result["text"] = std::str::from_utf8(&shown.text).ok().into();
        if result["text"].is_null() {
            let digits = shown.text.iter().fold(String::new(), |mut out, byte| {
                let _ = write!(out, "{byte:02x}");
                out
            });
            result["text_hex"] = digits.into();
        }
        writeln!(io.out, "{}", escape_json(&result.to_string()))?;
        return Ok(Exit::Done);
    }
    write!(io.out, "{}{}", shown.rendered(screen), field("sha256", &shown.digest.to_string(), screen))?;
    if let Some(why) = too_long(std::slice::from_ref(&shown)) {
        writeln!(io.err, "{why}")?;
    }
    Ok(Exit::Done)
}
