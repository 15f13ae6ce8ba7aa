//! Unix sockets: who is at the other end, and whether it is still there.

use nix::poll::{PollFd, PollFlags, PollTimeout, poll};
use nix::sys::socket::{getsockopt, sockopt::PeerCredentials};
use std::io;
use std::os::fd::AsFd;
use std::os::unix::net::UnixStream;

/// A peer as the kernel reports it: unix(7), `SO_PEERCRED`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Peer {
    /// Effective uid when it connected.
    pub uid: u32,
    /// Effective gid when it connected.
    pub gid: u32,
    /// Process id when it connected, 0 if it is in another pid namespace; never used to decide.
    pub pid: i32,
}

/// Reads the credentials that the kernel took when the peer connected.
///
/// # Errors
/// As getsockopt(2).
pub fn peer(stream: &UnixStream) -> io::Result<Peer> {
    let credentials = getsockopt(stream, PeerCredentials)?;
    Ok(Peer { uid: credentials.uid(), gid: credentials.gid(), pid: credentials.pid() })
}

/// The event that a peer has closed its end, or half of it (`POLLRDHUP`, which nix does not name).
pub fn hangup() -> PollFlags {
    PollFlags::from_bits_retain(nix::libc::POLLRDHUP)
}

/// Returns whether a descriptor polled for [`hangup`] has any event: there is none but the peer's leaving or an error.
pub fn is_gone(fd: &PollFd<'_>) -> bool {
    fd.revents().is_none_or(|events| !events.is_empty())
}

/// Returns whether the peer has closed its end, or half of it.
pub fn hung_up(stream: &UnixStream) -> bool {
    let mut fds = [PollFd::new(stream.as_fd(), hangup())];
    poll(&mut fds, PollTimeout::ZERO).is_err() || fds.iter().any(is_gone)
}
