//! Starts a program: drops inherited descriptors and power. Then accepts connections of the recorder's: one thread and one
//! order each, until there is nothing to do.

use crate::error::Fault;
use caps::{CapSet, Capability, CapsHashSet};
use nix::poll::{PollFd, PollFlags, PollTimeout, poll};
use nix::sys::prctl::{set_dumpable, set_no_new_privs};
use nix::sys::signal::{SigSet, Signal};
use nix::sys::signalfd::{SfdFlags, SignalFd};
use nix::sys::socket::{getsockopt, sockopt::PeerCredentials};
use nix::sys::stat::{Mode, umask};
use std::io::Write;
use std::os::fd::{AsFd, RawFd};
use std::os::unix::net::{UnixListener, UnixStream};
use std::process::ExitCode;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

/// Drops power and takes the socket and the signals, in this order: inherited descriptors are closed before one of our own
/// is opened, and signals are blocked before a thread is started.
///
/// # Errors
/// As [`drop_power`]; there is not exactly one socket.
pub fn start(kept: &[Capability]) -> Result<(UnixListener, SignalFd), Fault> {
    drop_power(kept)?;
    Ok((listener()?, hold_signals()?))
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
    if keep_only(kept)? {
        Ok(())
    } else {
        Err(Fault::new("a capability is missing; does this run in its unit?"))
    }
}

/// Drops every capability of this thread but these. Returns whether it had all of them.
///
/// # Errors
/// They cannot be read or dropped.
pub fn keep_only(kept: &[Capability]) -> Result<bool, Fault> {
    let failed = |error| Fault::new(format!("drop capabilities: {error}"));
    let had = caps::read(None, CapSet::Permitted).map_err(failed)?;
    let kept_of_had = kept.iter().copied().filter(|one| had.contains(one)).collect::<CapsHashSet>();
    for set in [CapSet::Ambient, CapSet::Inheritable] {
        caps::clear(None, set).map_err(failed)?;
    }
    for set in [CapSet::Effective, CapSet::Permitted] {
        caps::set(None, set, &kept_of_had).map_err(failed)?;
    }
    Ok(kept_of_had.len() == kept.len())
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

/// Ends a program: with exit status 1 and one line in the journal if it failed.
#[must_use]
pub fn exit(program: &str, ended: Result<(), Fault>) -> ExitCode {
    let Err(fault) = ended else { return ExitCode::SUCCESS };
    // Without a journal there is only the exit status.
    drop(writeln!(std::io::stderr(), "{program}: {fault}"));
    ExitCode::FAILURE
}

/// How often it looks again for a thread, or for one of its own that has ended.
const PAUSE: Duration = Duration::from_millis(20);

/// Limits of a server.
#[derive(Debug, Clone, Copy)]
pub struct Limits {
    /// Time without a connection after which the program ends.
    pub idle: Duration,
    /// Most connections at once; more wait in the socket's backlog. Above what the broker lets run (32), so that an operator's undo finds a place.
    pub connections: usize,
    /// Longest wait for a frame of the recorder's, and for it to take one.
    pub patience: Duration,
}

impl Limits {
    /// The limits of an installed program.
    pub const REAL: Self =
        Self { idle: Duration::from_secs(45), connections: 64, patience: Duration::from_secs(30) };
}

/// Why a server ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Ended {
    /// It was idle; or the policy changed, and the next process loads it.
    Idle,
    /// Asked to stop.
    Signal,
}

/// Serves a non-blocking listener until it is idle, `stop` can be read, or `is_current` is false right before a connection
/// is accepted: that connection stays in the backlog for the next process. Returns when every order has ended.
///
/// # Errors
/// The listener cannot be polled or accepted from.
pub fn serve(
    listener: &UnixListener,
    stop: &impl AsFd,
    limits: Limits,
    peer_uid: u32,
    is_current: impl Fn() -> bool,
    handle: impl Fn(UnixStream) + Sync,
) -> Result<Ended, Fault> {
    let (handle, open) = (&handle, &AtomicUsize::new(0));
    std::thread::scope(|scope| {
        loop {
            // Also asked to stop, the program ends no earlier: every order is carried out.
            while open.load(Ordering::Acquire) >= limits.connections {
                std::thread::sleep(PAUSE);
            }
            let [stopped, connected] = wait(listener, stop, limits.idle)?;
            if stopped {
                return Ok(Ended::Signal);
            }
            let is_idle = !connected && open.load(Ordering::Acquire) == 0;
            if is_idle || (connected && !is_current()) {
                return Ok(Ended::Idle);
            }
            if !connected {
                continue;
            }
            let (give, take) = std::sync::mpsc::channel();
            let work = move || {
                take.iter().for_each(handle);
                open.fetch_sub(1, Ordering::AcqRel);
            };
            // Before it accepts: without a thread the connection waits in the backlog, and its order is not lost.
            if std::thread::Builder::new().name("order".to_owned()).spawn_scoped(scope, work).is_err() {
                std::thread::sleep(PAUSE);
                continue;
            }
            open.fetch_add(1, Ordering::AcqRel);
            let Ok((stream, _)) = listener.accept() else { continue };
            let peer = getsockopt(&stream, PeerCredentials).map_err(Fault::io("ask who connects"))?;
            let patience = Some(limits.patience);
            let timed = stream.set_read_timeout(patience).and_then(|()| stream.set_write_timeout(patience));
            if peer.uid() == peer_uid && timed.is_ok() {
                give.send(stream).ok();
            }
        }
    })
}

/// Waits for a signal or a connection.
fn wait(listener: &UnixListener, stop: &impl AsFd, idle: Duration) -> Result<[bool; 2], Fault> {
    let mut fds = [stop.as_fd(), listener.as_fd()].map(|fd| PollFd::new(fd, PollFlags::POLLIN));
    match poll(&mut fds, PollTimeout::try_from(idle).unwrap_or(PollTimeout::MAX)) {
        Ok(_) => Ok(fds.map(|fd| fd.any().unwrap_or(false))),
        Err(nix::errno::Errno::EINTR) => Ok([false, false]),
        Err(errno) => Err(Fault::io("wait for a connection")(errno)),
    }
}
