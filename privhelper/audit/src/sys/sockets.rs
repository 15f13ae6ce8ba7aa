//! Unix sockets: the peer's credentials, hang-ups, and messages to the journal.

use nix::poll::{PollFd, PollFlags, PollTimeout, poll};
use nix::sys::socket::{getsockopt, sockopt::PeerCredentials};
use std::io::{self, Write};
use std::os::fd::AsFd;
use std::os::unix::net::{UnixDatagram, UnixStream};
use std::path::{Path, PathBuf};
use std::time::Duration;

/// Who a process is, as the kernel says.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Peer {
    /// Its user.
    pub uid: u32,
    /// Its group.
    pub gid: u32,
    /// The process.
    pub pid: i32,
}

/// Reads the credentials that the kernel took when the peer connected (unix(7), `SO_PEERCRED`).
///
/// # Errors
/// As getsockopt(2).
pub fn peer(stream: &UnixStream) -> io::Result<Peer> {
    let credentials = getsockopt(stream, PeerCredentials)?;
    Ok(Peer { uid: credentials.uid(), gid: credentials.gid(), pid: credentials.pid() })
}

/// Returns whether the peer has closed its end, or half of it (`POLLRDHUP`, which nix does not name).
pub fn hung_up(stream: &UnixStream) -> bool {
    let hangup = PollFlags::from_bits_retain(nix::libc::POLLRDHUP);
    let mut fds = [PollFd::new(stream.as_fd(), hangup)];
    poll(&mut fds, PollTimeout::ZERO).is_err()
        || fds.iter().any(|fd| fd.revents().is_none_or(|events| !events.is_empty()))
}

/// The journal's socket. Messages may be lost: nothing waits for them.
pub struct Journal {
    socket: Option<UnixDatagram>,
    path: PathBuf,
}

impl Journal {
    /// Uses the journal that listens at this path, now or later.
    pub fn new(path: &Path) -> Self {
        let socket = UnixDatagram::unbound().and_then(|socket| socket.set_nonblocking(true).map(|()| socket));
        Self { socket: socket.ok(), path: path.to_owned() }
    }

    /// Sends one message: lines of `FIELD=value`, no value with a line break (systemd's native journal protocol).
    pub fn send(&self, fields: &str) {
        if let Some(socket) = &self.socket {
            // The log has every record too.
            drop(socket.send_to(fields.as_bytes(), &self.path));
        }
    }
}

/// Writes one line to a socket and closes it.
///
/// # Errors
/// Nobody listens, or takes it within a second.
pub fn send_line(path: &Path, line: &str) -> io::Result<()> {
    let mut stream = UnixStream::connect(path)?;
    stream.set_write_timeout(Some(Duration::from_secs(1)))?;
    stream.write_all(format!("{line}\n").as_bytes())
}
