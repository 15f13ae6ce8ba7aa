//! The broker's connections that follow one request: the first, and those of the same id that came later.

use postern_peers::locked;
use postern_proto::link::{self, Kind};
use postern_proto::root::v1::{Close, CloseReason, Parked, Recalled};
use prost::Message;
use std::os::unix::net::UnixStream;
use std::sync::Mutex;
use std::time::Duration;

/// A connection that takes no frame for so long is dropped; the effect goes on.
pub const LAG: Duration = Duration::from_secs(2);

/// The connections of one request.
#[derive(Default)]
pub struct Subscribers(Mutex<Inner>);

#[derive(Default)]
struct Inner {
    streams: Vec<UnixStream>,
    /// Whether it waits for approval, for later subscribers.
    parked: Option<Parked>,
    /// The last frame, once it has ended.
    last: Option<(Kind, Vec<u8>)>,
}

impl Subscribers {
    /// Adds the connection that a request came on.
    pub fn add(&self, stream: UnixStream) {
        locked(&self.0).streams.push(stream);
    }

    /// Adds a connection of the same id: it gets the state of the request, and all later frames.
    pub fn attach(&self, mut stream: UnixStream) {
        let mut inner = locked(&self.0);
        let running = Recalled { state: "running".to_owned(), ..Recalled::default() };
        let mut sent = link::send(&mut stream, Kind::Recalled, &running);
        if let Some(parked) = &inner.parked {
            sent = sent.and_then(|()| link::send(&mut stream, Kind::Parked, parked));
        }
        match (&inner.last, sent) {
            (Some((kind, payload)), Ok(())) => drop(link::write(&mut stream, *kind, payload)),
            (None, Ok(())) => inner.streams.push(stream),
            // It has left.
            (_, Err(_)) => {}
        }
    }

    /// Says that the request waits for people, or, if `parked` is empty, that it waits no longer.
    pub fn park(&self, parked: Parked) {
        // Under one lock: a connection that attaches in between would not be told.
        let mut inner = locked(&self.0);
        inner.send(Kind::Parked, &parked.encode_to_vec());
        inner.parked = Some(parked).filter(|parked| !parked.approval_id.is_empty());
    }

    /// Sends a frame to all; those that take none are dropped.
    pub fn send(&self, kind: Kind, payload: &[u8]) {
        locked(&self.0).send(kind, payload);
    }

    /// Sends the last frame and closes all connections.
    pub fn finish(&self, kind: Kind, message: &impl Message) {
        let payload = message.encode_to_vec();
        let mut inner = locked(&self.0);
        inner.send(kind, &payload);
        inner.streams.clear();
        inner.last = Some((kind, payload));
    }

    /// Ends with a refusal: nothing has begun.
    pub fn refuse(&self, code: &str, message: &str) {
        self.finish(Kind::Close, &refused(code, message));
    }

    /// Closes all connections without a last frame: subscribers ask again.
    pub fn abandon(&self) {
        locked(&self.0).streams.clear();
    }
}

impl Inner {
    fn send(&mut self, kind: Kind, payload: &[u8]) {
        self.streams.retain_mut(|stream| link::write(stream, kind, payload).is_ok());
    }
}

/// Returns the last frame of an order that did not begin.
pub fn refused(code: &str, message: &str) -> Close {
    let (code, message) = (code.to_owned(), message.to_owned());
    Close { reason: CloseReason::Refused.into(), code, message, ..Close::default() }
}
