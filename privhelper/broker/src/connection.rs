//! Serves one client's connection: reads frames and starts requests, until client or gateway closes it.
//!
//! Each connection has its own thread, at most one unfinished frame and eight open streams. A violation ends it and is
//! recorded.

use crate::call::Call;
use crate::dispatch;
use crate::events::{ChannelSender, EventSender, Grpc, Streams};
use crate::frame::{Assembler, Frame, Next, Violation};
use crate::state::State;
use nix::poll::{PollFd, PollFlags, PollTimeout, poll};
use postern_peers::{Peer, Permit, hangup, hung_up, is_gone};
use postern_policy::{Code, Denied};
use postern_proto::frame::STREAMS_MAX;
use std::io::{ErrorKind, Read};
use std::os::fd::AsFd;
use std::os::unix::net::UnixStream;
use std::sync::Arc;
use std::time::{Duration, Instant};

/// How long a frame may stay unfinished.
const FRAME_TIME: Duration = Duration::from_secs(10);
/// How often the sender is flushed while requests are under way, in milliseconds.
const LOOK: u16 = 50;

/// A client behind its gateway.
#[derive(Debug)]
pub struct Connection {
    /// The state that all connections share.
    pub state: Arc<State>,
    /// The client, from `SO_PEERCRED`.
    pub peer: Peer,
    /// The broker's own copy of the client's socket.
    pub client: UnixStream,
}

/// Whether the connection continues after a step.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Step {
    On,
    End,
}

/// A channel that is being served.
struct Channel<'a> {
    connection: &'a Connection,
    sender: Arc<ChannelSender>,
    streams: Arc<Streams>,
    assembler: Assembler,
    /// Memory of the body that is arriving.
    memory: Option<Permit>,
    /// When the frame that is arriving began.
    since: Instant,
    /// When the connection was accepted, in microseconds since boot.
    connected_us: u64,
}

impl Connection {
    /// Serves the channel until the client, the gateway or the sender ends it.
    pub fn serve(&self, channel: UnixStream) {
        let mut channel = Channel {
            connection: self,
            sender: Arc::new(ChannelSender::new(channel)),
            streams: Arc::default(),
            assembler: Assembler::default(),
            memory: None,
            since: Instant::now(),
            connected_us: u64::try_from((self.state.host.since_boot)().as_micros()).unwrap_or(0),
        };
        while !channel.sender.is_dead() {
            match channel.step() {
                Ok(Step::On) => {}
                Ok(Step::End) => break,
                Err(Violation(_)) => {
                    self.state.note_malformed(self.peer, "", channel.assembler.bytes());
                    break;
                }
            }
        }
        // Answers that nobody can read any more end here; effects continue.
        channel.sender.flush();
        channel.sender.close();
    }

    /// After the client has left, no further request is accepted, even if its gateway sends one.
    fn has_left(&self) -> bool {
        hung_up(&self.client)
    }
}

impl Channel<'_> {
    fn step(&mut self) -> Result<Step, Violation> {
        let wanted = match self.assembler.needs()? {
            Next::Bytes(wanted) => wanted,
            Next::Admit { stream, method, body_len } => return self.admit(stream, &method, body_len),
            Next::Whole(frame) => return self.take(frame),
        };
        let Some(readable) = self.wait() else { return Ok(Step::End) };
        self.sender.flush();
        if self.assembler.is_unfinished() && self.since.elapsed() > FRAME_TIME {
            return Err(Violation("the frame was not complete in time"));
        }
        if !readable {
            return Ok(Step::On);
        }
        if !self.assembler.is_unfinished() {
            self.since = Instant::now();
        }
        let mut chunk = [0_u8; 16 * 1024];
        let wanted = wanted.min(chunk.len());
        match self.sender.channel().read(chunk.get_mut(..wanted).unwrap_or_default()) {
            Ok(0) => Ok(Step::End),
            Ok(count) => {
                self.assembler.push(chunk.get(..count).unwrap_or_default());
                Ok(Step::On)
            }
            Err(error) if matches!(error.kind(), ErrorKind::WouldBlock | ErrorKind::Interrupted) => {
                Ok(Step::On)
            }
            Err(_) => Ok(Step::End),
        }
    }

    /// Waits for bytes, for the client's leaving or for room in the sender. None: the connection has ended.
    fn wait(&self) -> Option<bool> {
        let unsent = self.sender.has_unsent();
        let busy = self.assembler.is_unfinished() || self.streams.running() > 0 || unsent;
        let wanted = if unsent { PollFlags::POLLIN | PollFlags::POLLOUT } else { PollFlags::POLLIN };
        let channel = PollFd::new(self.sender.channel().as_fd(), wanted);
        let mut fds = [channel, PollFd::new(self.connection.client.as_fd(), hangup())];
        match poll(&mut fds, if busy { PollTimeout::from(LOOK) } else { PollTimeout::NONE }) {
            Ok(_) | Err(nix::errno::Errno::EINTR) => {}
            Err(_) => return None,
        }
        let [channel, client] = fds;
        let arrives = PollFlags::POLLIN | PollFlags::POLLHUP | PollFlags::POLLERR;
        let readable = channel.revents().is_none_or(|events| events.intersects(arrives));
        (!is_gone(&client)).then_some(readable)
    }

    /// Admits a body before it is read: there must be memory for it and, if it is large, a grant.
    fn admit(&mut self, stream: u32, method: &str, body_len: usize) -> Result<Step, Violation> {
        let (state, peer) = (&self.connection.state, self.connection.peer);
        if self.connection.has_left() {
            return Ok(Step::End);
        }
        let admitted = dispatch::admit(state, peer.uid, method, body_len);
        self.memory = admitted.is_ok().then(|| state.bodies.take(peer.uid, body_len)).flatten();
        if self.memory.is_some() {
            self.assembler.admit(body_len);
            return Ok(Step::On);
        }
        self.assembler.skip(body_len);
        let sender = self.open(stream)?;
        let why = "too many requests are in memory; try again later";
        let error = admitted.err().unwrap_or(Denied::new(Code::Busy, why).into());
        dispatch::refuse(Call::new(state, peer, sender, method, None), method, error);
        Ok(Step::On)
    }

    fn take(&mut self, frame: Frame) -> Result<Step, Violation> {
        if self.connection.has_left() {
            return Ok(Step::End);
        }
        let (stream, method, body) = match frame {
            // The effect continues; nobody reads its events.
            Frame::Cancel { stream } => {
                self.streams.leave(stream);
                return Ok(Step::On);
            }
            Frame::Request { stream, method, body } => (stream, method, body),
        };
        let room = self.streams.running() < STREAMS_MAX;
        let sender = self.open(stream)?;
        if !room {
            sender.end(None, Grpc::ResourceExhausted, "requests that were left still run; try again later");
            return Ok(Step::On);
        }
        let memory = self.memory.take();
        let (state, peer) = (&self.connection.state, self.connection.peer);
        let mut call = Call::new(state, peer, sender, &method, memory);
        call.claim.connected_us = self.connected_us;
        dispatch::dispatch(call, &method, body);
        Ok(Step::On)
    }

    /// Opens a stream, unless eight are open, or it is open already.
    fn open(&self, stream: u32) -> Result<EventSender, Violation> {
        let (sender, streams) = (Arc::clone(&self.sender), Arc::clone(&self.streams));
        if !self.streams.open(stream) {
            return Err(Violation("a ninth stream, or one that is open"));
        }
        Ok(EventSender::new(sender, stream, streams))
    }
}
