//! The recorder's client: notes and ids on one kept connection, each order on a connection of its own.

use crate::error::{Error, Fault};
use postern_peers::{hung_up, locked};
use postern_policy::{Code, Denied};
use postern_proto::link::{self, Kind};
use postern_proto::root::v1::{Claim, Close, Hello, Note, Recall, Recalled};
use postern_proto::v1 as wire;
use prost::Message;
use std::io;
use std::os::unix::net::UnixStream;
use std::path::PathBuf;
use std::sync::Mutex;
use std::time::Duration;

/// How long the recorder may take to answer a note, and for each frame to arrive whole.
const ANSWER_TIME: Duration = Duration::from_secs(30);

/// The recorder.
#[derive(Debug)]
pub struct Recorder {
    socket: PathBuf,
    /// For notes and ids.
    kept: Mutex<Option<UnixStream>>,
}

/// The state of a request id.
#[derive(Debug)]
pub enum Known {
    /// Nothing.
    New,
    /// It runs or waits.
    Running,
    /// It has ended.
    Ended(Box<Recalled>),
}

impl Recorder {
    /// The recorder that listens here.
    #[must_use]
    pub fn new(socket: PathBuf) -> Self {
        Self { socket, kept: Mutex::default() }
    }

    /// Records an event without an order: a refusal, PREVIEW, CHECK, or an answer that the broker gives itself.
    ///
    /// # Errors
    /// The log cannot take it: the client must not get the answer.
    pub fn note(&self, claim: Claim) -> Result<(), Error> {
        let (kind, payload) = self.call(Kind::Note, &Note { claim: Some(claim) })?;
        if kind == Kind::Recorded { Ok(()) } else { Err(closed(kind, &payload)) }
    }

    /// Returns the state of a request id. `body` is the keyed digest of the request; none = only ask.
    ///
    /// # Errors
    /// `request_id_conflict`, `request_id_expired`, `unknown_request`, or the recorder does not answer.
    pub fn recall(&self, uid: u32, request_id: &str, body: Option<[u8; 32]>) -> Result<Known, Error> {
        let recall = recall(uid, request_id, body, false);
        let (kind, payload) = self.call(Kind::Recall, &recall)?;
        if kind == Kind::Recalled { known(decode(&payload)?) } else { Err(closed(kind, &payload)) }
    }

    /// Returns the person whose open session a claim quotes; 0 = nobody's.
    ///
    /// # Errors
    /// The recorder does not answer.
    pub fn person(&self, claim: &Claim) -> Result<u32, Error> {
        let (session, claimed_uid) = (claim.session.clone(), claim.claimed_uid);
        let recall = Recall { session, claimed_uid, ..recall(claim.uid, &claim.request_id, None, false) };
        let (kind, payload) = self.call(Kind::Recall, &recall)?;
        if kind == Kind::Recalled {
            Ok(decode::<Recalled>(&payload)?.person_uid)
        } else {
            Err(closed(kind, &payload))
        }
    }

    /// One frame and its answer on the kept connection. A connection that the recorder has closed is opened anew, once.
    fn call(&self, kind: Kind, message: &impl Message) -> Result<(Kind, Vec<u8>), Fault> {
        let mut kept = locked(&self.kept);
        let answered = match kept.take().filter(|stream| !hung_up(stream)) {
            Some(stream) => exchange(stream, kind, message),
            None => Err(io::ErrorKind::NotConnected.into()),
        };
        let (stream, frame) = match answered {
            Ok(answered) => answered,
            Err(_) => {
                exchange(self.open().map_err(Fault::recorder)?, kind, message).map_err(Fault::recorder)?
            }
        };
        *kept = (frame.0 != Kind::Close).then_some(stream);
        Ok(frame)
    }

    /// Opens a connection for one order.
    ///
    /// # Errors
    /// The recorder does not listen.
    pub fn open(&self) -> io::Result<UnixStream> {
        let mut stream = UnixStream::connect(&self.socket)?;
        stream.set_read_timeout(Some(ANSWER_TIME))?;
        stream.set_write_timeout(Some(ANSWER_TIME))?;
        link::send(&mut stream, Kind::Hello, &Hello { build: link::build().to_vec() })?;
        Ok(stream)
    }

    /// Attaches to a request that runs or waits: its frames follow as those of an order.
    ///
    /// # Errors
    /// The recorder does not listen.
    pub fn attach(&self, uid: u32, request_id: &str, body: [u8; 32]) -> io::Result<UnixStream> {
        let mut stream = self.open()?;
        link::send(&mut stream, Kind::Recall, &recall(uid, request_id, Some(body), true))?;
        Ok(stream)
    }
}

/// Returns the recorded outcome of a repeated request.
#[must_use]
pub fn replayed(recalled: Recalled) -> wire::Completed {
    wire::Completed { replayed: true, ..recalled.completed.unwrap_or_default() }
}

fn recall(uid: u32, request_id: &str, body: Option<[u8; 32]>, attach: bool) -> Recall {
    let body_sha256 = body.map(|digest| digest.to_vec()).unwrap_or_default();
    Recall { uid, request_id: request_id.to_owned(), body_sha256, attach, ..Recall::default() }
}

fn exchange(
    mut stream: UnixStream,
    kind: Kind,
    message: &impl Message,
) -> io::Result<(UnixStream, (Kind, Vec<u8>))> {
    link::send(&mut stream, kind, message)?;
    let frame = link::read(&mut stream)?.ok_or(io::ErrorKind::UnexpectedEof)?;
    Ok((stream, frame))
}

/// Reads the recorder's answer about an id.
///
/// # Errors
/// `request_id_conflict`, `request_id_expired` or `unknown_request`.
pub fn known(recalled: Recalled) -> Result<Known, Error> {
    let denied = |code, why: &str| Err(Denied::new(code, why).into());
    match recalled.state.as_str() {
        "new" => Ok(Known::New),
        "running" => Ok(Known::Running),
        "ended" => Ok(Known::Ended(Box::new(recalled))),
        "conflict" => {
            denied(Code::RequestIdConflict, "this request_id was used for another request; use a new one")
        }
        "expired" => denied(
            Code::RequestIdExpired,
            "this request_id is older than 24 hours or ahead of the clock; use a new one",
        ),
        "unknown" => denied(Code::UnknownRequest, "no request of yours has this id"),
        state => Err(unexpected(&format!("state {state:?}"))),
    }
}

/// Decodes a message of the recorder's or probe's.
///
/// # Errors
/// It cannot be decoded.
pub fn decode<M: Message + Default>(payload: &[u8]) -> Result<M, Error> {
    link::strict(payload).ok_or_else(|| unexpected("a frame that does not decode"))
}

/// Returns the error for a frame that is not the expected answer.
#[must_use]
pub fn closed(kind: Kind, payload: &[u8]) -> Error {
    let close: Option<Close> = (kind == Kind::Close).then(|| link::strict(payload)).flatten();
    let Some(close) = close else { return unexpected(&format!("{kind:?}")) };
    match Code::from_name(&close.code) {
        Some(code) => Error::Recorded(Denied::new(code, close.message)),
        None => unexpected(&format!("{:?}: {}", close.reason(), close.detail)),
    }
}

fn unexpected(what: &str) -> Error {
    Fault::new(Code::AuditUnavailable, format!("unexpected answer: {what}")).into()
}
