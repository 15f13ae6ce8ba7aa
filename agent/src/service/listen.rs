//! The listening socket: systemd's, or one made by hand under the same path.

use super::app::Peer;
use crate::protocol::owner::Owner;
use nix::sys::stat::{Mode, umask};
use nix::unistd::{Group, chown};
use std::io;
use std::os::unix::fs::PermissionsExt;
use std::os::unix::net::UnixStream;
use std::path::Path;
use tokio::net::UnixListener;

/// A uid that is nobody's, for a peer whose credentials the kernel does not tell.
const NOBODY_KNOWN: u32 = u32::MAX;

/// Returns the peer's uid from `SO_PEERCRED`.
pub fn peer(stream: &tokio::net::UnixStream) -> Peer {
    Peer(Owner::Uid(stream.peer_cred().map_or(NOBODY_KNOWN, |cred| cred.uid())))
}

/// The socket that systemd passed, or a new one.
pub fn listener(path: &Path) -> io::Result<UnixListener> {
    let listener = match listenfd::ListenFd::from_env().take_unix_listener(0)? {
        Some(listener) => listener,
        None => bind(path)?,
    };
    listener.set_nonblocking(true)?;
    UnixListener::from_std(listener)
}

/// Binds so that nobody can connect before owner and mode are set. A socket that nobody listens on is
/// left from an earlier run.
fn bind(path: &Path) -> io::Result<std::os::unix::net::UnixListener> {
    if UnixStream::connect(path).is_ok() {
        return Err(io::Error::new(
            io::ErrorKind::AddrInUse,
            format!("another agent listens on {}", path.display()),
        ));
    }
    match std::fs::remove_file(path) {
        Err(e) if e.kind() != io::ErrorKind::NotFound => return Err(e),
        Ok(()) | Err(_) => {}
    }
    let before = umask(Mode::from_bits_truncate(0o177));
    let bound = std::os::unix::net::UnixListener::bind(path);
    umask(before);
    let listener = bound?;
    // Without the right to give the socket to the group, it stays its owner's alone.
    let group = Group::from_name("postern-users").ok().flatten();
    if let Some(group) = group
        && chown(path, None, Some(group.gid)).is_ok()
    {
        std::fs::set_permissions(path, std::fs::Permissions::from_mode(0o660))?;
    }
    Ok(listener)
}
