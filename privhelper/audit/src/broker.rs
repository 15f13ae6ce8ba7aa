//! Serves recorder.sock: the broker's notes, recalls and orders. A malformed frame ends the connection and is recorded.

use crate::claims;
use crate::execute;
use crate::keep::keep;
use crate::log::{Event, Mark, Record, size_and_digest};
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
use prost::Message;
use std::io;
use std::os::unix::net::UnixStream;
use std::sync::Arc;
use std::time::Duration;

/// Longest wait for the next frame of an order that is being sent.
const FRAME_TIME: Duration = Duration::from_secs(10);
/// Memory of an order besides its bytes.
const OVERHEAD: usize = 64 * 1024;
/// Families of effects.
const FAMILIES: [&str; 5] = ["files", "units", "packages", "commands", "users"];

/// One connection, and the payload of its last frame. `InvalidData` ends it as malformed.
struct Broker<'a> {
    state: &'a State,
    stream: UnixStream,
    payload: Vec<u8>,
}

/// Serves one connection of the broker to its end.
pub fn serve(state: &State, stream: UnixStream, peer: Peer) {
    if peer.uid != state.host.peer_uid {
        return;
    }
    let mut broker = Broker { state, stream, payload: Vec::new() };
    if broker.converse().is_err_and(|error| error.kind() == io::ErrorKind::InvalidData) {
        let size = u64::try_from(broker.payload.len()).unwrap_or(u64::MAX);
        let own = size_and_digest(size, Digest::of(&[&broker.payload]));
        let client = Some(peer);
        if state.admit(peer.uid, Class::Read).is_ok() {
            // The connection ends either way.
            drop(state.log.note(Event::Malformed, &Record { own, client, ..Record::default() }));
        }
        drop(broker.close(CloseReason::Malformed));
    }
}

/// The error of a frame that is not what was expected.
fn malformed() -> io::Error {
    io::ErrorKind::InvalidData.into()
}

impl Broker<'_> {
    fn converse(&mut self) -> io::Result<()> {
        self.stream.set_write_timeout(Some(LAG))?;
        self.expect(Kind::Hello)?;
        if self.decoded::<Hello>()?.build != link::build() {
            return self.close(CloseReason::WrongBuild);
        }
        loop {
            // Notes and recalls have no time limit between them.
            let kind = self.next(None)?;
            if self.state.is_stopping() {
                return Ok(());
            }
            let goes_on = if kind == Kind::Note {
                self.note()?
            } else if kind == Kind::Recall {
                self.recall()?
            } else if [Kind::RecorderInspect, Kind::RecorderExecute].contains(&kind) {
                self.order(kind == Kind::RecorderExecute)?
            } else {
                return Err(malformed());
            };
            if !goes_on {
                return Ok(());
            }
        }
    }

    /// Reads one frame.
    fn next(&mut self, limit: Option<Duration>) -> io::Result<Kind> {
        self.payload.clear();
        self.stream.set_read_timeout(limit)?;
        let (kind, payload) = link::read(&mut self.stream)?.ok_or(io::ErrorKind::UnexpectedEof)?;
        self.payload = payload;
        Ok(kind)
    }

    /// Reads the next frame of an order or a greeting.
    fn expect(&mut self, kind: Kind) -> io::Result<()> {
        if self.next(Some(FRAME_TIME))? == kind { Ok(()) } else { Err(malformed()) }
    }

    fn decoded<M: Message + Default>(&self) -> io::Result<M> {
        link::strict(&self.payload).ok_or_else(malformed)
    }

    fn close(&mut self, reason: CloseReason) -> io::Result<()> {
        let close = Close { reason: reason.into(), ..Close::default() };
        link::send(&mut self.stream, Kind::Close, &close)
    }

    /// Records an event without an effect. False: the connection ends, as below.
    fn note(&mut self) -> io::Result<bool> {
        let claim = self.decoded::<Note>()?.claim.ok_or_else(malformed)?;
        let event = Event::ALL.iter().find(|event| event.as_str() == claim.event && event.is(Mark::Noted));
        let event = *event.ok_or_else(malformed)?;
        let (uid, state) = (claim.uid, self.state);
        let record = record(state, claim).ok_or_else(malformed)?;
        let noted = state.admit(uid, Class::Read).and_then(|()| match record.claim.verb.as_str() {
            "request.keep" if event == Event::Served => keep(state, &record),
            _ => Ok(state.log.note(event, &record).map(drop)?),
        });
        match &noted {
            Ok(()) => link::send(&mut self.stream, Kind::Recorded, &Recorded::default())?,
            Err(denied) => {
                let close = refused(denied.code.as_str(), &denied.message);
                link::send(&mut self.stream, Kind::Close, &close)?;
            }
        }
        Ok(noted.is_ok())
    }

    /// Returns the state of a request id. The connection continues, or follows the request.
    fn recall(&mut self) -> io::Result<bool> {
        let (state, recall) = (self.state, self.decoded::<Recall>()?);
        let id = RequestId::new(&recall.request_id).map_err(|_| malformed())?;
        let digest = Some(recall.body_sha256.as_slice()).filter(|digest| !digest.is_empty());
        let (recalled, follows) = state.requests.recall(recall.uid, &id, digest, state.host.audit.unix());
        if let Some(running) = follows.filter(|_| recall.attach) {
            running.attach(self.stream.try_clone()?);
            return Ok(false);
        }
        let asker = state.asker(&recall.session, recall.uid, recall.claimed_uid);
        let person_uid = asker.map_or(0, |asker| asker.uid);
        link::send(&mut self.stream, Kind::Recalled, &Recalled { person_uid, ..recalled })?;
        Ok(!recall.attach)
    }

    /// Runs an order, an effect or a read: the last of the connection.
    fn order(&mut self, is_effect: bool) -> io::Result<bool> {
        let RecorderOrder { claim, order, body_sha256, content_bytes, secrets } = self.decoded()?;
        let mut work = work_of(self.state, claim, order, body_sha256).ok_or_else(malformed)?;
        let Some(_permit) = self.receive(&mut work, content_bytes, secrets)? else { return Ok(false) };
        // Of reads, only one that needs people takes its id.
        let takes_id =
            is_effect || (work.record.claim.event == "served" && work.record.claim.decision == "ask");
        if !takes_id || self.take(&mut work)? {
            let is_wanted = || !hung_up(&self.stream);
            if is_effect {
                // Both the answer and the refusal were sent to all who follow.
                drop(execute::execute(self.state, work, is_wanted));
            } else {
                execute::inspect(self.state, work, is_wanted);
            }
        }
        Ok(false)
    }

    /// Reads content and secrets into memory. None: there is no room for them now, and the broker was told.
    fn receive(&mut self, work: &mut Work, content: u64, secrets: bool) -> io::Result<Option<Permit>> {
        work.subscribers.add(self.stream.try_clone()?);
        let content = usize::try_from(content).unwrap_or(usize::MAX);
        let amount = content.saturating_add(work.order.len()).saturating_add(OVERHEAD);
        let Some(permit) = self.state.memory.take(work.state.uid, amount) else {
            let why = "too much waits in memory already; ask again later";
            let code = if work.record.claim.decision == "ask" { Code::TooManyPending } else { Code::Busy };
            turn_away(self.state, work, Denied::new(code, why));
            return Ok(None);
        };
        let (mut left, mut parts) = (content, Vec::new());
        while left > 0 {
            self.expect(Kind::Content)?;
            let rest = left.checked_sub(self.payload.len()).filter(|_| !self.payload.is_empty());
            left = rest.ok_or_else(malformed)?;
            parts.push(std::mem::take(&mut self.payload));
        }
        work.content = Arc::new(parts);
        if secrets {
            self.expect(Kind::Secrets)?;
            work.secrets = Some(std::mem::take(&mut self.payload));
        }
        Ok(Some(permit))
    }

    /// Takes the request's id. False: it is known, and the broker was told or follows it now.
    fn take(&mut self, work: &mut Work) -> io::Result<bool> {
        let now = self.state.host.audit.unix();
        let denied = match self.state.requests.take(work.state.clone(), &work.subscribers, now) {
            Ok(()) => {
                work.id = Id::Taken;
                return Ok(true);
            }
            Err(Taken::Running(running)) => {
                running.attach(self.stream.try_clone()?);
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
                    link::send(&mut self.stream, Kind::Recalled, &*recalled)?;
                    return Ok(false);
                }
            },
            Err(Taken::Full(denied)) => denied,
        };
        turn_away(self.state, work, denied);
        Ok(false)
    }
}

/// Returns the work of a well-formed claim.
fn work_of(state: &State, claim: Option<Claim>, order: Vec<u8>, body_sha256: Vec<u8>) -> Option<Work> {
    let claim = claim.filter(|claim| FAMILIES.contains(&claim.family.as_str()))?;
    RequestId::new(&claim.request_id).ok()?;
    let known = claims::state(&claim, body_sha256);
    let record = record(state, claim)?;
    let session = record.asked_by.as_ref().map_or_else(String::new, |asker| asker.session.clone());
    let known = RequestState { asked_by: record.person_uid(), session, ..known };
    Some(Work::new(record, known, order))
}

/// Returns the record of a claim with the person whose token it quotes; nobody who reads the claim gets that.
fn record(state: &State, mut claim: Claim) -> Option<Record> {
    let asked_by = state.asker(&std::mem::take(&mut claim.session), claim.uid, claim.claimed_uid);
    Some(Record { asked_by, ..claims::record(claim)? })
}

/// Refuses an order that no budget has counted yet: who sends many of them gets no record of each.
fn turn_away(state: &State, work: &mut Work, denied: Denied) {
    let denied = state.admit(work.state.uid, Class::Read).err().unwrap_or(denied);
    drop(execute::refuse(state, work, denied));
}
