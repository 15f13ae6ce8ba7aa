//! The sandbox without its unit: a listener that starts `postern tool` for each connection, as systemd would.
//! The unit's controls are missing there, so calls use `Unenforced::Report`.

use postern_agent::sandbox::{Sandbox, Unenforced};
use std::os::fd::OwnedFd;
use std::os::unix::net::UnixListener;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};

/// A sandbox of a test's own, with its workspaces.
pub struct ToolServer {
    pub socket: PathBuf,
    pub state: tempfile::TempDir,
    ending: Arc<AtomicBool>,
}

impl ToolServer {
    pub fn start() -> Self {
        Self::with(&[])
    }

    /// With variables in the environment of the unit.
    #[expect(clippy::disallowed_methods, reason = "tests start programs")]
    pub fn with(environment: &[(&str, &str)]) -> Self {
        let state = tempfile::tempdir().expect("a directory");
        let socket = state.path().join(".tool.sock");
        let listener = UnixListener::bind(&socket).expect("bind");
        // Calls with ports have a socket of their own beside it.
        std::os::unix::fs::symlink(&socket, state.path().join("tool-ports.sock")).expect("a link");
        let workspaces = state.path().to_owned();
        let environment: Vec<(String, String)> =
            environment.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned())).collect();
        let ending = Arc::new(AtomicBool::new(false));
        let is_ending = Arc::clone(&ending);
        std::thread::spawn(move || {
            let started = Mutex::new(Vec::new());
            for stream in listener.incoming() {
                if is_ending.load(Ordering::SeqCst) {
                    break;
                }
                let mut command = Command::new(env!("CARGO_BIN_EXE_postern"));
                command.arg("tool").env_clear().env("STATE_DIRECTORY", &workspaces).envs(environment.clone());
                let child =
                    command.stdin(OwnedFd::from(stream.expect("a connection"))).spawn().expect("start");
                started.lock().unwrap().push(child);
            }
            for mut child in started.into_inner().unwrap() {
                let _ = child.wait();
            }
        });
        Self { socket, state, ending }
    }

    pub fn sandbox(&self) -> Sandbox {
        Sandbox { unenforced: Unenforced::Report, ..Sandbox::at(&self.socket) }
    }

    /// A task's own directory.
    pub fn workspace(&self, task: &str) -> PathBuf {
        self.state.path().join(task)
    }
}

impl Drop for ToolServer {
    fn drop(&mut self) {
        self.ending.store(true, Ordering::SeqCst);
        // Wakes the listener.
        let _ = std::os::unix::net::UnixStream::connect(Path::new(&self.socket));
    }
}
