//! Startup: drops inherited descriptors and power before the first order.

use crate::error::Fault;
use caps::{CapSet, Capability, CapsHashSet};
use nix::sys::prctl::{set_dumpable, set_no_new_privs};
use nix::sys::signal::{SigSet, Signal};
use nix::sys::signalfd::{SfdFlags, SignalFd};
use nix::sys::stat::{Mode, umask};
use std::os::fd::RawFd;
use std::os::unix::net::UnixListener;

/// Drops power and takes the socket and the signals, in this order: inherited descriptors are closed before one of our own
/// is opened, and signals are blocked before a thread is started.
///
/// # Errors
/// As [`drop_power`]; there is not exactly one socket.
pub fn start(kept: &[Capability]) -> Result<(UnixListener, SignalFd), Fault> {
    drop_power(kept)?;
    let listener = listener()?;
    Ok((listener, hold_signals()?))
}

/// Drops umask, working directory, core dumps, tracing by the same uid, new privileges, and every capability but these.
///
/// # Errors
/// One of these capabilities is missing, or something cannot be dropped.
pub fn drop_power(kept: &[Capability]) -> Result<(), Fault> {
    umask(Mode::from_bits_truncate(0o077));
    nix::unistd::chdir("/").map_err(Fault::io("change to /"))?;
    set_dumpable(false).map_err(Fault::io("forbid tracing and core dumps"))?;
    set_no_new_privs().map_err(Fault::io("forbid new privileges"))?;
    let failed = |what: &str| Fault::new(format!("{what}; does this run in its unit?"));
    let wanted: CapsHashSet = kept.iter().copied().collect();
    let had = caps::read(None, CapSet::Permitted).map_err(|_| failed("capabilities cannot be read"))?;
    if !wanted.is_subset(&had) {
        return Err(failed("a capability is missing"));
    }
    let nothing = CapsHashSet::new();
    let sets = [
        (CapSet::Ambient, &nothing),
        (CapSet::Inheritable, &nothing),
        (CapSet::Effective, &wanted),
        (CapSet::Permitted, &wanted),
    ];
    for (set, value) in sets {
        caps::set(None, set, value).map_err(|_| failed("capabilities cannot be dropped"))?;
    }
    Ok(())
}

/// Keeps SIGTERM and SIGINT for [`crate::server::serve`].
///
/// # Errors
/// They cannot be blocked.
pub fn hold_signals() -> Result<SignalFd, Fault> {
    let signals = SigSet::from_iter([Signal::SIGTERM, Signal::SIGINT]);
    signals.thread_block().map_err(Fault::io("block signals"))?;
    SignalFd::with_flags(&signals, SfdFlags::SFD_CLOEXEC).map_err(Fault::io("make a signalfd"))
}

/// Takes the one socket that systemd passed, and closes every other inherited descriptor but the standard three.
fn listener() -> Result<UnixListener, Fault> {
    // Descriptors from 3 on are those that systemd passed (sd_listen_fds(3)).
    const FIRST_OTHER: RawFd = 4;
    let mut given = listenfd::ListenFd::from_env();
    let listed = std::fs::read_dir("/proc/self/fd").map_err(Fault::io("list descriptors"))?;
    let open = listed.filter_map(|entry| entry.ok()?.file_name().to_str()?.parse::<RawFd>().ok());
    for fd in open.filter(|fd| *fd >= FIRST_OTHER).collect::<Vec<_>>() {
        // The descriptor of this very listing is closed already.
        nix::unistd::close(fd).ok();
    }
    let listener = given.take_unix_listener(0).map_err(Fault::io("take the socket"))?;
    let listener = listener.filter(|_| given.len() == 1);
    let listener = listener.ok_or_else(|| Fault::new("systemd must pass exactly one socket"))?;
    listener.set_nonblocking(true).map_err(Fault::io("make a socket non-blocking"))?;
    Ok(listener)
}
