//! Startup: drops inherited power, and takes the two sockets that systemd passed.

use crate::host::Host;
use nix::sys::prctl::{set_dumpable, set_no_new_privs};
use nix::sys::stat::{Mode, umask};
use postern_root::Fault;
use std::os::fd::RawFd;
use std::os::unix::net::UnixListener;
use std::path::Path;

/// The listening sockets, non-blocking.
#[derive(Debug)]
pub struct Sockets {
    /// Of the broker.
    pub probe: UnixListener,
    /// Of the recorder.
    pub asked: UnixListener,
}

/// Drops umask, working directory, core dumps, tracing by the same uid and new privileges. The unit sets the rest: user,
/// capabilities, files, system calls.
///
/// # Errors
/// The process runs as root, so that apt's hooks would too; or a step failed.
pub fn confine() -> Result<(), Fault> {
    if nix::unistd::Uid::effective().is_root() {
        return Err(Fault::new("must not run as root; is it started by its unit?"));
    }
    umask(Mode::from_bits_truncate(0o077));
    nix::unistd::chdir("/").map_err(Fault::io("change to /"))?;
    set_dumpable(false).map_err(Fault::io("forbid tracing and core dumps"))?;
    set_no_new_privs().map_err(Fault::io("forbid new privileges"))
}

/// Takes the two sockets that systemd passed, told apart by the paths they are bound to, and closes every other inherited
/// descriptor but the standard three.
///
/// # Errors
/// One is missing, or another was passed.
pub fn sockets(host: &Host) -> Result<Sockets, Fault> {
    // Descriptors from 3 on are those that systemd passed (sd_listen_fds(3)).
    const FIRST_OTHER: RawFd = 5;
    let mut given = listenfd::ListenFd::from_env();
    if given.len() != 2 {
        return Err(Fault::new("systemd must pass exactly two sockets"));
    }
    let listed = std::fs::read_dir("/proc/self/fd").map_err(Fault::io("list descriptors"))?;
    let open = listed.filter_map(|entry| entry.ok()?.file_name().to_str()?.parse::<RawFd>().ok());
    for fd in open.filter(|fd| *fd >= FIRST_OTHER).collect::<Vec<_>>() {
        // The descriptor of this very listing is closed already.
        nix::unistd::close(fd).ok();
    }
    let mut listeners = Vec::new();
    for index in 0..given.len() {
        let listener = given.take_unix_listener(index).map_err(Fault::io("take a socket"))?;
        listeners.extend(listener);
    }
    Ok(Sockets {
        probe: take(&mut listeners, &host.probe_socket)?,
        asked: take(&mut listeners, &host.asked_socket)?,
    })
}

fn take(listeners: &mut Vec<UnixListener>, path: &Path) -> Result<UnixListener, Fault> {
    let is_at = |listener: &UnixListener| {
        listener.local_addr().is_ok_and(|address| address.as_pathname() == Some(path))
    };
    let missing = || Fault::new(format!("systemd did not pass {}", path.display()));
    let at = listeners.iter().position(is_at).ok_or_else(missing)?;
    let listener = listeners.swap_remove(at);
    listener.set_nonblocking(true).map_err(Fault::io("make a socket non-blocking"))?;
    Ok(listener)
}
