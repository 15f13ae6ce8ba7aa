//! The broker's claims and root's statements, as members of records. Neither can end a line or forge a member.

use crate::log::{Asker, Payer, Record, size_and_digest};
use postern_peers::Peer;
use postern_policy::types::{Digest, RequestId, hex};
use postern_policy::{Code, Denied};
use postern_proto::root::v1::{Claim, Outcome, RequestState};
use postern_proto::v1::Completed;
use postern_record::{Json, rfc3339};
use prost::Message;
use std::time::Duration;

/// Most bytes of a text, and of the texts that hold lists.
const TEXT_MAX: usize = 500;
const LONG_MAX: usize = 16 * 1024;
/// Most objects of one effect.
const OBJECTS_MAX: usize = 1024;

/// Whether a text is bounded and cannot end a line.
fn is_text(text: &str, most: usize) -> bool {
    text.len() <= most && !text.chars().any(char::is_control)
}

/// Checks the words of an operator.
///
/// # Errors
/// They are more than 500 bytes, or hold a control character.
pub fn check_reason(text: &str) -> Result<(), Denied> {
    let why = "reason: must be at most 500 bytes without control characters";
    if is_text(text, TEXT_MAX) { Ok(()) } else { Err(Denied::new(Code::InvalidArgument, why)) }
}

/// Returns the record that a claim makes; none if the claim is malformed.
pub fn record(claim: Claim) -> Option<Record> {
    let short = [
        &claim.client,
        &claim.trace_id,
        &claim.task,
        &claim.verb,
        &claim.rule,
        &claim.decision,
        &claim.policy,
        &claim.code,
        &claim.reason,
        &claim.status,
        &claim.missing,
    ];
    let is_id = |id: &str| id.is_empty() || RequestId::new(id).is_ok();
    let is_bounded = short.into_iter().chain(&claim.capabilities).all(|text| is_text(text, TEXT_MAX))
        && [&claim.target, &claim.detail].into_iter().all(|text| is_text(text, LONG_MAX))
        && [&claim.objects, &claim.touches, &claim.loaded_by, &claim.capabilities]
            .iter()
            .all(|all| all.len() <= OBJECTS_MAX);
    if !is_bounded || !is_id(&claim.request_id) || !is_id(&claim.undo_of) {
        return None;
    }
    let object = |text: &str| if text.is_empty() { Some(Json::new()) } else { Json::parse(text) };
    let risk = Json::new().number("score", claim.risk_score);
    let risk = risk.texts("capabilities", &claim.capabilities);
    let outcome = Json::new().text("status", &claim.status).text("code", &claim.code);
    Some(Record {
        own: own(&claim)?,
        origin: Payer::Client,
        client: Some(Peer { uid: claim.uid, gid: claim.gid, pid: claim.pid }),
        args: object(&claim.args_json)?.text("reason", &claim.reason),
        risk: if claim.decision.is_empty() { Json::new() } else { risk },
        plan: object(&claim.plan_json)?,
        asked_by: None,
        approval: Json::new(),
        outcome: outcome.text("detail", &claim.detail).text("missing", &claim.missing),
        duration_us: Some(claim.duration_us).filter(|duration| *duration > 0),
        undo: Json::new().text("of", &claim.undo_of),
        claim,
    })
}

/// Returns the members that only the claim's event has.
fn own(claim: &Claim) -> Option<Json> {
    let time = |unix_us: u64| rfc3339(Duration::from_micros(unix_us));
    match claim.event.as_str() {
        "malformed" => Some(size_and_digest(claim.size, Digest::from_bytes(&claim.sha256)?)),
        "suppressed" => {
            let json = Json::new().number("uid", claim.uid).number("count", claim.count);
            Some(json.text("first", &time(claim.first_unix_us)).text("last", &time(claim.last_unix_us)))
        }
        _ => Some(Json::new()),
    }
}

/// Returns the state of the request that the recorder needs after a restart.
pub fn state(claim: &Claim, body_sha256: Vec<u8>) -> RequestState {
    // Equal objects stay equal, and a long path takes no more space than a short one.
    let short = |object: &String| Digest::of(&[object.as_bytes()]).to_string().chars().take(16).collect();
    RequestState {
        uid: claim.uid,
        request_id: claim.request_id.clone(),
        body_sha256,
        family: claim.family.clone(),
        verb: claim.verb.clone(),
        target: claim.target.clone(),
        objects: claim.objects.iter().map(short).collect(),
        client: claim.client.clone(),
        gid: claim.gid,
        pid: claim.pid,
        task: claim.task.clone(),
        rule: claim.rule.clone(),
        decision: claim.decision.clone(),
        undoes_uid: if claim.undo_of.is_empty() { 0 } else { claim.uid },
        undoes: claim.undo_of.clone(),
        keep_within_s: claim.keep_within_s,
        touches: claim.touches.clone(),
        loaded_by: claim.loaded_by.clone(),
        claimed_uid: claim.claimed_uid,
        ..RequestState::default()
    }
}

/// Returns the record of a request that an earlier recorder began.
pub fn record_of(state: &RequestState) -> Record {
    let claim = Claim {
        request_id: state.request_id.clone(),
        task: state.task.clone(),
        client: state.client.clone(),
        verb: state.verb.clone(),
        rule: state.rule.clone(),
        decision: state.decision.clone(),
        claimed_uid: state.claimed_uid,
        ..Claim::default()
    };
    // No session outlives the recorder that it was opened at.
    let asker = Asker { uid: state.asked_by, session: state.session.clone(), open: false };
    Record {
        asked_by: Some(asker).filter(|asker| asker.uid != 0),
        origin: if state.by_operator { Payer::Recorder } else { Payer::Client },
        claim,
        client: Some(Peer { uid: state.uid, gid: state.gid, pid: state.pid }),
        undo: Json::new().text("of", &state.undoes),
        ..Record::default()
    }
}

/// Returns the member that [`crate::log::AuditLog::states`] reads.
pub fn with_state(own: Json, state: &RequestState) -> Json {
    own.text("state", &hex(&state.encode_to_vec()))
}

/// Replaces the broker's claim in a record by root's statement.
pub fn put_statement(record: &mut Record, outcome: &Outcome) {
    let decision = outcome.decision().as_str_name().trim_start_matches("DECISION_").to_ascii_lowercase();
    record.claim.verb.clone_from(&outcome.verb);
    record.claim.rule.clone_from(&outcome.rule);
    record.claim.decision = if decision == "unspecified" { String::new() } else { decision };
    if let Some(client) = record.client.as_mut().filter(|client| client.uid != outcome.uid) {
        *client = Peer { uid: outcome.uid, gid: 0, pid: 0 };
    }
}

/// Returns an outcome as records hold it.
pub fn outcome(completed: &Completed, objects: &[String], detail: &str) -> Json {
    let status = completed.status().as_str_name().trim_start_matches("STATUS_").to_ascii_lowercase();
    let json = Json::new().text("status", &status).text("code", &completed.code).text("detail", detail);
    let json = json.texts("objects", objects);
    let packages = completed.packages.iter().map(|package| format!("{} {}", package.name, package.installed));
    let files = completed.files.iter().map(|file| {
        let json = Json::new().text("path", &file.path).number("size", file.size);
        json.text("sha256", &file.sha256).text("mode", &file.mode)
    });
    let json = json.objects("files", files).texts("packages", packages);
    let unit = completed.unit.as_ref().map_or_else(Json::new, |unit| {
        Json::new().text("id", &unit.id).text("active", &unit.active).text("enabled", &unit.enabled)
    });
    let exit = completed.exit.as_ref().map_or_else(Json::new, |exit| {
        Json::new().number("code", exit.code).number("signal", exit.signal).flag("truncated", exit.truncated)
    });
    json.object("unit", &unit).object("exit", &exit)
}
