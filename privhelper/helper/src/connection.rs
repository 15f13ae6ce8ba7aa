//! One connection: frames in, requests out, until either end is gone.
//!
//! A thread of its own reads it. At most one unfinished frame and eight open
//! streams; anything else ends it and is recorded.

use crate::answer;
use crate::dispatch::{Received, Refuse};
use crate::frame::{Assembler, Frame};
use crate::helper::Helper;
use crate::host::Peer;
use crate::reply::{Grpc, Outbox, Sink, Streams};
use crate::sys::socket;
use crate::table;
use nix::poll::{PollFd, PollFlags, PollTimeout, poll};
use postern_policy::Code;
use postern_proto::frame::STREAMS_MAX;
use std::io::{ErrorKind, Read};
use std::os::fd::AsFd;
use std::os::unix::net::UnixStream;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::{Duration, Instant};

/// How long a frame may stay unfinished.
const FRAME_TIME: Duration = Duration::from_secs(10);
/// How often the outbox is looked at while answers are under way, in milliseconds.
const LOOK: u16 = 50;

/// What a connection is for.
pub trait Service {
    /// Takes one request.
    ///
    /// # Errors
    /// It is malformed: the connection ends.
    fn request(&mut self, method: String, body: Vec<u8>, sink: Sink) -> Result<(), Refuse>;
    /// Whether the peer may ask anything more.
    fn is_there(&self) -> bool;
    /// Records bytes that are no frame.
    fn violated(&self, bytes: &[u8]);
}

/// A client behind its gateway.
#[derive(Debug)]
pub struct Client {
    /// What all connections share.
    pub helper: Arc<Helper>,
    /// Whose connection root accepted.
    pub peer: Peer,
    /// Root's own copy of the client's socket.
    pub socket: UnixStream,
}

impl Service for Client {
    fn request(&mut self, method: String, body: Vec<u8>, sink: Sink) -> Result<(), Refuse> {
        if self.helper.stopping.load(Ordering::Relaxed) {
            sink.end(Grpc::Unavailable, "the helper is about to end; ask again");
            return Ok(());
        }
        if let Err(retry_after_s) = self.helper.audit.admit(self.peer.uid) {
            answer::rate_limited(&sink, retry_after_s);
            return Ok(());
        }
        let Some(row) = table::find(&method) else {
            self.helper.note_refused(self.peer, &method, Code::Unsupported);
            sink.end(Grpc::Unimplemented, "unsupported: this helper has no such verb");
            return Ok(());
        };
        let Some(share) = self.helper.bodies.take(body.len()) else {
            self.helper.note_refused(self.peer, &method, Code::Busy);
            sink.end(Grpc::ResourceExhausted, "too many requests are in memory; ask again later");
            return Ok(());
        };
        let ended = sink.clone();
        let received =
            Received { helper: Arc::clone(&self.helper), peer: self.peer, method, body, sink, share };
        (row.run)(received).inspect_err(|Refuse| ended.end(Grpc::InvalidArgument, "malformed request"))
    }

    /// A client that hung up can ask nothing more, whatever its gateway says.
    fn is_there(&self) -> bool {
        !socket::hung_up(&self.socket)
    }

    fn violated(&self, bytes: &[u8]) {
        self.helper.note_malformed(self.peer, "", bytes);
    }
}

/// Serves a connection until it ends.
pub fn serve(channel: UnixStream, watch: Option<&UnixStream>, service: &mut impl Service) {
    let outbox = Arc::new(Outbox::new(channel));
    let streams = Arc::new(Streams::default());
    let mut assembler = Assembler::default();
    let mut since = Instant::now();
    while !outbox.is_dead() {
        let Some((readable, gone)) = wait(&outbox, watch, &streams, assembler.is_unfinished()) else {
            break;
        };
        outbox.flush();
        let late = assembler.is_unfinished() && since.elapsed() > FRAME_TIME;
        if gone || late {
            if late {
                service.violated(assembler.bytes());
            }
            break;
        }
        if !readable {
            continue;
        }
        if !assembler.is_unfinished() {
            since = Instant::now();
        }
        match step(&outbox, &mut assembler) {
            Step::More => {}
            Step::Gone => break,
            Step::Violated => {
                service.violated(assembler.bytes());
                break;
            }
            Step::Whole(frame) => {
                if !service.is_there() || !take(service, frame, &outbox, &streams) {
                    break;
                }
            }
        }
    }
    // Answers that nobody can read any more end here; effects go on.
    outbox.flush();
    outbox.close();
}

fn take(service: &mut impl Service, frame: Frame, outbox: &Arc<Outbox>, streams: &Arc<Streams>) -> bool {
    match frame {
        // What has begun goes on; nobody reads its answer.
        Frame::Cancel { stream } => {
            streams.leave(stream);
            true
        }
        Frame::Request { stream, method, body } => {
            if !streams.open(stream) {
                service.violated(&body);
                return false;
            }
            let room = streams.running() < STREAMS_MAX;
            let sink = Sink::new(Arc::clone(outbox), stream, Arc::clone(streams));
            if !room {
                sink.end(Grpc::ResourceExhausted, "requests that were left still run; ask again later");
                return true;
            }
            service.request(method, body, sink).is_ok()
        }
    }
}

/// Waits for bytes, for the client's hang-up or for room in the outbox. None: the connection is broken.
fn wait(
    outbox: &Outbox,
    watch: Option<&UnixStream>,
    streams: &Streams,
    unfinished: bool,
) -> Option<(bool, bool)> {
    let busy = unfinished || streams.running() > 0 || outbox.has_unsent();
    let mut wanted = PollFlags::POLLIN;
    if outbox.has_unsent() {
        wanted |= PollFlags::POLLOUT;
    }
    let channel = outbox.channel();
    let client = watch.unwrap_or(channel);
    let mut fds = [PollFd::new(channel.as_fd(), wanted), PollFd::new(client.as_fd(), socket::hangup())];
    match poll(&mut fds, if busy { PollTimeout::from(LOOK) } else { PollTimeout::NONE }) {
        Ok(_) | Err(nix::errno::Errno::EINTR) => {}
        Err(_) => return None,
    }
    let [channel, client] = fds;
    let arrives = PollFlags::POLLIN | PollFlags::POLLHUP | PollFlags::POLLERR;
    let readable = channel.revents().is_none_or(|events| events.intersects(arrives));
    Some((readable, watch.is_some() && socket::is_gone(&client)))
}

enum Step {
    More,
    Whole(Frame),
    Violated,
    Gone,
}

fn step(outbox: &Outbox, assembler: &mut Assembler) -> Step {
    let mut chunk = [0_u8; 16 * 1024];
    let wanted = match assembler.wanted() {
        Ok(wanted) => wanted.min(chunk.len()),
        Err(_) => return Step::Violated,
    };
    let read = outbox.channel().read(chunk.get_mut(..wanted).unwrap_or_default());
    match read {
        Ok(0) => return Step::Gone,
        Ok(count) => assembler.push(chunk.get(..count).unwrap_or_default()),
        Err(error) if matches!(error.kind(), ErrorKind::WouldBlock | ErrorKind::Interrupted) => {
            return Step::More;
        }
        Err(_) => return Step::Gone,
    }
    match assembler.wanted() {
        Ok(0) => assembler.take().map_or(Step::Violated, Step::Whole),
        Ok(_) => Step::More,
        Err(_) => Step::Violated,
    }
}
