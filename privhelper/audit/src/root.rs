//! The only way to the root helper: an order is sent once, and what became of it is learnt.

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
/// First and longest pause between two questions about an order that runs.
const PAUSES: [Duration; 2] = [Duration::from_millis(50), Duration::from_secs(2)];

/// What is known of an order that was sent.
pub enum Learned {
    /// Root's statement.
    Outcome(Box<Outcome>),
    /// Root refused it, or did not start it: nothing was done.
    Refused(Close),
    /// Root does not know it: it ended before it had an outcome.
    Unknown,
    /// The recorder stops first; the next one asks again.
    Later,
}

/// Sends an order to its family, with validation where root asks for it, and waits for the outcome.
pub fn perform(state: &State, work: &Work, envelope: &Envelope, turn: crate::turns::Turn<'_>) -> Learned {
    let whole = Envelope { step: Step::Whole.into(), ..envelope.clone() };
    let learned = deliver(state, state.host.family(&work.state.family), work, whole);
    // Nobody waits for a validator.
    drop(turn);
    match learned {
        Learned::Outcome(outcome) => match outcome.staged {
            Some(staged) => validate_and_commit(state, work, envelope, &staged),
            None => Learned::Outcome(outcome),
        },
        Learned::Refused(_) | Learned::Unknown | Learned::Later => learned,
    }
}

fn validate_and_commit(state: &State, work: &Work, envelope: &Envelope, staged: &Staged) -> Learned {
    let mut commit = Envelope {
        step: Step::Commit.into(),
        stage_id: staged.stage_id.clone(),
        stage_digest: staged.digest.clone(),
        ..envelope.clone()
    };
    for validator in &staged.validators {
        let validate = Envelope {
            step: Step::Validate.into(),
            validator: validator.name.clone(),
            copy: validator.copy,
            staged: Some(staged.clone()),
            agreements: Vec::new(),
            ..commit.clone()
        };
        match deliver(state, &state.host.units, work, validate) {
            Learned::Outcome(outcome) => match outcome.agreement {
                Some(agreement) => commit.agreements.push(agreement),
                None => return Learned::Outcome(outcome),
            },
            Learned::Unknown => {
                return refused("validation_failed", "the validation did not end; nothing was changed");
            }
            learned @ (Learned::Refused(_) | Learned::Later) => return learned,
        }
    }
    let Some(_turn) = work.turn(state, || true) else {
        return refused("busy", "another change of the same objects is under way; nothing was changed");
    };
    deliver(state, &state.host.files, work, commit)
}

fn refused(code: &str, message: &str) -> Learned {
    Learned::Refused(crate::subscribers::refused(code, message))
}

/// Sends an order, and once more if root says that it did not start.
fn deliver(state: &State, socket: &Path, work: &Work, envelope: Envelope) -> Learned {
    let is_whole = envelope.step() == Step::Whole;
    let (content, secrets) =
        if is_whole { (&*work.content, work.secrets.as_deref()) } else { (&[][..], None) };
    let secret = secrets.is_some();
    let execute = RootExecute { envelope: Some(envelope), order: work.order.clone(), secrets: secret };
    for _ in 0..2 {
        let Ok(stream) = UnixStream::connect(socket) else { continue };
        let event = |payload: &[u8]| work.subscribers.send(Kind::Event, payload);
        match exchange(stream, Kind::RootExecute, &execute, content, secrets, event) {
            Ok((Kind::Outcome, payload)) => match link::strict::<Outcome>(&payload) {
                Some(outcome) => return Learned::Outcome(Box::new(outcome)),
                None => return Learned::Unknown,
            },
            Ok((Kind::Close, payload)) => match link::strict::<Close>(&payload) {
                Some(close) if close.reason() == CloseReason::NotStarted => {}
                Some(close) => return Learned::Refused(close),
                None => return Learned::Unknown,
            },
            Ok(_) | Err(_) => return learn(state, socket, &work.order_id()),
        }
    }
    refused("busy", "the root helper did not start this order; nothing was done; ask again")
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
    // Who refuses need not read everything, so an answer counts even if sending failed.
    loop {
        match link::read(&mut stream)? {
            Some((Kind::Event, payload)) => event(&payload),
            Some(last) => return Ok(last),
            None => return Err(sent.err().unwrap_or_else(|| io::ErrorKind::UnexpectedEof.into())),
        }
    }
}

/// Asks what became of an order, until its family says that it does not run any more.
pub fn learn(state: &State, socket: &Path, order_id: &[u8]) -> Learned {
    let [mut pause, longest] = PAUSES;
    loop {
        match ask(socket, order_id) {
            Ok(OutcomesReply { state, outcome }) if state == "ended" => {
                return link::strict::<Outcome>(&outcome)
                    .map_or(Learned::Unknown, |outcome| Learned::Outcome(Box::new(outcome)));
            }
            Ok(reply) if reply.state == "unknown" => return Learned::Unknown,
            // It runs, or nobody answers now.
            Ok(_) | Err(_) => {}
        }
        if state.is_stopping() {
            return Learned::Later;
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

/// Says that the outcome is recorded. If root does not hear it, it keeps the outcome a while longer.
pub fn acknowledge(socket: &Path, order_id: &[u8]) {
    let acknowledge = Acknowledge { order_id: order_id.to_vec() };
    let sent = UnixStream::connect(socket)
        .and_then(|mut stream| link::open(&mut stream, Kind::Acknowledge, &acknowledge));
    drop(sent);
}

/// Sends a read, or the question for facts, and returns the answer. Output goes to whoever follows.
///
/// # Errors
/// Root or the probe refuses, or gives no answer.
pub fn inspect(state: &State, work: &Work, is_read: bool) -> Result<Recorded, Denied> {
    let socket = if work.state.family == "files" { &state.host.files } else { &state.host.asked };
    let interrupted = |_| Denied::new(Code::Interrupted, "the read ended early; ask again");
    let envelope = (!work.consent.uids.is_empty()).then(|| work.envelope(0));
    let inspect = RootInspect { order: work.order.clone(), envelope };
    let event = |payload: &[u8]| work.subscribers.send(Kind::Event, payload);
    let stream = UnixStream::connect(socket).map_err(interrupted)?;
    let (kind, payload) =
        exchange(stream, Kind::RootInspect, &inspect, &work.content, None, event).map_err(interrupted)?;
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
        return Err(interrupted(io::ErrorKind::InvalidData.into()));
    }
    Ok(recorded)
}
