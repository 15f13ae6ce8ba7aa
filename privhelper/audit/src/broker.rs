//! Serves recorder.sock: the broker's notes, recalls and orders. A malformed frame ends the connection and is recorded.

use crate::claims;
use crate::execute;
use crate::keep::keep;
use crate::log::{Event, Record, size_and_digest};
use crate::requests::Taken;
use crate::state::State;
use crate::subscribers::{LAG, refused};
use crate::work::{Id, Work};
use postern_peers::{Class, Peer, Permit, hung_up};
use postern_policy::types::{Digest, RequestId};
use postern_policy::{Code, Denied};
use postern_proto::link::{self, Kind};
use postern_proto::root::v1::{
    Claim, Close, CloseReason, Hello, Note, Recall, Recalled, Recorded, RecorderOrder, RequestState,
};
use std::io;
use std::os::unix::net::UnixStream;
use std::sync::Arc;
use std::time::Duration;

/// Longest wait for the next frame of an order that is being sent.
const FRAME_TIME: Duration = Duration::from_secs(10);
/// Memory of an order besides its bytes.
const OVERHEAD: usize = 64 * 1024;
/// The events that a note may have.
const NOTES: [Event; 6] =
    [Event::Served, Event::Previewed, Event::Refused, Event::Malformed, Event::Suppressed, Event::Note];
/// Families of effects.
const FAMILIES: [&str; 5] = ["files", "units", "packages", "commands", "users"];

/// Why a connection ends.
enum Ended {
    /// The last frame was sent, or the other end is gone.
    Done,
    /// The frame is malformed.
    Malformed(Vec<u8>),
}

impl From<io::Error> for Ended {
    fn from(_: io::Error) -> Self {
        Self::Done
    }
}

/// Serves one connection of the broker to its end.
pub fn serve(state: &State, mut stream: UnixStream, peer: Peer) {
    if peer.uid != state.host.peer_uid {
        return;
    }
    let Ok(mut last) = stream.try_clone() else { return };
    if let Err(Ended::Malformed(bytes)) = converse(state, &mut stream) {
        let own = size_and_digest(u64::try_from(bytes.len()).unwrap_or(u64::MAX), Digest::of(&[&bytes]));
        let client = Some(peer);
        if state.admit(peer.uid, Class::Read).is_ok() {
            // The connection ends either way.
            drop(state.log.note(Event::Malformed, &Record { own, client, ..Record::default() }));
        }
        let close = Close { reason: CloseReason::Malformed.into(), ..Close::default() };
        drop(link::send(&mut last, Kind::Close, &close));
    }
}

fn converse(state: &State, stream: &mut UnixStream) -> Result<(), Ended> {
    stream.set_write_timeout(Some(LAG))?;
    let (kind, payload) = next(stream, Some(FRAME_TIME))?;
    let hello = link::strict::<Hello>(&payload).filter(|_| kind == Kind::Hello);
    if hello.ok_or(Ended::Malformed(payload))?.build != link::build() {
        let close = Close { reason: CloseReason::WrongBuild.into(), ..Close::default() };
        return Ok(link::send(stream, Kind::Close, &close)?);
    }
    loop {
        // Notes and recalls have no time limit between them.
        let (kind, payload) = next(stream, None)?;
        if state.is_stopping() {
            return Ok(());
        }
        let handlers: [(Kind, Handler); 4] = [
            (Kind::Note, note),
            (Kind::Recall, recall),
            (Kind::RecorderInspect, |state, stream, payload| order(state, stream, payload, false)),
            (Kind::RecorderExecute, |state, stream, payload| order(state, stream, payload, true)),
        ];
        let handle = handlers.into_iter().find(|(of, _)| *of == kind);
        let is_last = handle.map_or(Ok(None), |(_, handle)| handle(state, stream, &payload))?;
        if is_last.ok_or(Ended::Malformed(payload))? {
            return Ok(());
        }
    }
}

/// Handles one frame. None: it is malformed; true: it was the last of the connection.
type Handler = fn(&State, &mut UnixStream, &[u8]) -> Result<Option<bool>, Ended>;

/// Reads one frame.
fn next(stream: &mut UnixStream, limit: Option<Duration>) -> Result<(Kind, Vec<u8>), Ended> {
    stream.set_read_timeout(limit)?;
    match link::read(stream) {
        Ok(frame) => frame.ok_or(Ended::Done),
        Err(error) if error.kind() == io::ErrorKind::InvalidData => Err(Ended::Malformed(Vec::new())),
        Err(_) => Err(Ended::Done),
    }
}

/// Records an event without an effect.
fn note(state: &State, stream: &mut UnixStream, payload: &[u8]) -> Result<Option<bool>, Ended> {
    let Some(claim) = link::strict::<Note>(payload).and_then(|note| note.claim) else { return Ok(None) };
    let event = NOTES.iter().find(|event| event.as_str() == claim.event);
    let uid = claim.uid;
    let Some((event, (mut record, session))) = event.zip(record(claim)) else { return Ok(None) };
    let noted = state.admit(uid, Class::Read).and_then(|()| {
        record.asked_by = state.asker(&session, uid, record.claim.claimed_uid);
        match record.claim.verb.as_str() {
            "request.keep" if *event == Event::Served => keep(state, &record),
            _ => Ok(state.log.note(*event, &record).map(drop)?),
        }
    });
    match noted {
        Ok(()) => link::send(stream, Kind::Recorded, &Recorded::default())?,
        Err(denied) => {
            link::send(stream, Kind::Close, &refused(denied.code.as_str(), &denied.message))?;
            return Ok(Some(true));
        }
    }
    Ok(Some(false))
}

/// Returns the state of a request id. The connection continues, or follows the request.
fn recall(state: &State, stream: &mut UnixStream, payload: &[u8]) -> Result<Option<bool>, Ended> {
    let id = |recall: Recall| Some((RequestId::new(&recall.request_id).ok()?, recall));
    let Some((id, recall)) = link::strict::<Recall>(payload).and_then(id) else { return Ok(None) };
    let digest = Some(recall.body_sha256.as_slice()).filter(|digest| !digest.is_empty());
    let (recalled, follows) = state.requests.recall(recall.uid, &id, digest, state.host.audit.unix());
    if let Some(running) = follows.filter(|_| recall.attach) {
        running.attach(stream.try_clone()?);
        return Ok(Some(true));
    }
    let asker = state.asker(&recall.session, recall.uid, recall.claimed_uid);
    let person_uid = asker.map_or(0, |asker| asker.uid);
    link::send(stream, Kind::Recalled, &Recalled { person_uid, ..recalled })?;
    Ok(Some(recall.attach))
}

/// Runs an order: an effect, or a read.
fn order(
    state: &State,
    stream: &mut UnixStream,
    payload: &[u8],
    is_effect: bool,
) -> Result<Option<bool>, Ended> {
    let Some(request) = link::strict::<RecorderOrder>(payload) else { return Ok(None) };
    let Some(mut work) = work_of(state, request.claim, request.order, request.body_sha256) else {
        return Ok(None);
    };
    let (bytes, secrets) = (request.content_bytes, request.secrets);
    let Some(_permit) = receive(state, stream, &mut work, bytes, secrets)? else { return Ok(Some(true)) };
    // Of reads, only one that needs people takes its id.
    let takes_id = is_effect || (work.record.claim.event == "served" && work.record.claim.decision == "ask");
    if !takes_id || take(state, stream, &mut work)? {
        let watch = stream.try_clone()?;
        let is_wanted = || !hung_up(&watch);
        if is_effect {
            // Both the answer and the refusal were sent to all who follow.
            drop(execute::execute(state, work, is_wanted));
        } else {
            execute::inspect(state, work, is_wanted);
        }
    }
    Ok(Some(true))
}

/// Returns the work of a well-formed claim.
fn work_of(state: &State, claim: Option<Claim>, order: Vec<u8>, body_sha256: Vec<u8>) -> Option<Work> {
    let claim = claim.filter(|claim| FAMILIES.contains(&claim.family.as_str()))?;
    RequestId::new(&claim.request_id).ok()?;
    let known = claims::state(&claim, body_sha256);
    let (mut record, session) = record(claim)?;
    record.asked_by = state.asker(&session, known.uid, known.claimed_uid);
    let session = record.asked_by.as_ref().map_or_else(String::new, |asker| asker.session.clone());
    let known = RequestState { asked_by: record.person_uid(), session, ..known };
    Some(Work::new(record, known, order))
}

/// Returns the record of a claim, and the token that it quotes, which nobody who reads the claim gets.
fn record(mut claim: Claim) -> Option<(Record, String)> {
    let session = std::mem::take(&mut claim.session);
    Some((claims::record(claim)?, session))
}

/// Reads content and secrets into memory. None: there is no room for them now, and the broker was told.
fn receive(
    state: &State,
    stream: &mut UnixStream,
    work: &mut Work,
    content_bytes: u64,
    secrets: bool,
) -> Result<Option<Permit>, Ended> {
    work.subscribers.add(stream.try_clone()?);
    let content = usize::try_from(content_bytes).unwrap_or(usize::MAX);
    let amount = content.saturating_add(work.order.len()).saturating_add(OVERHEAD);
    let Some(permit) = state.memory.take(work.state.uid, amount) else {
        let why = "too much waits in memory already; ask again later";
        let code = if work.record.claim.decision == "ask" { Code::TooManyPending } else { Code::Busy };
        turn_away(state, work, Denied::new(code, why));
        return Ok(None);
    };
    let (mut left, mut parts) = (content, Vec::new());
    while left > 0 {
        let (kind, part) = next(stream, Some(FRAME_TIME))?;
        match left.checked_sub(part.len()).filter(|_| kind == Kind::Content && !part.is_empty()) {
            Some(rest) => left = rest,
            None => return Err(Ended::Malformed(part)),
        }
        parts.push(part);
    }
    work.content = Arc::new(parts);
    if secrets {
        let (kind, payload) = next(stream, Some(FRAME_TIME))?;
        if kind != Kind::Secrets {
            return Err(Ended::Malformed(Vec::new()));
        }
        work.secrets = Some(payload);
    }
    Ok(Some(permit))
}

/// Takes the request's id. False: it is known, and the broker was told or follows it now.
fn take(state: &State, stream: &mut UnixStream, work: &mut Work) -> Result<bool, Ended> {
    let denied = match state.requests.take(work.state.clone(), &work.subscribers, state.host.audit.unix()) {
        Ok(()) => {
            work.id = Id::Taken;
            return Ok(true);
        }
        Err(Taken::Running(running)) => {
            running.attach(stream.try_clone()?);
            return Ok(false);
        }
        Err(Taken::Known(recalled)) => match recalled.state.as_str() {
            "conflict" => {
                let why = "this request_id is of another request; use a new one";
                Denied::new(Code::RequestIdConflict, why)
            }
            "expired" => {
                let why = "this request_id is older than 24 hours or ahead of the clock; use a new one";
                Denied::new(Code::RequestIdExpired, why)
            }
            _ => {
                link::send(stream, Kind::Recalled, &*recalled)?;
                return Ok(false);
            }
        },
        Err(Taken::Full(denied)) => denied,
    };
    turn_away(state, work, denied);
    Ok(false)
}

/// Refuses an order that no budget has counted yet: who sends many of them gets no record of each.
fn turn_away(state: &State, work: &mut Work, denied: Denied) {
    let denied = state.admit(work.state.uid, Class::Read).err().unwrap_or(denied);
    drop(execute::refuse(state, work, denied));
}
