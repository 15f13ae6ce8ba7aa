//! The client of root's programs: sends an order once, and learns its outcome.

use crate::state::State;
use crate::work::Work;
use postern_policy::{Code, Denied};
use postern_proto::link::{self, Kind};
use postern_proto::root::v1::{
    Acknowledge, Close, CloseReason, Envelope, Outcome, Outcomes, OutcomesReply, Recorded, RootExecute,
    RootInspect, Staged, Step,
};
use prost::Message;
use std::io;
use std::os::unix::net::UnixStream;
use std::path::Path;
use std::time::Duration;

/// Longest wait for an answer about an earlier order.
const ASK_TIME: Duration = Duration::from_secs(10);
/// Shortest and longest wait for the next frame of a read: its claim says how long the client waits.
const READ_TIME: [Duration; 2] = [Duration::from_secs(1), Duration::from_secs(180)];
/// First and longest pause between two questions about an order that runs.
const PAUSES: [Duration; 2] = [Duration::from_millis(50), Duration::from_secs(2)];

/// Root's statement about an order that was sent, or why there is none.
pub type Learned = Result<Outcome, NoOutcome>;

/// Why root has no statement about an order.
pub enum NoOutcome {
    /// Root refused it, or did not start it: nothing was done.
    Refused(Close),
    /// Root does not know it: it ended before it had an outcome.
    Unknown,
    /// The recorder stops first; the next one asks again.
    Later,
}

/// Sends an order to its family, with validation where root asks for it, and waits for the outcome.
///
/// # Errors
/// Nothing was done, or root has no outcome.
pub fn perform(state: &State, work: &Work, envelope: &Envelope, turn: crate::turns::Turn<'_>) -> Learned {
    let whole = Envelope { step: Step::Whole.into(), ..envelope.clone() };
    let learned = deliver(state, state.host.family(&work.state.family), work, whole);
    // Other effects do not wait for a validator.
    drop(turn);
    let outcome = learned?;
    match &outcome.staged {
        Some(staged) => validate_and_commit(state, work, envelope, staged),
        None => Ok(outcome),
    }
}

/// Commits the copy once all validators agree. A commit without agreements is refused, and removes the copy: it would
/// stay for ten minutes, and there is room for few.
fn validate_and_commit(state: &State, work: &Work, envelope: &Envelope, staged: &Staged) -> Learned {
    let mut commit = Envelope {
        step: Step::Commit.into(),
        stage_id: staged.stage_id.clone(),
        stage_digest: staged.digest.clone(),
        ..envelope.clone()
    };
    let agreed = validate(state, work, &mut commit, staged);
    let turn = if agreed.is_ok() { work.turn(state, || true) } else { None };
    if turn.is_some() {
        return deliver(state, &state.host.files, work, commit);
    }
    drop(deliver(state, &state.host.files, work, Envelope { agreements: Vec::new(), ..commit }));
    let busy = "another change of the same objects is under way; nothing was changed";
    Err(agreed.err().unwrap_or_else(|| refused("busy", busy)))
}

/// Gathers the agreement of every validator.
///
/// # Errors
/// An agreement is missing.
fn validate(state: &State, work: &Work, commit: &mut Envelope, staged: &Staged) -> Result<(), NoOutcome> {
    for validator in &staged.validators {
        let validate = Envelope {
            step: Step::Validate.into(),
            validator: validator.name.clone(),
            live: validator.live.clone(),
            staged: Some(staged.clone()),
            agreements: Vec::new(),
            ..commit.clone()
        };
        let outcome = deliver(state, &state.host.units, work, validate).map_err(|failed| match failed {
            NoOutcome::Unknown => {
                refused("validation_failed", "the validation did not end; nothing was changed")
            }
            NoOutcome::Refused(_) | NoOutcome::Later => failed,
        })?;
        let rejected = outcome.completed.unwrap_or_default();
        let agreement = outcome.agreement.ok_or_else(|| refused(&rejected.code, &rejected.message))?;
        commit.agreements.push(agreement);
    }
    Ok(())
}

fn refused(code: &str, message: &str) -> NoOutcome {
    NoOutcome::Refused(crate::subscribers::refused(code, message))
}

/// Sends an order, and once more if root says that it did not start.
fn deliver(state: &State, socket: &Path, work: &Work, envelope: Envelope) -> Learned {
    let is_whole = envelope.step() == Step::Whole;
    let content = if is_whole { work.content.as_slice() } else { &[] };
    let secrets = work.secrets.as_deref().filter(|_| is_whole);
    let (order, has_secrets) = (work.order.clone(), secrets.is_some());
    let execute =
        RootExecute { envelope: Some(envelope), order, secrets: has_secrets, ..RootExecute::default() };
    for _ in 0..2 {
        let Ok(stream) = UnixStream::connect(socket) else { continue };
        let event = |payload: &[u8]| work.subscribers.send(Kind::Event, payload);
        match exchange(stream, Kind::RootExecute, &execute, content, secrets, event) {
            Ok((Kind::Outcome, payload)) => return link::strict(&payload).ok_or(NoOutcome::Unknown),
            Ok((Kind::Close, payload)) => {
                let close = link::strict::<Close>(&payload).ok_or(NoOutcome::Unknown)?;
                if close.reason() != CloseReason::NotStarted {
                    return Err(NoOutcome::Refused(close));
                }
            }
            Ok(_) | Err(_) => return learn(state, socket, &work.order_id()),
        }
    }
    Err(refused("busy", "the root helper did not start this order; nothing was done; ask again"))
}

/// Sends one order over a new connection and returns the last frame.
///
/// # Errors
/// The connection ended without one.
pub fn exchange(
    mut stream: UnixStream,
    kind: Kind,
    message: &impl Message,
    content: &[Vec<u8>],
    secrets: Option<&[u8]>,
    mut event: impl FnMut(&[u8]),
) -> io::Result<(Kind, Vec<u8>)> {
    let sent = link::open(&mut stream, kind, message)
        .and_then(|()| content.iter().try_for_each(|part| link::write(&mut stream, Kind::Content, part)))
        .and_then(|()| secrets.map_or(Ok(()), |secrets| link::write(&mut stream, Kind::Secrets, secrets)));
    // A program that refuses need not read everything, so an answer counts even if sending failed.
    loop {
        match link::read(&mut stream)? {
            Some((Kind::Event, payload)) => event(&payload),
            Some(last) => return Ok(last),
            None => return Err(sent.err().unwrap_or_else(|| io::ErrorKind::UnexpectedEof.into())),
        }
    }
}

/// Asks for the outcome of an order, until its program reports that it does not run any more.
///
/// # Errors
/// There is no outcome, or the recorder stops first.
pub fn learn(state: &State, socket: &Path, order_id: &[u8]) -> Learned {
    let [mut pause, longest] = PAUSES;
    loop {
        match ask(socket, order_id) {
            Ok(OutcomesReply { state, outcome }) if state == "ended" => {
                return link::strict(&outcome).ok_or(NoOutcome::Unknown);
            }
            Ok(reply) if reply.state == "unknown" => return Err(NoOutcome::Unknown),
            // It runs, or the program does not answer now.
            Ok(_) | Err(_) => {}
        }
        if state.is_stopping() {
            return Err(NoOutcome::Later);
        }
        std::thread::sleep(pause);
        pause = pause.saturating_mul(2).min(longest);
    }
}

fn ask(socket: &Path, order_id: &[u8]) -> io::Result<OutcomesReply> {
    let stream = UnixStream::connect(socket)?;
    stream.set_read_timeout(Some(ASK_TIME))?;
    let request = Outcomes { order_id: order_id.to_vec() };
    let (kind, payload) = exchange(stream, Kind::Outcomes, &request, &[], None, |_| {})?;
    let reply = link::strict(&payload).filter(|_| kind == Kind::OutcomesReply);
    reply.ok_or_else(|| io::ErrorKind::InvalidData.into())
}

/// Acknowledges the recorded outcome. If the message is lost, root keeps the outcome longer.
pub fn acknowledge(socket: &Path, order_id: &[u8]) {
    let acknowledge = Acknowledge { order_id: order_id.to_vec() };
    let sent = UnixStream::connect(socket)
        .and_then(|mut stream| link::open(&mut stream, Kind::Acknowledge, &acknowledge));
    drop(sent);
}

/// Sends a read, or the question for facts, and returns the answer. Output goes to `event`.
///
/// # Errors
/// Root or the probe refuses, or gives no answer in time.
pub fn inspect(
    state: &State,
    work: &Work,
    is_read: bool,
    event: impl FnMut(&[u8]),
) -> Result<Recorded, Denied> {
    let is_probe = !["files", "users"].contains(&work.state.family.as_str());
    let socket = if is_probe { &state.host.asked } else { state.host.family(&work.state.family) };
    let failed = |error: io::Error| {
        let is_late = error.kind() == io::ErrorKind::WouldBlock;
        let (code, why) =
            if is_late { (Code::Timeout, "took too long") } else { (Code::Interrupted, "ended early") };
        Denied::new(code, format!("the read {why}; ask again"))
    };
    let envelope = Some(work.envelope(0)).filter(|of| !of.approvers.is_empty() || of.person_uid != 0);
    let inspect = RootInspect { order: work.order.clone(), envelope };
    let patience = Duration::from_millis(work.record.claim.wait_ms).clamp(READ_TIME[0], READ_TIME[1]);
    let stream = UnixStream::connect(socket).map_err(failed)?;
    stream.set_read_timeout(Some(patience)).map_err(failed)?;
    let (kind, payload) = exchange(stream, Kind::RootInspect, &inspect, &[], None, event).map_err(failed)?;
    if kind == Kind::Close {
        let close = link::strict::<Close>(&payload).unwrap_or_default();
        return Err(Denied::new(Code::from_name(&close.code).unwrap_or(Code::Interrupted), close.message));
    }
    let mut recorded = Recorded::default();
    if is_read && kind == Kind::Outcome {
        recorded.completed = link::strict::<Outcome>(&payload).and_then(|outcome| outcome.completed);
    } else if !is_read && kind == Kind::Facts {
        recorded.facts = link::strict(&payload);
    }
    if recorded == Recorded::default() {
        Err(failed(io::ErrorKind::InvalidData.into()))
    } else {
        Ok(recorded)
    }
}
