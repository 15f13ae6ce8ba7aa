//! The probe behind its two sockets, with a fake bus, apt and journalctl.

use crate::bus;
use crate::programs::Listener;
use postern_probe::startup::Sockets;
use postern_probe::{Host, State, server};
use std::io::{Read, Write};
use std::os::unix::net::{UnixListener, UnixStream};
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::JoinHandle;

/// The probe, started again whenever it ends, as its socket units do.
pub struct Probe {
    signal: UnixStream,
    is_over: Arc<AtomicBool>,
    thread: Option<JoinHandle<()>>,
    _bus: Listener,
}

impl Probe {
    /// Listens below this directory.
    pub fn listen(at: &Path, host: Host) -> Self {
        let bind = |path: &Path| {
            let listener = UnixListener::bind(path).unwrap();
            listener.set_nonblocking(true).unwrap();
            listener
        };
        let sockets = Sockets { probe: bind(&host.probe_socket), asked: bind(&host.asked_socket) };
        let here = at.to_owned();
        let bus = Listener::bind(&at.join("bus.sock"), move |stream| bus::serve(&here, stream));
        let (signal, mut signalled) = UnixStream::pair().unwrap();
        signalled.set_nonblocking(true).unwrap();
        let is_over = Arc::new(AtomicBool::new(false));
        let over = Arc::clone(&is_over);
        let thread = std::thread::spawn(move || {
            while !over.load(Ordering::Relaxed) {
                let state = State::open(host.clone()).unwrap();
                server::serve(&state, &sockets, &signalled, server::IDLE).unwrap();
                drop(signalled.read(&mut [0]));
            }
        });
        Self { signal, is_over, thread: Some(thread), _bus: bus }
    }
}

impl Drop for Probe {
    fn drop(&mut self) {
        self.is_over.store(true, Ordering::Relaxed);
        (&self.signal).write_all(&[1]).unwrap();
        // A thread that panicked has said so.
        drop(self.thread.take().map(JoinHandle::join));
    }
}
