//! Serves operator.sock: calls of operators. A client of the accepted policy is refused.

use crate::approvals::Waiting;
use crate::claims::check_reason;
use crate::log::{Event, Payer, Record, size_and_digest};
use crate::state::State;
use crate::subscribers::LAG;
use crate::{keep, permit, undo};
use postern_peers::{Class, Peer, hung_up, locked};
use postern_policy::types::Digest;
use postern_policy::{Code, Denied};
use postern_proto::frame::{self, HEAD, Head, METHOD_MAX};
use postern_proto::link::{CONTENT_MAX, strict};
use postern_proto::root::v1::Claim;
use postern_proto::v1 as wire;
use postern_record::Json;
use prost::Message;
use std::io::{self, Read, Write};
use std::os::unix::net::UnixStream;
use std::sync::mpsc::RecvTimeoutError;
use std::time::Duration;

/// Longest wait for a request.
const REQUEST_TIME: Duration = Duration::from_secs(30);
/// Most bytes of a request.
const REQUEST_MAX: usize = 16 * 1024;
/// gRPC codes, which `postern-admin` knows already.
const OK: u8 = 0;
const INVALID_ARGUMENT: u8 = 3;
const PERMISSION_DENIED: u8 = 7;
const FAILED_PRECONDITION: u8 = 9;
const UNIMPLEMENTED: u8 = 12;
const UNAVAILABLE: u8 = 14;

/// One call of an operator.
struct Operator<'a> {
    state: &'a State,
    peer: Peer,
    stream: &'a UnixStream,
    id: u32,
}

/// Answers one call; none if the body is malformed.
type Call = fn(&Operator<'_>, &[u8]) -> Option<Result<(), Denied>>;

/// The table of calls: nothing else is reachable.
const CALLS: &[(&str, Call)] = &[
    ("Pending", |op, body| {
        strict::<wire::OperatorPendingRequest>(body)?;
        let approvals = op.state.approvals.list();
        Some(op.reply(&wire::OperatorPending { approvals, unkept: keep::listed(op.state) }))
    }),
    ("Show", |op, body| Some(op.show(&strict(body)?))),
    ("Decide", |op, body| Some(op.decide(&strict(body)?))),
    ("Watch", |op, body| strict::<wire::OperatorWatchRequest>(body).map(|_| op.watch())),
    ("Undo", |op, body| {
        let request = strict(body)?;
        Some(undo::run(op.state, op.peer, &request, |undone| op.reply(undone).is_ok()))
    }),
    ("Pause", |op, body| Some(op.pause(&strict(body)?))),
    ("Resume", |op, body| strict::<wire::OperatorResumeRequest>(body).map(|_| op.resume())),
    ("Status", |op, body| strict::<wire::OperatorStatusRequest>(body).map(|_| op.reply(&op.status()))),
    ("Apply", |op, body| Some(op.apply(&strict(body)?))),
];

/// Serves one connection of an operator to its end: one call after the other.
#[expect(clippy::needless_pass_by_value, reason = "it is closed when this returns")]
pub fn serve(state: &State, stream: UnixStream, peer: Peer) {
    let timeouts = stream.set_read_timeout(Some(REQUEST_TIME)).and(stream.set_write_timeout(Some(LAG)));
    while timeouts.is_ok() {
        let Ok(Some((id, payload))) = request(&stream) else { return };
        let operator = Operator { state, peer, stream: &stream, id };
        if !operator.answer(&payload) {
            return;
        }
    }
}

/// Reads one request: its stream and its payload.
fn request(mut stream: &UnixStream) -> io::Result<Option<(u32, Vec<u8>)>> {
    let mut head = [0; HEAD];
    stream.read_exact(&mut head)?;
    let head = Head::decode(head);
    let len = usize::try_from(head.len).unwrap_or(usize::MAX);
    if head.kind != frame::REQUEST || len > REQUEST_MAX {
        return Ok(None);
    }
    let mut payload = vec![0; len];
    stream.read_exact(&mut payload)?;
    Ok(Some((head.stream, payload)))
}

impl Operator<'_> {
    /// Answers one call. False: the connection ends.
    fn answer(&self, payload: &[u8]) -> bool {
        let (method, body) = frame::split_request(payload).unwrap_or(("", payload));
        if let Err(denied) = self.state.admit(self.peer.uid, Class::Operator) {
            return self.refuse(&denied);
        }
        // Checked at each call, since policy and groups may change.
        if self.state.is_client(self.peer.uid) {
            self.note_refused(method, Code::Denied);
            let why =
                "denied: a client of the policy cannot be an operator, nor anybody but root without a policy";
            return self.end(PERMISSION_DENIED, why);
        }
        if self.state.is_stopping() {
            return self.end(UNAVAILABLE, "the recorder is about to end; ask again");
        }
        let name = method.strip_prefix("Operator/");
        let Some((_, call)) = CALLS.iter().find(|(call, _)| Some(*call) == name) else {
            self.note_refused(method, Code::Unsupported);
            return self.end(UNIMPLEMENTED, "unsupported: this recorder has no such call");
        };
        match call(self, body) {
            Some(Ok(())) => self.end(OK, ""),
            Some(Err(denied)) => self.refuse(&denied),
            None => {
                let size = u64::try_from(body.len()).unwrap_or(u64::MAX);
                let own = size_and_digest(size, Digest::of(&[body]));
                // The connection ends either way.
                drop(self.state.log.note(Event::Malformed, &Record { own, ..self.record(method) }));
                self.end(INVALID_ARGUMENT, "malformed request");
                false
            }
        }
    }

    fn show(&self, request: &wire::OperatorShowRequest) -> Result<(), Denied> {
        let waiting = self.state.approvals.show(&request.approval_id)?;
        self.reply(&wire::OperatorShown { approval: Some(waiting.view), ..(*waiting.shown).clone() })?;
        waiting.content.iter().flat_map(|part| part.chunks(CONTENT_MAX)).try_for_each(|part| {
            self.reply(&wire::OperatorShown { content: part.to_vec(), ..wire::OperatorShown::default() })
        })
    }

    fn decide(&self, request: &wire::OperatorDecideRequest) -> Result<(), Denied> {
        check_reason(&request.reason)?;
        let state = self.state;
        let record = |one: &Waiting, approves: bool| {
            let outcome = Json::new().text("status", if approves { "approved" } else { "denied" });
            let record = self.record(&one.view.verb);
            let (request_id, rule) = (one.view.request_id.clone(), one.view.rule.clone());
            let record = Record {
                claim: Claim { request_id, rule, policy: one.policy.to_string(), ..record.claim },
                approval: permit::approval(one),
                outcome: outcome.text("detail", &request.reason),
                ..record
            };
            state.log.durable(Event::Approval, &record).map(drop).map_err(Denied::from)
        };
        let wanted = |one: &Waiting| state.still_asks(one, true);
        let missing = state.approvals.decide(self.peer.uid, request, wanted, record)?;
        self.reply(&wire::OperatorDecided { missing })
    }

    /// Streams the requests that wait, until the operator disconnects.
    fn watch(&self) -> Result<(), Denied> {
        let told = self.state.approvals.watch();
        while !self.state.is_stopping() && !hung_up(self.stream) {
            match told.recv_timeout(Duration::from_millis(500)) {
                Ok(watched) => self.reply(&watched)?,
                Err(RecvTimeoutError::Timeout) => {}
                Err(RecvTimeoutError::Disconnected) => return Err(gone()),
            }
        }
        Ok(())
    }

    /// Pauses: no new effect begins. Effects that have begun continue, and are listed.
    fn pause(&self, request: &wire::OperatorPauseRequest) -> Result<(), Denied> {
        let reason = if request.reason.is_empty() { "no reason given" } else { &request.reason };
        check_reason(reason)?;
        let _freed = self.state.reserve.free();
        // Every `begin` takes this lock: after it, all running effects are in the list.
        let begins = locked(&self.state.begins);
        let written = self.state.pause(Some(reason.to_owned()));
        let noted = self.note(Event::Paused, reason);
        let running = self.state.requests.running();
        drop(begins);
        // The pause counts even if disk or log cannot take it; the operator gets the error.
        written.map_err(Denied::from).and(noted)?;
        self.reply(&wire::OperatorPaused { running })
    }

    fn resume(&self) -> Result<(), Denied> {
        self.note(Event::Resumed, "")?;
        self.state.pause(None)?;
        self.reply(&wire::OperatorResumed {})
    }

    /// Root alone: records that another policy is about to be accepted.
    fn apply(&self, request: &wire::OperatorApplyRequest) -> Result<(), Denied> {
        if self.peer.uid != self.state.host.owner_uid {
            self.note_refused("Operator/Apply", Code::Denied);
            return Err(Denied::new(Code::Denied, "only root may apply a policy"));
        }
        let invalid = || Denied::new(Code::InvalidArgument, "policy_digest: must be 64 hex digits");
        let policy = Digest::from_hex(&request.policy_digest).ok_or_else(invalid)?.to_string();
        let mut record = self.record("");
        record.claim.policy = policy;
        self.state.log.durable(Event::PolicyApplied, &record)?;
        self.reply(&wire::OperatorApplied {})
    }

    fn status(&self) -> wire::OperatorStatus {
        let state = self.state;
        let policy = state.policy();
        let count = |count: usize| u32::try_from(count).unwrap_or(u32::MAX);
        let fault = policy.as_ref().err().map(|fault| format!("no policy is accepted: {fault}"));
        let failed = state.requests.not_taken_back().len();
        let unkept = (failed > 0).then(|| {
            format!("{failed} changes that nobody kept could not be taken back: see postern-admin pending")
        });
        let policy = policy.ok();
        let clients = policy.iter().flat_map(|policy| policy.clients());
        wire::OperatorStatus {
            version: env!("CARGO_PKG_VERSION").to_owned(),
            started_unix_s: state.started.as_secs(),
            policy_digest: policy.as_ref().map(|policy| policy.digest().to_string()).unwrap_or_default(),
            rules: policy.as_ref().map_or(0, |policy| count(policy.rules().len())),
            clients: clients.map(|client| client.name.clone()).collect(),
            running: count(state.requests.running().len()),
            audit_seq: state.log.seq(),
            audit_fault: state.log.sync().err().map(|fault| fault.to_string()).unwrap_or_default(),
            notes: fault.into_iter().chain(unkept).chain(state.log.notes()).collect(),
            paused: state.paused().unwrap_or_default(),
            pending: count(state.approvals.list().len()),
        }
    }

    /// Makes the record of an operator's action.
    fn record(&self, verb: &str) -> Record {
        let verb = verb.chars().take(METHOD_MAX).collect();
        let claim = Claim { verb, ..Claim::default() };
        Record { client: Some(self.peer), claim, origin: Payer::Recorder, ..Record::default() }
    }

    fn note(&self, event: Event, detail: &str) -> Result<(), Denied> {
        let record = Record { outcome: Json::new().text("detail", detail), ..self.record("") };
        Ok(self.state.log.durable(event, &record).map(drop)?)
    }

    fn note_refused(&self, method: &str, code: Code) {
        let outcome = Json::new().text("status", "refused").text("code", code.as_str());
        // It is refused whether or not the log can take it.
        drop(self.state.log.note(Event::Refused, &Record { outcome, ..self.record(method) }));
    }

    fn reply(&self, message: &impl Message) -> Result<(), Denied> {
        send(self.stream, self.id, frame::EVENT, &message.encode_to_vec()).map_err(|_| gone())
    }

    fn refuse(&self, denied: &Denied) -> bool {
        let code = if denied.code == Code::Denied { PERMISSION_DENIED } else { FAILED_PRECONDITION };
        self.end(code, &format!("{}: {}", denied.code.as_str(), denied.message))
    }

    fn end(&self, code: u8, text: &str) -> bool {
        send(self.stream, self.id, frame::END, &[&[code], text.as_bytes()].concat()).is_ok()
    }
}

fn gone() -> Denied {
    Denied::new(Code::Interrupted, "the operator has left")
}

fn send(mut stream: &UnixStream, id: u32, kind: u8, payload: &[u8]) -> io::Result<()> {
    let frame = frame::encode(id, kind, payload);
    stream.write_all(&frame.ok_or(io::ErrorKind::InvalidInput)?)
}
