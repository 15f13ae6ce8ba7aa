//! Events to a client: sent without blocking, so that a slow reader holds up no effect.

use crate::sys::socket;
use postern_peers::locked;
use postern_proto::frame::{self, STREAMS_MAX};
use postern_proto::v1::{self as wire, event::Kind};
use prost::Message;
use std::collections::HashSet;
use std::net::Shutdown;
use std::os::unix::net::UnixStream;
use std::sync::atomic::{AtomicBool, AtomicU32, AtomicUsize, Ordering};
use std::sync::{Arc, Condvar, Mutex, PoisonError};
use std::time::Duration;

/// A client that lags by this many bytes is detached.
const LAG_MAX: usize = 256 * 1024;
/// `Output` waits while more than this is unsent.
const LAG_WAIT: usize = 64 * 1024;
/// How long it waits at most.
const LAG_TIME: Duration = Duration::from_secs(2);

/// gRPC status codes that the broker uses.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Grpc {
    /// The last event was sent, refusals included.
    Ok,
    /// Malformed.
    InvalidArgument,
    /// A cap.
    ResourceExhausted,
    /// No such rpc.
    Unimplemented,
    /// No thread can be had.
    Unavailable,
}

impl Grpc {
    const fn code(self) -> u8 {
        match self {
            Self::Ok => 0,
            Self::InvalidArgument => 3,
            Self::ResourceExhausted => 8,
            Self::Unimplemented => 12,
            Self::Unavailable => 14,
        }
    }
}

/// The sending half of one channel.
#[derive(Debug)]
pub struct ChannelSender {
    channel: UnixStream,
    unsent: Mutex<Vec<u8>>,
    room: Condvar,
    dead: AtomicBool,
}

impl ChannelSender {
    /// Sends on this (non-blocking) channel.
    #[must_use]
    pub fn new(channel: UnixStream) -> Self {
        Self { channel, unsent: Mutex::default(), room: Condvar::new(), dead: AtomicBool::new(false) }
    }

    /// Returns the channel, for polling and reading.
    #[must_use]
    pub fn channel(&self) -> &UnixStream {
        &self.channel
    }

    /// Whether bytes wait for the kernel to take them.
    #[must_use]
    pub fn has_unsent(&self) -> bool {
        !locked(&self.unsent).is_empty()
    }

    /// Whether nothing more will be sent.
    #[must_use]
    pub fn is_dead(&self) -> bool {
        self.dead.load(Ordering::Relaxed)
    }

    /// Ends the connection. The gateway reads the end and leaves, which wakes the channel's reader.
    pub fn close(&self) {
        self.dead.store(true, Ordering::Relaxed);
        // A channel that is closed already needs no closing.
        drop(self.channel.shutdown(Shutdown::Write));
        self.room.notify_all();
    }

    /// Sends what the kernel takes now of the unsent bytes.
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
    /// Opens a stream; false if eight are open, or it is open already.
    #[must_use]
    pub fn open(&self, stream: u32) -> bool {
        let mut open = locked(&self.open);
        open.len() < STREAMS_MAX && open.insert(stream)
    }

    /// Notes that the client has left this stream.
    pub fn leave(&self, stream: u32) {
        locked(&self.open).remove(&stream);
    }

    /// Returns how many requests have not ended.
    #[must_use]
    pub fn running(&self) -> usize {
        self.running.load(Ordering::Relaxed)
    }
}

/// Sends the events of one stream.
#[derive(Debug)]
pub struct EventSender {
    sender: Arc<ChannelSender>,
    stream: u32,
    seq: AtomicU32,
    streams: Arc<Streams>,
    ended: AtomicBool,
}

impl EventSender {
    /// Sends on an open stream of this connection.
    #[must_use]
    pub fn new(sender: Arc<ChannelSender>, stream: u32, streams: Arc<Streams>) -> Self {
        streams.running.fetch_add(1, Ordering::Relaxed);
        Self { sender, stream, seq: AtomicU32::new(1), streams, ended: AtomicBool::new(false) }
    }

    /// Sends an event, unless the stream has ended. Only `Output` waits for room, at most 2 s.
    pub fn event(&self, kind: Kind) {
        if !self.ended.load(Ordering::Relaxed) {
            self.send(kind);
        }
    }

    /// Ends the stream, with a last event if there is one; false if it had ended.
    pub fn end(&self, last: Option<Kind>, code: Grpc, text: &str) -> bool {
        if self.ended.swap(true, Ordering::Relaxed) {
            return false;
        }
        let payload = [&[code.code()], text.as_bytes()].concat();
        // First: who reads the last event may leave the stream and ask for the next at once.
        self.streams.leave(self.stream);
        self.streams.running.fetch_sub(1, Ordering::Relaxed);
        if let Some(kind) = last {
            self.send(kind);
        }
        self.sender.send(self.stream, frame::END, &payload, false);
        true
    }

    /// Sends the last event and ends the stream.
    pub fn finish(&self, last: Kind) {
        self.end(Some(last), Grpc::Ok, "");
    }

    fn send(&self, kind: Kind) {
        let wait = matches!(kind, Kind::Output(_));
        let event = wire::Event { seq: self.seq.fetch_add(1, Ordering::Relaxed), kind: Some(kind) };
        self.sender.send(self.stream, frame::EVENT, &event.encode_to_vec(), wait);
    }

    /// Ends the whole connection.
    pub fn close(&self) {
        self.sender.close();
    }

    /// Whether the client may still read the stream.
    #[must_use]
    pub fn is_open(&self) -> bool {
        !self.sender.is_dead() && locked(&self.streams.open).contains(&self.stream)
    }
}

impl Drop for EventSender {
    fn drop(&mut self) {
        // No path leaves a client without an end.
        self.end(None, Grpc::Unavailable, "the request ended without an answer; ask for its result");
    }
}
