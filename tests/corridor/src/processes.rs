//! Recorder, postern-files and postern-units as processes that can be killed; the broker is in this one.

use crate::channel::Channel;
use crate::hosts::{Hosts, own_uid};
use crate::programs;
use crate::world::World;
use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;
use postern_peers::Peer;
use std::os::fd::OwnedFd;
use std::os::unix::net::{UnixListener, UnixStream};
use std::path::Path;
use std::process::{Command, Stdio};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};
use std::thread::JoinHandle;
use std::time::Duration;

/// Serves as one program of the corridor, in this process, until it is killed.
pub fn serve(name: &str, directory: &Path, listener: &UnixListener) {
    let hosts = Hosts::at(directory);
    if name == "recorder" {
        let state = Arc::new(postern_audit::state::State::open(hosts.recorder).unwrap());
        state.recover();
        for stream in listener.incoming().flatten() {
            let state = Arc::clone(&state);
            let peer = Peer { uid: own_uid(), gid: 0, pid: 1 };
            std::thread::spawn(move || postern_audit::broker::serve(&state, stream, peer));
        }
        return;
    }
    listener.set_nonblocking(true).unwrap();
    let run = if name == "files" { programs::files(hosts.files) } else { programs::units(hosts.units) };
    // Nobody asks it to end but by a kill.
    let (_signal, signalled) = UnixStream::pair().unwrap();
    loop {
        run(listener, &signalled);
    }
}

/// A program that is started anew whenever it dies.
struct Supervised {
    pid: Arc<Mutex<u32>>,
    is_over: Arc<AtomicBool>,
    thread: Option<JoinHandle<()>>,
}

impl Supervised {
    fn start(program: &Path, name: &'static str, directory: &Path, socket: &Path) -> Self {
        let listener = UnixListener::bind(socket).unwrap();
        let (pid, is_over) = (Arc::<Mutex<u32>>::default(), Arc::<AtomicBool>::default());
        let (shared, over) = (Arc::clone(&pid), Arc::clone(&is_over));
        let (program, directory) = (program.to_owned(), directory.to_owned());
        let thread = std::thread::spawn(move || {
            while !over.load(Ordering::Relaxed) {
                let socket = OwnedFd::from(listener.try_clone().unwrap());
                let mut command = Command::new(&program);
                command.arg(name).arg(&directory).stdin(socket).stderr(Stdio::null());
                let mut child = command.spawn().unwrap();
                *shared.lock().unwrap() = child.id();
                loop {
                    // Reaped under the lock: nobody kills a process that has got its number since.
                    let mut pid = shared.lock().unwrap();
                    if child.try_wait().unwrap().is_some() {
                        *pid = 0;
                        break;
                    }
                    drop(pid);
                    std::thread::sleep(Duration::from_millis(1));
                }
            }
        });
        Self { pid, is_over, thread: Some(thread) }
    }

    fn kill(&self) {
        let pid = self.pid.lock().unwrap();
        // Zero: the next one has not started yet.
        if *pid > 0 {
            kill(Pid::from_raw(i32::try_from(*pid).unwrap()), Signal::SIGKILL).unwrap();
        }
    }
}

impl Drop for Supervised {
    fn drop(&mut self) {
        self.is_over.store(true, Ordering::Relaxed);
        let thread = self.thread.take().unwrap();
        while !thread.is_finished() {
            self.kill();
            std::thread::sleep(Duration::from_millis(5));
        }
        thread.join().unwrap();
    }
}

/// A world whose recorder and root's programs are processes.
pub struct Processes {
    programs: [Supervised; 3],
    /// The world that they share. Its own recorder and programs listen elsewhere and are not used.
    pub world: World,
    broker: Arc<postern_broker::state::State>,
}

impl Processes {
    /// Starts them on a new world; `program` is the binary `corridor-program`.
    pub fn new(program: &str, world: World) -> Self {
        let at = world.path("");
        // Other sockets, and a log of their own.
        for name in ["recorder", "files", "units"] {
            std::fs::remove_file(at.join(format!("{name}.sock"))).unwrap();
        }
        for name in ["log", "audit", "audit/seal", "run"] {
            drop(std::fs::remove_dir_all(at.join(name)));
            std::fs::create_dir_all(at.join(name)).unwrap();
        }
        std::fs::create_dir_all(at.join("audit/seal")).unwrap();
        let start = |name| {
            let socket = at.join(format!("{name}.sock"));
            Supervised::start(program.as_ref(), name, &at, &socket)
        };
        let programs = ["recorder", "files", "units"].map(start);
        let broker = Arc::new(postern_broker::state::State::open(world.hosts.broker.clone()).unwrap());
        Self { programs, world, broker }
    }

    /// Kills one of them: 0 the recorder, 1 files, 2 units.
    pub fn kill(&self, number: usize) {
        self.programs[number].kill();
    }

    /// A connection as a gateway holds it.
    pub fn connect(&self, uid: u32) -> Channel {
        crate::world::connect(&self.broker, uid)
    }

    /// The log's lines.
    pub fn log(&self) -> Vec<String> {
        let text = std::fs::read_to_string(self.world.path("log/audit.jsonl")).unwrap_or_default();
        text.lines().map(str::to_owned).collect()
    }
}
