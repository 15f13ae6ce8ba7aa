//! Operators' undo: newest first, up to the first that fails. Root issued each inverse and checks that the object is
//! still as the effect left it.

use crate::claims;
use crate::execute;
use crate::host::random_id;
use crate::log::{Payer, Record};
use crate::requests::{Taken, begun, is_done};
use crate::state::State;
use crate::work::{Id, Work};
use postern_peers::Peer;
use postern_policy::types::RequestId;
use postern_policy::{Code, Denied};
use postern_proto::link::order_id;
use postern_proto::root::v1::{Claim, Inverse, Order, RequestState};
use postern_proto::v1::{
    Decision, Meta, Mode, OperatorUndoRequest, OperatorUndone, RequestUndoRequest, Status,
};
use postern_record::Json;
use prost::Message;

/// The verb of an undo.
const VERB: &str = "request.undo";
/// How long an undo waits for its turn, in milliseconds.
const WAIT_MS: u64 = 60_000;

/// Undoes the named requests, and reports each; the first that fails is the last.
///
/// # Errors
/// None or more than one of request, task and time is given.
pub fn run(
    state: &State,
    peer: Peer,
    request: &OperatorUndoRequest,
    mut tell: impl FnMut(&OperatorUndone) -> bool,
) -> Result<(), Denied> {
    for (undone, was_undone) in select(state, request)? {
        let result = if was_undone || undone.inverse.is_empty() {
            Err(Denied::new(Code::UndoGone, "it was undone already, or nothing is kept to undo it"))
        } else if request.dry_run {
            Ok(())
        } else if let Some(later) = state.requests.later(&undone) {
            let why = format!("request {later} changed the same later; undo that one first");
            Err(Denied::new(Code::UndoConflict, why))
        } else {
            take_back(state, peer, &undone, "")
        };
        let is_last = result.is_err();
        let denied = result.err().map(|denied| (denied.code.as_str().to_owned(), denied.message));
        let (code, message) = denied.unwrap_or_default();
        let RequestState { request_id, uid, verb, target, inverse, .. } = undone;
        let inverse = if request.dry_run { inverse } else { Vec::new() };
        if !tell(&OperatorUndone { request_id, uid, verb, target, code, message, inverse }) || is_last {
            break;
        }
    }
    Ok(())
}

/// Returns the requests that are meant, newest first, and whether each was undone. A task or a time means those that
/// changed something, and no undos.
fn select(state: &State, request: &OperatorUndoRequest) -> Result<Vec<(RequestState, bool)>, Denied> {
    let (id, task, since) = (&request.request_id, &request.task, request.since_unix_s);
    let changed = |one: &RequestState| {
        one.verb != VERB && !one.inverse.is_empty() && one.completed.as_ref().is_some_and(is_done)
    };
    let named = |one: &RequestState| one.request_id.starts_with(id.as_str());
    let found = match (id.is_empty(), task.is_empty(), since) {
        (false, true, 0) => state.requests.ended(named),
        (true, false, 0) => state.requests.ended(|one| one.task == *task && changed(one)),
        (true, true, 1..) => state.requests.ended(|one| begun(one).as_secs() >= since && changed(one)),
        _ => return Err(Denied::new(Code::InvalidArgument, "name one of a request, a task or a time")),
    };
    let found = found.into_iter().filter(|(_, undone)| !undone || !id.is_empty()).collect::<Vec<_>>();
    if !id.is_empty() && found.len() > 1 {
        let why = "the id of more than one request begins so; give more of it";
        return Err(Denied::new(Code::InvalidArgument, why));
    }
    if found.is_empty() {
        return Err(Denied::new(
            Code::UnknownRequest,
            "there is nothing of this to undo in the last 24 hours",
        ));
    }
    Ok(found)
}

/// Sends the inverse in an order that the recorder makes, also while paused. The undo has an id and can be undone too, unless
/// the change had to be kept.
///
/// # Errors
/// It was not taken back.
pub fn take_back(state: &State, peer: Peer, undone: &RequestState, reason: &str) -> Result<(), Denied> {
    let _freed = state.reserve.free();
    let gone = || Denied::new(Code::UndoGone, "what is kept to undo it cannot be read");
    let inverse = Inverse::decode(undone.inverse.as_slice()).map_err(|_| gone())?;
    let policy = state.policy()?.digest();
    let now = state.host.audit.unix();
    let request_id = RequestId::made(now, &random_id()?)?.to_string();
    let meta = Meta { request_id: request_id.clone(), mode: Mode::Execute.into(), ..Meta::default() };
    let of = undone.request_id.clone();
    let claim = Claim {
        family: inverse.family.clone(),
        uid: peer.uid,
        gid: peer.gid,
        pid: peer.pid,
        request_id: request_id.clone(),
        task: undone.task.clone(),
        verb: VERB.to_owned(),
        target: undone.target.clone(),
        args_json: Json::new()
            .text("of", &of)
            .number("uid", undone.uid)
            .text("verb", &undone.verb)
            .to_string(),
        wait_ms: WAIT_MS,
        policy: policy.to_string(),
        undo_of: of.clone(),
        reason: reason.to_owned(),
        ..Claim::default()
    };
    let order = Order {
        order_id: order_id(peer.uid, &request_id).to_vec(),
        uid: peer.uid,
        verb: VERB.to_owned(),
        body: RequestUndoRequest { meta: Some(meta), of }.encode_to_vec(),
        decision: Decision::Allow.into(),
        policy_digest: policy.as_bytes().to_vec(),
        inverse: Some(inverse),
        ..Order::default()
    };
    let request = RequestState {
        objects: undone.objects.clone(),
        by_operator: true,
        undoes_uid: undone.uid,
        ..claims::state(&claim, Vec::new())
    };
    let record = Record { origin: Payer::Recorder, ..claims::record(claim).ok_or_else(gone)? };
    let mut work = Work::new(record, request, order.encode_to_vec());
    work.is_take_back = !reason.is_empty();
    state.requests.take(work.state.clone(), &work.subscribers, now).map_err(|taken| match taken {
        Taken::Full(denied) => denied,
        Taken::Known(_) | Taken::Running(_) => Denied::new(Code::Busy, "this id is taken; try again"),
    })?;
    work.id = Id::Taken;
    match execute::execute(state, work, || true)? {
        Some(done) if matches!(done.status(), Status::Done | Status::Unchanged) => Ok(()),
        Some(done) => {
            Err(Denied::new(Code::from_name(&done.code).unwrap_or(Code::Interrupted), done.message))
        }
        None => Err(Denied::new(Code::Interrupted, "the recorder stops; the outcome is recorded later")),
    }
}
