//! Accepts connections of the recorder's: one thread and one order each, until there is nothing to do.

use crate::error::Fault;
use nix::poll::{PollFd, PollFlags, PollTimeout, poll};
use nix::sys::socket::{getsockopt, sockopt::PeerCredentials};
use std::io::Write;
use std::os::fd::AsFd;
use std::os::unix::net::{UnixListener, UnixStream};
use std::process::ExitCode;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

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
            let is_full = open.load(Ordering::Acquire) >= limits.connections;
            let [stopped, connected] = wait(listener, stop, limits.idle, is_full)?;
            if stopped {
                return Ok(Ended::Signal);
            }
            let is_idle = !connected && !is_full && open.load(Ordering::Acquire) == 0;
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

/// Waits for a signal or a connection. With all threads busy it waits shortly for a signal alone.
fn wait(
    listener: &UnixListener,
    stop: &impl AsFd,
    idle: Duration,
    is_full: bool,
) -> Result<[bool; 2], Fault> {
    let events = if is_full { PollFlags::empty() } else { PollFlags::POLLIN };
    let mut fds = [PollFd::new(stop.as_fd(), PollFlags::POLLIN), PollFd::new(listener.as_fd(), events)];
    let time = if is_full { PAUSE } else { idle };
    match poll(&mut fds, PollTimeout::try_from(time).unwrap_or(PollTimeout::MAX)) {
        Ok(_) => Ok(fds.map(|fd| fd.any().unwrap_or(false))),
        Err(nix::errno::Errno::EINTR) => Ok([false, false]),
        Err(errno) => Err(Fault::io("wait for a connection")(errno)),
    }
}
