//! What an operator takes back: newest first, up to the first that changed since.

use super::{Inverse, has_changed};
use crate::audit::{Json, Payer, Record, Ticket};
use crate::context::Context;
use crate::error::Stop;
use crate::helper::Helper;
use crate::host::Peer;
use crate::leave::Leave;
use crate::meta::{Meta, Mode};
use crate::operator;
use crate::reply::{Grpc, Sink, Watchers};
use crate::sys::store;
use postern_policy::types::{Digest, Reason, RequestId, TaskId, TraceId};
use postern_policy::{Code, Denied, Grant, VerbId};
use postern_proto::root::v1::RequestRecord;
use postern_proto::v1 as wire;
use std::sync::Arc;
use std::time::{Duration, Instant};

/// Takes back what the request names, and tells of each; the first that fails is the last.
pub fn run(helper: &Arc<Helper>, peer: Peer, request: &wire::OperatorUndoRequest, sink: &Sink) {
    let records = match select(helper, request) {
        Ok(records) => records,
        Err(refusal) => return operator::refuse(sink, &refusal),
    };
    for record in records {
        let result = if request.dry_run {
            Inverse::of(helper, &record).map(drop)
        } else {
            take_back(helper, peer, &record)
        };
        let (code, message) = match result {
            Ok(()) => (String::new(), String::new()),
            Err(stop) => {
                let (refusal, detail) = stop.tell();
                (refusal.code.as_str().to_owned(), detail)
            }
        };
        let is_done = code.is_empty();
        let (request_id, uid, verb) = (record.request_id.clone(), record.uid, record.verb.clone());
        sink.message_in_time(&wire::OperatorUndone {
            request_id,
            uid,
            verb,
            target: target(&record),
            code,
            message,
            inverse: Vec::new(),
        });
        if !is_done || !sink.is_open() {
            break;
        }
    }
    sink.end(Grpc::Ok, "");
}

/// The requests that are meant, newest first. Those that changed nothing are left out, and undos with them, unless one
/// is named.
fn select(helper: &Helper, request: &wire::OperatorUndoRequest) -> Result<Vec<RequestRecord>, Denied> {
    let (id, task, since) = (&request.request_id, &request.task, request.since_unix_s);
    let since_us = Duration::from_secs(since).as_micros();
    let changed = |record: &RequestRecord| has_changed(record) && record.verb != VerbId::RequestUndo.name();
    let records = match (id.is_empty(), task.is_empty(), since) {
        (false, true, 0) => helper.requests.ended(|record| record.request_id.starts_with(id.as_str())),
        (true, false, 0) => helper.requests.ended(|record| record.task == *task && changed(record)),
        (true, true, 1..) => {
            helper.requests.ended(|record| u128::from(record.begun_unix_us) >= since_us && changed(record))
        }
        _ => {
            return Err(Denied::new(Code::InvalidArgument, "name a request, a task or a time, and one only"));
        }
    };
    if !id.is_empty() && records.len() > 1 {
        return Err(Denied::new(
            Code::InvalidArgument,
            "more than one request's id begins so; give more of it",
        ));
    }
    if records.is_empty() {
        return Err(Denied::new(
            Code::UnknownRequest,
            "there is nothing to undo of this in the last 24 hours",
        ));
    }
    Ok(records)
}

fn target(record: &RequestRecord) -> String {
    let Some(done) = &record.completed else {
        return String::new();
    };
    let files = done.files.iter().map(|file| file.path.clone());
    let units = done.unit.iter().map(|unit| unit.id.clone());
    let command = record.command.iter().map(|call| call.name.clone());
    files
        .chain(units)
        .chain(command)
        .chain(done.packages.iter().map(|package| package.name.clone()))
        .collect::<Vec<_>>()
        .join(" ")
}

/// As a client's undo from step 5 on: planned, begun, done, ended. Also while paused.
fn take_back(helper: &Arc<Helper>, peer: Peer, record: &RequestRecord) -> Result<(), Stop> {
    let _room = helper.reserve.give();
    let inverse = Inverse::of(helper, record)?;
    let mut cx = Context { required_grants: inverse.required_grants()?, ..context(helper, peer, record)? };
    let by = Grant::of_operator();
    let plan = inverse.plan(&cx, &by)?;
    helper.requests.take(cx.entry(VerbId::RequestUndo, Vec::new()), &cx.watchers)?;
    let ticket = helper.audit.begin(&cx.record).map_err(|fault| {
        let released = helper.requests.release(peer.uid, cx.meta.request_id.as_str());
        Stop::from(released.err().unwrap_or(fault))
    })?;
    let result = inverse.act(&cx, &by, record, &plan, &ticket);
    let refusal = result.as_ref().err().map(|stop| (stop.told().code, stop.detail()));
    let completed = Ticket::end(ticket, &mut cx, result)?;
    if completed.status() != wire::Status::Failed {
        return Ok(());
    }
    let (code, detail) = refusal.unwrap_or((completed.code, completed.message));
    Err(Denied::new(Code::from_name(&code).unwrap_or(Code::Interrupted), detail).into())
}

/// An operator's undo has an id of its own, by which it can be undone.
fn context(helper: &Arc<Helper>, peer: Peer, record: &RequestRecord) -> Result<Context, Stop> {
    let now = helper.host.unix();
    let request_id = RequestId::made(now, &store::random_id()?)?;
    let args =
        Json::new().text("of", &record.request_id).number("uid", record.uid).text("verb", &record.verb);
    let digest = Digest::of(&[b"undo of an operator\n", request_id.as_str().as_bytes()]);
    let policy = helper.policy().unwrap_or_default();
    let entry = Record {
        request_id: request_id.to_string(),
        task: record.task.clone(),
        client: Some(peer),
        verb: VerbId::RequestUndo.name().to_owned(),
        args,
        origin: Payer::Helper,
        ..Record::default()
    };
    let meta = Meta {
        request_id,
        mode: Mode::Execute,
        reason: Reason::default(),
        trace_id: TraceId::default(),
        task: TaskId::default(),
        wait: None,
        claimed_uid: 0,
    };
    Ok(Context {
        helper: Arc::clone(helper),
        peer,
        who: helper.host.identity(peer.uid)?,
        meta,
        policy,
        watchers: Arc::new(Watchers::default()),
        record: entry,
        required_grants: Vec::new(),
        digest,
        canonical: digest,
        has_id: false,
        started: Instant::now(),
    })
}
