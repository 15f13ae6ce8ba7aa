//! operator.sock: what people who watch over this host may ask. No gateway, no gRPC, the same frames.

use crate::audit::{Event, Json, Payer, Record};
use crate::connection::Service;
use crate::dispatch::Refuse;
use crate::error::Fault;
use crate::helper::Helper;
use crate::host::Peer;
use crate::meta::strict;
use crate::places::Places;
use crate::reply::{Grpc, Sink};
use crate::startup::spawn;
use crate::sys::locked;
use crate::sys::store::{self, POLICY_MAX};
use postern_policy::types::Reason;
use postern_policy::{Code, Denied, Policy};
use postern_proto::v1 as wire;
use prost::Message;
use std::sync::Arc;
use std::sync::atomic::Ordering;

/// One connection of an operator's.
#[derive(Debug)]
pub struct Operator {
    /// What all connections share.
    pub helper: Arc<Helper>,
    /// Who, as the kernel says.
    pub peer: Peer,
    /// The connections of clients, for status.
    pub clients: Arc<Places>,
}

/// One call: decodes the body, and answers or keeps the stream; none if the body is malformed.
type Call = fn(&Operator, &[u8], &Sink) -> Option<()>;

/// The table of calls: nothing else is reachable.
pub const CALLS: &[(&str, Call)] = &[
    ("Pending", |operator, body, sink| {
        answer(body, sink, |_: wire::OperatorPendingRequest| {
            Ok(wire::OperatorPending { approvals: operator.helper.approvals.list() })
        })
    }),
    ("Show", |operator, body, sink| {
        answer(body, sink, |show: wire::OperatorShowRequest| {
            operator.helper.approvals.show(&show.approval_id)
        })
    }),
    ("Decide", |operator, body, sink| {
        answer(body, sink, |decide: wire::OperatorDecideRequest| {
            let missing = operator.helper.approvals.decide(&operator.helper, operator.peer, &decide)?;
            Ok(wire::OperatorDecided { missing })
        })
    }),
    ("Watch", |operator, body, sink| {
        strict::<wire::OperatorWatchRequest>(body).map(|_| operator.helper.approvals.watch(sink.clone()))
    }),
    ("Undo", |operator, body, sink| strict(body).map(|undo| operator.undo(undo, sink.clone()))),
    ("Pause", |operator, body, sink| answer(body, sink, |pause| operator.pause(&pause))),
    ("Resume", |operator, body, sink| answer(body, sink, |_: wire::OperatorResumeRequest| operator.resume())),
    ("Status", |operator, body, sink| {
        answer(body, sink, |_: wire::OperatorStatusRequest| Ok(operator.status()))
    }),
    ("Reload", |operator, body, sink| answer(body, sink, |_: wire::OperatorReloadRequest| operator.reload())),
];

impl Service for Operator {
    fn request(&mut self, method: String, body: Vec<u8>, sink: Sink) -> Result<(), Refuse> {
        // Nobody that the policy calls a client can be an operator: asked anew each time, for the policy may change.
        // By the account files alone: newgrp(1) takes another group for the connection.
        let who = self.helper.host.identity(self.peer.uid);
        let is_nobody = |policy: &Policy| who.is_ok_and(|who| policy.clients_of(&who).is_empty());
        let is_client = self.helper.policy().is_some_and(|policy| !is_nobody(&policy));
        if is_client {
            self.helper.note_refused(self.peer, &method, Code::Denied);
            sink.end(Grpc::PermissionDenied, "denied: a client of the policy can be no operator");
            return Ok(());
        }
        if self.helper.stopping.load(Ordering::Relaxed) {
            sink.end(Grpc::Unavailable, "the helper is about to end; ask again");
            return Ok(());
        }
        let call =
            method.strip_prefix("Operator/").and_then(|name| CALLS.iter().find(|(call, _)| *call == name));
        let Some((_, run)) = call else {
            self.helper.note_refused(self.peer, &method, Code::Unsupported);
            sink.end(Grpc::Unimplemented, "unsupported: this helper has no such call");
            return Ok(());
        };
        run(self, &body, &sink).ok_or_else(|| {
            self.helper.note_malformed(self.peer, &method, &body);
            sink.end(Grpc::InvalidArgument, "malformed request");
            Refuse
        })
    }

    fn is_there(&self) -> bool {
        true
    }

    fn violated(&self, bytes: &[u8]) {
        self.helper.note_malformed(self.peer, "Operator", bytes);
    }
}

impl Operator {
    fn status(&self) -> wire::OperatorStatus {
        let helper = &self.helper;
        let policy = helper.policy();
        let count = |count: usize| u32::try_from(count).unwrap_or(u32::MAX);
        let clients =
            policy.iter().flat_map(|policy| policy.clients()).map(|client| client.name.clone()).collect();
        wire::OperatorStatus {
            version: env!("CARGO_PKG_VERSION").to_owned(),
            started_unix_s: helper.started.as_secs(),
            policy_digest: policy.as_ref().map(|policy| policy.digest().to_string()).unwrap_or_default(),
            rules: policy.as_ref().map_or(0, |policy| count(policy.rules().len())),
            clients,
            connections: count(self.clients.count()),
            running: count(helper.running.count()),
            audit_seq: helper.audit.seq(),
            audit_fault: helper.audit.sync().err().map(|fault| fault.to_string()).unwrap_or_default(),
            notes: [helper.notes.clone(), helper.audit.notes()].concat(),
            paused: helper.paused().unwrap_or_default(),
            pending: count(helper.approvals.list().len()),
        }
    }

    /// Takes back, on a thread of its own.
    fn undo(&self, undo: wire::OperatorUndoRequest, sink: Sink) {
        let (helper, peer, ended) = (Arc::clone(&self.helper), self.peer, sink.clone());
        if spawn("undo", move || crate::undo::operator::run(&helper, peer, &undo, &sink)).is_err() {
            ended.end(Grpc::Unavailable, "no thread can be had; ask again later");
        }
    }

    /// Nothing new begins. What has begun goes on, and is named.
    fn pause(&self, pause: &wire::OperatorPauseRequest) -> Result<wire::OperatorPaused, Denied> {
        let reason = if pause.reason.is_empty() { "no reason given" } else { &pause.reason };
        let reason = Reason::new(reason)?;
        let _room = self.helper.reserve.give();
        // Whoever begins holds this: after it, everything that runs is in the list.
        let _one_at_a_time = locked(&self.helper.begins);
        let written = self.helper.pause(Some(reason.as_str().to_owned()));
        let noted = self.note(Event::Paused, reason.as_str());
        // It holds whether or not disk and log can take it; the operator is told if they can't.
        written.and(noted)?;
        Ok(wire::OperatorPaused { running: self.helper.requests.running() })
    }

    fn resume(&self) -> Result<wire::OperatorResumed, Denied> {
        self.note(Event::Resumed, "")?;
        self.helper.pause(None)?;
        Ok(wire::OperatorResumed {})
    }

    fn note(&self, event: Event, detail: &str) -> Result<(), Fault> {
        let outcome = Json::new().text("detail", detail);
        let record = Record { client: Some(self.peer), outcome, origin: Payer::Helper, ..Record::default() };
        self.helper.audit.durable(event, &record).map(drop)
    }

    /// Root alone: takes the accepted policy anew, all or nothing.
    fn reload(&self) -> Result<wire::OperatorReloaded, Denied> {
        if self.peer.uid != self.helper.host.owner_uid {
            self.helper.note_refused(self.peer, "Operator/Reload", Code::Denied);
            return Err(Denied::new(Code::Denied, "only root may reload the policy"));
        }
        self.take_policy()
            .map_err(|fault| Denied::new(fault.code(), format!("the policy stays as it was: {fault}")))
    }

    fn take_policy(&self) -> Result<wire::OperatorReloaded, Fault> {
        let helper = &self.helper;
        let bytes = store::read(&helper.host.paths.state.join("policy/accepted.pb"), POLICY_MAX)?;
        let bytes = bytes.ok_or(Fault::Corrupt { what: "the accepted policy (it is not there)" })?;
        let policy = Policy::load(&bytes).map_err(|what| Fault::Program { what })?;
        let reloaded = wire::OperatorReloaded {
            policy_digest: policy.digest().to_string(),
            rules: u32::try_from(policy.rules().len()).unwrap_or(u32::MAX),
        };
        let record = Record {
            client: Some(self.peer),
            policy: reloaded.policy_digest.clone(),
            origin: Payer::Helper,
            ..Record::default()
        };
        helper.apply(policy, &record)?;
        Ok(reloaded)
    }
}

/// Answers one call; none if the request is malformed.
fn answer<Q: Message + Default, R: Message>(
    body: &[u8],
    sink: &Sink,
    call: impl FnOnce(Q) -> Result<R, Denied>,
) -> Option<()> {
    match call(strict(body)?) {
        Ok(reply) => {
            sink.message(&reply);
            sink.end(Grpc::Ok, "");
        }
        Err(refusal) => refuse(sink, &refusal),
    }
    Some(())
}

/// Ends a call that comes to nothing: the stable code, then words.
pub fn refuse(sink: &Sink, refusal: &Denied) {
    let is_denied = refusal.code == Code::Denied;
    let code = if is_denied { Grpc::PermissionDenied } else { Grpc::FailedPrecondition };
    sink.end(code, &format!("{}: {}", refusal.code.as_str(), refusal.message));
}
