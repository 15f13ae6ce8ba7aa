//! Servers behind real sockets, each on threads of this process.

use crate::hosts::own_uid;
use nix::sys::socket::{Shutdown, shutdown};
use postern_audit::{broker, state::State};
use postern_peers::Peer;
use postern_root::server::{self, Ended, Limits};
use std::io::{Read, Write};
use std::os::fd::AsRawFd;
use std::os::unix::net::{UnixListener, UnixStream};
use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};
use std::thread::JoinHandle;

/// Runs a program of the root helper once, until it ends.
type Run = dyn Fn(&UnixListener, &UnixStream) -> Ended + Send;

/// A program of the root helper behind its socket: started again whenever it ends, as its socket unit does.
#[derive(Debug)]
pub struct Root {
    signal: UnixStream,
    is_over: Arc<AtomicBool>,
    thread: Option<JoinHandle<()>>,
}

impl Root {
    /// Listens at this socket.
    pub fn listen(socket: &Path, run: Box<Run>) -> Self {
        let listener = UnixListener::bind(socket).unwrap();
        listener.set_nonblocking(true).unwrap();
        let (signal, mut signalled) = UnixStream::pair().unwrap();
        let is_over = Arc::new(AtomicBool::new(false));
        let over = Arc::clone(&is_over);
        let thread = std::thread::spawn(move || {
            while !over.load(Ordering::Relaxed) {
                if run(&listener, &signalled) == Ended::Signal {
                    signalled.read_exact(&mut [0]).unwrap();
                }
            }
        });
        Self { signal, is_over, thread: Some(thread) }
    }

    /// Asks the program to end, as SIGTERM does; the next connection finds a new one.
    pub fn terminate(&self) {
        (&self.signal).write_all(&[1]).unwrap();
    }

    /// Ends the program for good.
    pub fn stop(&mut self) {
        let Some(thread) = self.thread.take() else { return };
        self.is_over.store(true, Ordering::Relaxed);
        self.terminate();
        // A thread that panicked has said so. Where the test did, an order may wait for what it will not do any more.
        if !std::thread::panicking() {
            drop(thread.join());
        }
    }
}

impl Drop for Root {
    fn drop(&mut self) {
        self.stop();
    }
}

/// postern-files, as its `main` runs it but for the confinement, which is the process's.
pub fn files(host: postern_root::Host) -> Box<Run> {
    Box::new(move |listener, signalled| {
        let state = postern_files::State::open(host.clone(), |_, _| Ok(())).unwrap();
        postern_files::recover::recover_all(&state).unwrap();
        let handle = |stream| state.serve(stream);
        server::serve(listener, signalled, Limits::REAL, own_uid(), || state.is_current(), handle).unwrap()
    })
}

/// postern-units, as its `main` runs it.
pub fn units(host: postern_units::Host) -> Box<Run> {
    Box::new(move |listener, signalled| {
        let state = postern_units::State::open(host.clone()).unwrap();
        let handle = |stream| state.serve(stream);
        server::serve(listener, signalled, Limits::REAL, own_uid(), || true, handle).unwrap()
    })
}

/// A socket whose connections each have a thread, until it is dropped.
#[derive(Debug)]
pub struct Listener {
    listener: UnixListener,
    thread: Option<JoinHandle<()>>,
}

impl Listener {
    /// Listens at this path.
    pub fn bind(socket: &Path, serve: impl Fn(UnixStream) + Send + Sync + 'static) -> Self {
        let listener = UnixListener::bind(socket).unwrap();
        let (theirs, serve) = (listener.try_clone().unwrap(), Arc::new(serve));
        let thread = std::thread::spawn(move || {
            while let Ok((stream, _)) = theirs.accept() {
                let serve = Arc::clone(&serve);
                std::thread::spawn(move || serve(stream));
            }
        });
        Self { listener, thread: Some(thread) }
    }
}

impl Drop for Listener {
    fn drop(&mut self) {
        // It wakes the accept.
        shutdown(self.listener.as_raw_fd(), Shutdown::Both).unwrap();
        self.thread.take().unwrap().join().unwrap();
    }
}

/// The recorder that serves now, and the connections that it serves.
#[derive(Clone)]
pub struct Recorder {
    /// Its state.
    pub state: Arc<Mutex<Arc<State>>>,
    streams: Arc<Mutex<Vec<UnixStream>>>,
}

impl Recorder {
    /// This recorder, behind its socket.
    pub fn listen(state: Arc<State>) -> (Self, Listener) {
        let socket = state.host.recorder_socket.clone();
        let recorder = Self { state: Arc::new(Mutex::new(state)), streams: Arc::default() };
        let shared = recorder.clone();
        let listener = Listener::bind(&socket, move |stream| {
            shared.streams.lock().unwrap().push(stream.try_clone().unwrap());
            let state = Arc::clone(&shared.state.lock().unwrap());
            let end = stream.try_clone().unwrap();
            broker::serve(&state, stream, Peer { uid: own_uid(), gid: 0, pid: 1 });
            // A copy of it is kept: only a shutdown closes it.
            drop(end.shutdown(std::net::Shutdown::Both));
        });
        (recorder, listener)
    }

    /// Cuts every connection, as the death of the recorder does.
    pub fn hang_up(&self) {
        for stream in self.streams.lock().unwrap().drain(..) {
            drop(stream.shutdown(std::net::Shutdown::Both));
        }
    }
}

/// The recorder's way to one of root's programs: what dies with a recorder can be cut.
#[derive(Debug)]
pub struct Relay {
    listener: Option<Listener>,
    streams: Arc<Mutex<Vec<UnixStream>>>,
}

impl Relay {
    /// Listens at `from` and passes everything on to `to`.
    pub fn listen(from: &Path, to: &Path) -> Self {
        let (to, streams) = (to.to_owned(), Arc::<Mutex<Vec<UnixStream>>>::default());
        let shared = Arc::clone(&streams);
        let listener = Listener::bind(from, move |ours| {
            let Ok(theirs) = UnixStream::connect(&to) else { return };
            let copies = [&ours, &theirs].map(|stream| stream.try_clone().unwrap());
            shared.lock().unwrap().extend(copies);
            std::thread::scope(|scope| {
                scope.spawn(|| copy(&ours, &theirs));
                copy(&theirs, &ours);
            });
        });
        Self { listener: Some(listener), streams }
    }

    /// Ends every connection, and lets no further one through.
    pub fn cut(&mut self) {
        drop(self.listener.take());
        for stream in self.streams.lock().unwrap().drain(..) {
            drop(stream.shutdown(std::net::Shutdown::Both));
        }
    }
}

/// Copies until one end has gone, and then closes the other: nobody here half-closes.
fn copy(mut from: &UnixStream, mut to: &UnixStream) {
    drop(std::io::copy(&mut from, &mut to));
    drop(to.shutdown(std::net::Shutdown::Both));
}
