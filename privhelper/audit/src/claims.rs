//! What the broker claims and what root states, as members of records. Neither can end a line or forge a member.

use crate::log::{Payer, Record, size_and_digest};
use crate::sys::sockets::Peer;
use postern_policy::types::{Digest, RequestId};
use postern_proto::root::v1::{Claim, Outcome, RequestState};
use postern_proto::v1::Completed;
use postern_record::{Json, rfc3339};
use prost::Message;
use std::time::Duration;

/// Most bytes of a text, and of the texts that hold lists.
const TEXT_MAX: usize = 500;
const LONG_MAX: usize = 16 * 1024;
/// Most objects that one effect takes its turn by.
const OBJECTS_MAX: usize = 1024;

/// Returns the record that a claim makes; none if the claim is malformed.
pub fn record(claim: &Claim) -> Option<Record> {
    let is_text = |text: &String, most: usize| text.len() <= most && !text.chars().any(char::is_control);
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
        && claim.objects.len() <= OBJECTS_MAX
        && claim.capabilities.len() <= OBJECTS_MAX;
    if !is_bounded || !is_id(&claim.request_id) || !is_id(&claim.undo_of) {
        return None;
    }
    let object = |text: &str| if text.is_empty() { Some(Json::new()) } else { Json::parse(text) };
    let risk = Json::new().number("score", claim.risk_score);
    let risk = risk.texts("capabilities", claim.capabilities.iter().map(String::as_str));
    let outcome = Json::new().text("status", &claim.status).text("code", &claim.code);
    Some(Record {
        own: own(claim)?,
        origin: Payer::Client,
        request_id: claim.request_id.clone(),
        trace_id: claim.trace_id.clone(),
        task: claim.task.clone(),
        client_name: claim.client.clone(),
        client: Some(Peer { uid: claim.uid, gid: claim.gid, pid: claim.pid }),
        claimed_uid: claim.claimed_uid,
        verb: claim.verb.clone(),
        args: object(&claim.args_json)?.text("reason", &claim.reason),
        rule: claim.rule.clone(),
        decision: claim.decision.clone(),
        risk: if claim.decision.is_empty() { Json::new() } else { risk },
        policy: claim.policy.clone(),
        plan: object(&claim.plan_json)?,
        approval: Json::new(),
        outcome: outcome.text("detail", &claim.detail).text("missing", &claim.missing),
        duration_us: Some(claim.duration_us).filter(|duration| *duration > 0),
        undo: Json::new().text("of", &claim.undo_of),
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

/// Returns what must be known of the request again after a restart.
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
        ..RequestState::default()
    }
}

/// Returns the record of a request that an earlier recorder began.
pub fn record_of(state: &RequestState) -> Record {
    Record {
        origin: if state.by_operator { Payer::Recorder } else { Payer::Client },
        request_id: state.request_id.clone(),
        task: state.task.clone(),
        client_name: state.client.clone(),
        client: Some(Peer { uid: state.uid, gid: state.gid, pid: state.pid }),
        verb: state.verb.clone(),
        rule: state.rule.clone(),
        decision: state.decision.clone(),
        undo: Json::new().text("of", &state.undoes),
        ..Record::default()
    }
}

/// Returns the member that [`crate::log::AuditLog::states`] reads.
pub fn with_state(own: Json, state: &RequestState) -> Json {
    own.text("state", &postern_seal::hex(&state.encode_to_vec()))
}

/// Makes a record say what root states instead of what the broker claimed.
pub fn put_statement(record: &mut Record, outcome: &Outcome) {
    let decision = outcome.decision().as_str_name().trim_start_matches("DECISION_").to_ascii_lowercase();
    record.verb.clone_from(&outcome.verb);
    record.rule.clone_from(&outcome.rule);
    record.decision = if decision == "unspecified" { String::new() } else { decision };
    if let Some(client) = record.client.as_mut().filter(|client| client.uid != outcome.uid) {
        *client = Peer { uid: outcome.uid, gid: 0, pid: 0 };
    }
}

/// Returns an outcome as records hold it.
pub fn outcome(completed: &Completed, objects: &[String], detail: &str) -> Json {
    let status = completed.status().as_str_name().trim_start_matches("STATUS_").to_ascii_lowercase();
    let json = Json::new().text("status", &status).text("code", &completed.code).text("detail", detail);
    let json = json.texts("objects", objects.iter().map(String::as_str));
    let packages = completed.packages.iter().map(|package| format!("{} {}", package.name, package.installed));
    let packages = packages.collect::<Vec<_>>();
    let files = completed.files.iter().map(|file| {
        let json = Json::new().text("path", &file.path).number("size", file.size);
        json.text("sha256", &file.sha256).text("mode", &file.mode)
    });
    let json = json.objects("files", files).texts("packages", packages.iter().map(String::as_str));
    let unit = completed.unit.as_ref().map_or_else(Json::new, |unit| {
        Json::new().text("id", &unit.id).text("active", &unit.active).text("enabled", &unit.enabled)
    });
    let exit = completed.exit.as_ref().map_or_else(Json::new, |exit| {
        Json::new().number("code", exit.code).number("signal", exit.signal).flag("truncated", exit.truncated)
    });
    json.object("unit", &unit).object("exit", &exit)
}
