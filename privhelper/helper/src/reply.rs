//! Frames to a client: sent without blocking, so that nobody who reads slowly holds up an effect.

use crate::sys::{locked, socket};
use postern_proto::frame::{self, STREAMS_MAX};
use postern_proto::v1 as wire;
use prost::Message;
use std::collections::HashSet;
use std::net::Shutdown;
use std::os::unix::net::UnixStream;
use std::sync::atomic::{AtomicBool, AtomicU32, AtomicUsize, Ordering};
use std::sync::{Arc, Condvar, Mutex, PoisonError};
use std::time::Duration;

/// A client that lags by this many bytes is detached.
const LAG_MAX: usize = 256 * 1024;
/// Content waits while more than this is unsent.
const LAG_WAIT: usize = 64 * 1024;
/// And at most this long.
const LAG_TIME: Duration = Duration::from_secs(2);

/// gRPC status codes that the helper uses.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Grpc {
    /// The last event was sent, refusals included.
    Ok,
    /// Malformed.
    InvalidArgument,
    /// Not for this caller (operator.sock).
    PermissionDenied,
    /// Not now, or not of this; the text begins with a stable code (operator.sock).
    FailedPrecondition,
    /// A cap.
    ResourceExhausted,
    /// No such rpc.
    Unimplemented,
    /// Stopping, or broken.
    Unavailable,
}

impl Grpc {
    const fn code(self) -> u8 {
        match self {
            Self::Ok => 0,
            Self::InvalidArgument => 3,
            Self::PermissionDenied => 7,
            Self::ResourceExhausted => 8,
            Self::FailedPrecondition => 9,
            Self::Unimplemented => 12,
            Self::Unavailable => 14,
        }
    }
}

/// The sending half of one connection.
#[derive(Debug)]
pub struct Outbox {
    channel: UnixStream,
    unsent: Mutex<Vec<u8>>,
    room: Condvar,
    dead: AtomicBool,
}

impl Outbox {
    /// Sends on this (non-blocking) channel.
    #[must_use]
    pub fn new(channel: UnixStream) -> Self {
        Self { channel, unsent: Mutex::new(Vec::new()), room: Condvar::new(), dead: AtomicBool::new(false) }
    }

    /// The channel, for polling.
    #[must_use]
    pub fn channel(&self) -> &UnixStream {
        &self.channel
    }

    /// Whether something waits for the kernel to take it.
    #[must_use]
    pub fn has_unsent(&self) -> bool {
        !locked(&self.unsent).is_empty()
    }

    /// Whether nothing more will be sent.
    #[must_use]
    pub fn is_dead(&self) -> bool {
        self.dead.load(Ordering::Relaxed)
    }

    /// Ends the connection: its reader wakes and leaves.
    pub fn close(&self) {
        self.dead.store(true, Ordering::Relaxed);
        // A channel that is closed already needs no closing.
        drop(self.channel.shutdown(Shutdown::Both));
        self.room.notify_all();
    }

    /// Sends what the kernel takes now of what is unsent.
    pub fn flush(&self) {
        let mut unsent = locked(&self.unsent);
        self.send_some(&mut unsent);
        drop(unsent);
        self.room.notify_all();
    }

    fn send(&self, stream: u32, kind: u8, payload: &[u8], wait: bool) {
        let Some(bytes) = frame::encode(stream, kind, payload) else {
            return self.close();
        };
        let mut unsent = locked(&self.unsent);
        if wait && unsent.len() > LAG_WAIT {
            let full = |unsent: &mut Vec<u8>| unsent.len() > LAG_WAIT && !self.is_dead();
            let waited = self.room.wait_timeout_while(unsent, LAG_TIME, full);
            unsent = waited.unwrap_or_else(PoisonError::into_inner).0;
        }
        if self.is_dead() {
            return;
        }
        unsent.extend_from_slice(&bytes);
        self.send_some(&mut unsent);
        let lags = unsent.len() > LAG_MAX;
        drop(unsent);
        if lags {
            self.close();
        }
    }

    fn send_some(&self, unsent: &mut Vec<u8>) {
        while !unsent.is_empty() {
            match socket::send_now(&self.channel, unsent) {
                Ok(0) => break,
                Ok(sent) => drop(unsent.drain(..sent.min(unsent.len()))),
                Err(_) => {
                    self.dead.store(true, Ordering::Relaxed);
                    unsent.clear();
                }
            }
        }
    }
}

/// The streams of one connection.
#[derive(Debug, Default)]
pub struct Streams {
    /// Those that the gateway has open.
    open: Mutex<HashSet<u32>>,
    /// Requests that have not ended, also of streams that the client has left.
    running: AtomicUsize,
}

impl Streams {
    /// Opens a stream; false if there are eight, or it is open already.
    #[must_use]
    pub fn open(&self, stream: u32) -> bool {
        let mut open = locked(&self.open);
        open.len() < STREAMS_MAX && open.insert(stream)
    }

    /// The client has left this stream.
    pub fn leave(&self, stream: u32) {
        locked(&self.open).remove(&stream);
    }

    /// How many requests have not ended.
    #[must_use]
    pub fn running(&self) -> usize {
        self.running.load(Ordering::Relaxed)
    }
}

/// Where one stream's events go.
#[derive(Debug, Clone)]
pub struct Sink {
    outbox: Arc<Outbox>,
    stream: u32,
    seq: Arc<AtomicU32>,
    streams: Arc<Streams>,
}

impl Sink {
    /// An open stream of this connection.
    #[must_use]
    pub fn new(outbox: Arc<Outbox>, stream: u32, streams: Arc<Streams>) -> Self {
        streams.running.fetch_add(1, Ordering::Relaxed);
        Self { outbox, stream, seq: Arc::new(AtomicU32::new(0)), streams }
    }

    /// Sends an event. Nobody is waited for; `Output` waits for room up to 2 s.
    pub fn event(&self, kind: wire::event::Kind) {
        let wait = matches!(kind, wire::event::Kind::Output(_));
        let seq = self.seq.fetch_add(1, Ordering::Relaxed).wrapping_add(1);
        let event = wire::Event { seq, kind: Some(kind) };
        self.outbox.send(self.stream, frame::EVENT, &event.encode_to_vec(), wait);
    }

    /// Sends a message as it is, for operators.
    pub fn message(&self, message: &impl Message) {
        self.outbox.send(self.stream, frame::EVENT, &message.encode_to_vec(), false);
    }

    /// The same, and waits for room as `Output` does.
    pub fn message_in_time(&self, message: &impl Message) {
        self.outbox.send(self.stream, frame::EVENT, &message.encode_to_vec(), true);
    }

    /// Ends the stream.
    pub fn end(&self, code: Grpc, text: &str) {
        let mut payload = vec![code.code()];
        payload.extend_from_slice(text.as_bytes());
        self.outbox.send(self.stream, frame::END, &payload, false);
        self.streams.leave(self.stream);
        self.streams.running.fetch_sub(1, Ordering::Relaxed);
    }

    /// Whether anybody may still read it.
    #[must_use]
    pub fn is_open(&self) -> bool {
        !self.outbox.is_dead() && locked(&self.streams.open).contains(&self.stream)
    }

    /// Ends the whole connection.
    pub fn close(&self) {
        self.outbox.close();
    }
}

/// Everybody who watches one request: the caller, and who asked again with the same id.
#[derive(Debug, Default)]
pub struct Watchers {
    sinks: Mutex<Vec<Sink>>,
    /// What those who come later are told first: that it waits for a person.
    waiting: Mutex<Option<wire::Waiting>>,
}

impl Watchers {
    /// The caller alone.
    #[must_use]
    pub fn of(sink: Sink) -> Self {
        Self { sinks: Mutex::new(vec![sink]), waiting: Mutex::default() }
    }

    /// One more. Those who have left are forgotten, and their connections with them.
    pub fn add(&self, sink: Sink) {
        if let Some(waiting) = locked(&self.waiting).clone() {
            sink.event(wire::event::Kind::Waiting(waiting));
        }
        let mut sinks = locked(&self.sinks);
        sinks.retain(|sink| !sink.outbox.is_dead());
        sinks.push(sink);
    }

    /// Tells all that it waits for a person, and so those who come later; none: it waits no longer.
    pub fn wait(&self, waiting: Option<wire::Waiting>) {
        locked(&self.waiting).clone_from(&waiting);
        if let Some(waiting) = waiting {
            self.event(&wire::event::Kind::Waiting(waiting));
        }
    }

    /// Everybody who watches another call of the same request.
    pub fn adopt(&self, other: &Self) {
        let others = std::mem::take(&mut *locked(&other.sinks));
        for sink in others {
            sink.event(wire::event::Kind::Accepted(wire::Accepted {
                attached: true,
                ..wire::Accepted::default()
            }));
            self.add(sink);
        }
    }

    /// Sends an event to all.
    pub fn event(&self, kind: &wire::event::Kind) {
        // Not under the lock: content waits for readers.
        let sinks = locked(&self.sinks).clone();
        for sink in sinks {
            sink.event(kind.clone());
        }
    }

    /// Tells of progress.
    pub fn progress(&self, phase: wire::Phase, item: &str, percent: u32, detail: &str) {
        let (item, detail) = (item.to_owned(), detail.to_owned());
        self.event(&wire::event::Kind::Progress(wire::Progress {
            phase: phase.into(),
            item,
            percent,
            detail,
        }));
    }

    /// Sends the last event to all and ends their streams.
    pub fn finish(&self, kind: &wire::event::Kind) {
        let sinks = std::mem::take(&mut *locked(&self.sinks));
        for sink in sinks {
            sink.event(kind.clone());
            sink.end(Grpc::Ok, "");
        }
    }
}
