//! Unix sockets: peer credentials, hang-ups, and the hand-over of a connection to a gateway.

use crate::error::Fault;
use nix::cmsg_space;
use nix::errno::Errno;
use nix::poll::{PollFd, PollFlags, PollTimeout, poll};
use nix::sys::signal::kill;
use nix::sys::socket::{
    AddressFamily, ControlMessage, ControlMessageOwned, MsgFlags, SockFlag, SockType, UnixAddr,
    UnixCredentials, connect, recvmsg, send, sendmsg, setsockopt, socket, socketpair, sockopt,
};
use nix::unistd::Pid;
use postern_peers::hangup;
use std::io::{self, IoSlice, IoSliceMut};
use std::os::fd::{AsFd, AsRawFd};
use std::os::unix::net::UnixStream;
use std::path::Path;
use std::time::Duration;

/// Hands a client's connection to a gateway of its own and returns our end of a fresh, non-blocking channel, and the
/// gateway's process, which has read nothing of its client's before.
///
/// # Errors
/// No gateway can be had.
pub fn hand_over(gateway: &Path, client: &UnixStream) -> Result<(UnixStream, Pid), Fault> {
    let to_gateway = connect_to(gateway).map_err(Fault::io("connect to gateway.sock"))?;
    let process = greeted(&to_gateway).map_err(Fault::io("learn who the gateway is"))?;
    let flags = SockFlag::SOCK_CLOEXEC | SockFlag::SOCK_NONBLOCK;
    let pair = socketpair(AddressFamily::Unix, SockType::Stream, None, flags);
    let (ours, theirs) = pair.map_err(Fault::io("make a channel"))?;
    let fds = [client.as_raw_fd(), theirs.as_raw_fd()];
    let (byte, rights) = ([IoSlice::new(b"1")], [ControlMessage::ScmRights(&fds)]);
    let sent = sendmsg::<()>(to_gateway.as_raw_fd(), &byte, &rights, MsgFlags::MSG_NOSIGNAL, None);
    sent.map_err(Fault::io("hand a connection to its gateway"))?;
    Ok((ours.into(), process))
}

/// Connects with the option set, without which the kernel may not say who sends.
fn connect_to(gateway: &Path) -> io::Result<UnixStream> {
    let socket = socket(AddressFamily::Unix, SockType::Stream, SockFlag::SOCK_CLOEXEC, None)?;
    setsockopt(&socket, sockopt::PassCred, &true)?;
    connect(socket.as_raw_fd(), &UnixAddr::new(gateway)?)?;
    Ok(socket.into())
}

/// Receives the first byte of a gateway's, with the number of its process as the kernel knows it (unix(7)).
fn greeted(gateway: &UnixStream) -> io::Result<Pid> {
    // How long systemd may take to start it.
    gateway.set_read_timeout(Some(Duration::from_secs(10)))?;
    let (byte, space) = (&mut [0], &mut cmsg_space!(UnixCredentials));
    let parts = &mut [IoSliceMut::new(byte)];
    match recvmsg::<()>(gateway.as_raw_fd(), parts, Some(space), MsgFlags::empty())?.cmsgs()?.next() {
        // 0: the process has ended.
        Some(ControlMessageOwned::ScmCredentials(it)) if it.pid() > 0 => Ok(Pid::from_raw(it.pid())),
        _ => Err(io::ErrorKind::UnexpectedEof.into()),
    }
}

/// Waits until something can be read, or the peer has left; false after `limit`.
#[must_use]
pub fn readable(stream: &UnixStream, limit: Duration) -> bool {
    let mut fds = [PollFd::new(stream.as_fd(), PollFlags::POLLIN | hangup())];
    // The read reports an error.
    poll(&mut fds, PollTimeout::try_from(limit).unwrap_or(PollTimeout::MAX)) != Ok(0)
}

/// Sends what the kernel takes at once; 0 if it takes nothing now.
///
/// # Errors
/// The other end is gone.
pub fn send_now(stream: &UnixStream, bytes: &[u8]) -> io::Result<usize> {
    match send(stream.as_raw_fd(), bytes, MsgFlags::MSG_DONTWAIT | MsgFlags::MSG_NOSIGNAL) {
        Err(Errno::EAGAIN | Errno::EINTR) => Ok(0),
        sent => Ok(sent?),
    }
}

/// Waits until a gateway's process has ended: a captured one may close its channel and live on.
pub fn wait_for_end(gateway: Pid) {
    // EPERM while it lives: it has another user.
    while kill(gateway, None) != Err(Errno::ESRCH) {
        std::thread::sleep(Duration::from_millis(20));
    }
}
