//! Sockets: who is at the other end, and handing a connection to a gateway.

use crate::audit::Asked;
use crate::error::Fault;
use crate::host::Host;
use crate::host::Peer;
use nix::poll::{PollFd, PollFlags, PollTimeout, poll};
use nix::sys::socket::{
    AddressFamily, Backlog, ControlMessage, MsgFlags, SockFlag, SockType, UnixAddr, bind, getsockopt, listen,
    sendmsg, socket, socketpair, sockopt::PeerCredentials,
};
use std::io::{self, IoSlice};
use std::os::fd::{AsFd, AsRawFd};
use std::os::unix::fs::PermissionsExt;
use std::os::unix::net::{UnixDatagram, UnixListener, UnixStream};
use std::path::{Path, PathBuf};

/// The credentials that the kernel took when the peer connected (unix(7), `SO_PEERCRED`).
///
/// # Errors
/// The kernel does not say.
pub fn peer(stream: &UnixStream) -> Result<Peer, Fault> {
    let credentials = getsockopt(stream, PeerCredentials).map_err(Fault::io("read SO_PEERCRED"))?;
    Ok(Peer { uid: credentials.uid(), gid: credentials.gid(), pid: credentials.pid() })
}

/// Hands a client's connection to a gateway of its own; root keeps the returned end of a fresh channel.
///
/// # Errors
/// No gateway can be had.
pub fn hand_over(gateway: &Path, client: &UnixStream) -> Result<UnixStream, Fault> {
    let to_gateway = UnixStream::connect(gateway).map_err(Fault::io("connect to gateway.sock"))?;
    let (ours, theirs) = socketpair(AddressFamily::Unix, SockType::Stream, None, SockFlag::SOCK_CLOEXEC)
        .map_err(Fault::io("make a channel"))?;
    let fds = [client.as_raw_fd(), theirs.as_raw_fd()];
    let sent = sendmsg::<()>(
        to_gateway.as_raw_fd(),
        &[IoSlice::new(b"1")],
        &[ControlMessage::ScmRights(&fds)],
        MsgFlags::MSG_NOSIGNAL,
        None,
    );
    sent.map_err(Fault::io("hand a connection to its gateway"))?;
    let ours = UnixStream::from(ours);
    ours.set_nonblocking(true).map_err(Fault::io("make a channel non-blocking"))?;
    Ok(ours)
}

/// What is polled for to learn that a peer has closed its end, or half of it (`POLLRDHUP`, which nix does not name).
#[must_use]
pub fn hangup() -> PollFlags {
    PollFlags::from_bits_retain(nix::libc::POLLRDHUP)
}

/// Whether a descriptor polled for [`hangup`] has any event: there is none but the peer's leaving or an error.
#[must_use]
pub fn is_gone(fd: &PollFd<'_>) -> bool {
    fd.revents().is_none_or(|events| !events.is_empty())
}

/// Whether the peer has closed its end, or half of it.
#[must_use]
pub fn hung_up(stream: &UnixStream) -> bool {
    let mut fds = [PollFd::new(stream.as_fd(), hangup())];
    poll(&mut fds, PollTimeout::ZERO).is_err() || fds.iter().any(is_gone)
}

/// Binds a listener by hand, without systemd: nobody can connect before owner and mode are set. The umask is
/// 0177 by then, see [`crate::startup`].
///
/// # Errors
/// The socket can't be made there.
pub fn listen_at(path: &Path, gid: Option<u32>) -> Result<UnixListener, Fault> {
    match std::fs::remove_file(path) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => {
            return Err(Fault::Io { doing: "remove an old socket", error });
        }
        Ok(()) | Err(_) => {}
    }
    let address = UnixAddr::new(path).map_err(Fault::io("name a socket"))?;
    let fd = socket(AddressFamily::Unix, SockType::Stream, SockFlag::SOCK_CLOEXEC, None)
        .map_err(Fault::io("make a socket"))?;
    bind(fd.as_raw_fd(), &address).map_err(Fault::io("bind a socket"))?;
    std::os::unix::fs::chown(path, None, gid).map_err(Fault::io("set a socket's group"))?;
    std::fs::set_permissions(path, std::fs::Permissions::from_mode(0o660))
        .map_err(Fault::io("set a socket's mode"))?;
    listen(&fd, Backlog::new(128).unwrap_or(Backlog::MAXCONN)).map_err(Fault::io("listen on a socket"))?;
    Ok(UnixListener::from(fd))
}

/// The message id of "a request waits for approval", for `journalctl MESSAGE_ID=…` and whatever watches the journal.
pub const WAITS: &str = "7d3c2f0b9a5e4c61b8f4d2a6e1905c3b";

/// Writes a message with fields into the journal (systemd's native journal protocol). Both texts are one line.
///
/// # Errors
/// No journal listens.
pub fn tell_journal(host: &Host, _: &Asked, message: &str, approval: &str) -> Result<(), Fault> {
    let fields = format!(
        "MESSAGE={message}\nMESSAGE_ID={WAITS}\nPRIORITY=5\nSYSLOG_IDENTIFIER=postern-helper\nPOSTERN_APPROVAL={approval}\n"
    );
    let socket = UnixDatagram::unbound().map_err(Fault::io("make a socket"))?;
    socket.set_nonblocking(true).map_err(Fault::io("make a socket non-blocking"))?;
    let sent = socket.send_to(fields.as_bytes(), &host.paths.journal_socket);
    sent.map(drop).map_err(Fault::io("write to the journal"))
}

/// The journal, for what may be lost: nothing waits for it.
#[derive(Debug)]
pub struct Journal {
    socket: Option<UnixDatagram>,
    path: PathBuf,
}

impl Journal {
    /// The journal that listens there, now or later.
    #[must_use]
    pub fn new(path: &Path) -> Self {
        let socket = UnixDatagram::unbound().and_then(|socket| socket.set_nonblocking(true).map(|()| socket));
        Self { socket: socket.ok(), path: path.to_owned() }
    }

    /// Sends one message: lines of `FIELD=value`, no value with a line break.
    pub fn tell(&self, fields: &str) {
        if let Some(socket) = &self.socket {
            // The log has it.
            drop(socket.send_to(fields.as_bytes(), &self.path));
        }
    }
}

/// Sends what the kernel takes at once; 0 if it takes nothing now.
///
/// # Errors
/// The other end is gone.
pub fn send_now(stream: &UnixStream, bytes: &[u8]) -> io::Result<usize> {
    let flags = MsgFlags::MSG_DONTWAIT | MsgFlags::MSG_NOSIGNAL;
    match nix::sys::socket::send(stream.as_raw_fd(), bytes, flags) {
        Ok(sent) => Ok(sent),
        Err(nix::errno::Errno::EAGAIN | nix::errno::Errno::EINTR) => Ok(0),
        Err(error) => Err(error.into()),
    }
}
