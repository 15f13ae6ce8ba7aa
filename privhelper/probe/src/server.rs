//! Serves both sockets, each on a thread that accepts, until both are idle, SIGTERM arrives, or the accepted policy was
//! replaced. The sockets stay with systemd, which starts the next process.

use crate::startup::Sockets;
use crate::state::State;
use nix::sys::epoll::{Epoll, EpollCreateFlags, EpollEvent, EpollFlags};
use nix::sys::eventfd::{EfdFlags, EventFd};
use postern_root::Fault;
use postern_root::server::{self, Ended, Limits};
use std::os::fd::AsFd;
use std::os::unix::net::{UnixListener, UnixStream};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

/// Without a connection for so long the program ends.
pub const IDLE: Duration = Duration::from_secs(45);

/// Most connections of the broker, and of the recorder: a thread each. Of all these only
/// [`concurrency::LIMITS`](crate::concurrency::LIMITS) ask apt or wait for it, so that units are answered meanwhile.
const CONNECTIONS: [usize; 2] = [32, 16];

/// The state that both accepting threads share.
struct Shared {
    /// When the last connection began, and how many are open.
    last: Mutex<Instant>,
    open: AtomicUsize,
    /// Readable when both must end.
    stop: Epoll,
    end: EventFd,
}

/// Serves until both sockets are idle; every connection is answered before it returns.
///
/// # Errors
/// The sockets cannot be polled or accepted from.
pub fn serve(state: &State, sockets: &Sockets, signals: &impl AsFd, idle: Duration) -> Result<(), Fault> {
    let end = EventFd::from_flags(EfdFlags::EFD_CLOEXEC | EfdFlags::EFD_NONBLOCK);
    let end = end.map_err(Fault::io("make an eventfd"))?;
    let stop = Epoll::new(EpollCreateFlags::EPOLL_CLOEXEC).map_err(Fault::io("make an epoll"))?;
    for (fd, number) in [(signals.as_fd(), 0), (end.as_fd(), 1)] {
        stop.add(fd, EpollEvent::new(EpollFlags::EPOLLIN, number)).map_err(Fault::io("watch for the end"))?;
    }
    let shared = Shared { last: Mutex::new(Instant::now()), open: AtomicUsize::new(0), stop, end };
    let [probe, asked] = CONNECTIONS.map(|connections| Limits { idle, connections, ..Limits::REAL });
    std::thread::scope(|scope| {
        let facts = scope.spawn(|| {
            let handle = |stream| state.serve_probe(stream);
            shared.accept(state, &sockets.probe, probe, state.host.broker_uid, &handle)
        });
        let handle = |stream| state.serve_asked(stream);
        let reads = shared.accept(state, &sockets.asked, asked, state.host.root.peer_uid, &handle);
        let panicked = |_| Fault::new("a thread has panicked");
        reads.and(facts.join().map_err(panicked)?)
    })
}

impl Shared {
    /// Accepts from one socket until both threads must end.
    fn accept(
        &self,
        state: &State,
        listener: &UnixListener,
        limits: Limits,
        peer_uid: u32,
        handle: &(impl Fn(UnixStream) + Sync),
    ) -> Result<(), Fault> {
        let counted = |stream| {
            self.open.fetch_add(1, Ordering::AcqRel);
            *self.last.lock().unwrap_or_else(PoisonError::into_inner) = Instant::now();
            handle(stream);
            self.open.fetch_sub(1, Ordering::AcqRel);
        };
        loop {
            let ended =
                server::serve(listener, &self.stop.0, limits, peer_uid, || state.is_current(), counted);
            if matches!(ended, Ok(Ended::Idle)) && state.is_current() && !self.is_idle(limits.idle) {
                continue; // the other socket is in use
            }
            // A connection that is accepted meanwhile is served: the other thread joins it before it ends.
            self.end.write(1).map_err(Fault::io("end the other thread"))?;
            return ended.map(drop);
        }
    }

    /// Whether no connection is open, and none was within `idle`.
    fn is_idle(&self, idle: Duration) -> bool {
        let unused = self.last.lock().unwrap_or_else(PoisonError::into_inner).elapsed();
        // A little less: a connection's own thread notes its time, after the other has begun to wait.
        self.open.load(Ordering::Acquire) == 0 && unused >= idle.mul_f32(0.875)
    }
}
