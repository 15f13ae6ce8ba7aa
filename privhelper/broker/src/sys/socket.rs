//! Unix sockets: peer credentials, hang-ups, and the hand-over of a connection to a gateway.

use crate::error::Fault;
use nix::errno::Errno;
use nix::poll::{PollFd, PollFlags, PollTimeout, poll};
use nix::sys::socket::{
    AddressFamily, ControlMessage, MsgFlags, SockFlag, SockType, send, sendmsg, socketpair,
};
use postern_peers::hangup;
use std::io::{self, IoSlice, Read};
use std::net::Shutdown;
use std::os::fd::{AsFd, AsRawFd};
use std::os::unix::net::UnixStream;
use std::path::Path;
use std::time::{Duration, Instant};

/// Hands a client's connection to a gateway of its own and returns our end of a fresh, non-blocking channel.
///
/// # Errors
/// No gateway can be had.
pub fn hand_over(gateway: &Path, client: &UnixStream) -> Result<UnixStream, Fault> {
    let to_gateway = UnixStream::connect(gateway).map_err(Fault::io("connect to gateway.sock"))?;
    let (ours, theirs) = socketpair(AddressFamily::Unix, SockType::Stream, None, SockFlag::SOCK_CLOEXEC)
        .map_err(Fault::io("make a channel"))?;
    let fds = [client.as_raw_fd(), theirs.as_raw_fd()];
    sendmsg::<()>(
        to_gateway.as_raw_fd(),
        &[IoSlice::new(b"1")],
        &[ControlMessage::ScmRights(&fds)],
        MsgFlags::MSG_NOSIGNAL,
        None,
    )
    .map_err(Fault::io("hand a connection to its gateway"))?;
    let ours = UnixStream::from(ours);
    ours.set_nonblocking(true).map_err(Fault::io("make a channel non-blocking"))?;
    Ok(ours)
}

/// Waits until something can be read, or the peer has left; false after `limit`.
#[must_use]
pub fn readable(stream: &UnixStream, limit: Duration) -> bool {
    let mut fds = [PollFd::new(stream.as_fd(), PollFlags::POLLIN | hangup())];
    let timeout = PollTimeout::try_from(limit).unwrap_or(PollTimeout::MAX);
    // The read reports an error.
    poll(&mut fds, timeout) != Ok(0)
}

/// Sends what the kernel takes at once; 0 if it takes nothing now.
///
/// # Errors
/// The other end is gone.
pub fn send_now(stream: &UnixStream, bytes: &[u8]) -> io::Result<usize> {
    match send(stream.as_raw_fd(), bytes, MsgFlags::MSG_DONTWAIT | MsgFlags::MSG_NOSIGNAL) {
        Ok(sent) => Ok(sent),
        Err(Errno::EAGAIN | Errno::EINTR) => Ok(0),
        Err(error) => Err(error.into()),
    }
}

/// Closes our half and waits until the peer closes its own, at most `limit`. Bytes that it still sends are dropped.
pub fn drain(mut stream: &UnixStream, limit: Duration) {
    // It may be closed already.
    drop(stream.shutdown(Shutdown::Write));
    let deadline = Instant::now().checked_add(limit);
    let left = || deadline.map(|at| at.saturating_duration_since(Instant::now())).unwrap_or_default();
    let mut bytes = [0; 4096];
    while !left().is_zero() && readable(stream, left()) {
        match stream.read(&mut bytes) {
            Ok(0) => return,
            Ok(_) => {}
            Err(error) if matches!(error.kind(), io::ErrorKind::WouldBlock | io::ErrorKind::Interrupted) => {}
            Err(_) => return,
        }
    }
}
