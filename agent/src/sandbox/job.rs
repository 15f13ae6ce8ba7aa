//! A call of the sandbox and its record.

use super::quota;
use crate::protocol::args::base64_bytes;
use crate::protocol::confinement::{Enforced, Profile};
use serde::{Deserialize, Serialize};
use std::os::fd::OwnedFd;
use std::path::{Path, PathBuf};
use std::time::Duration;

/// The subcommand of the unit's main process: it takes one call, starts it and answers.
pub const SUPERVISE: &str = "tool";
/// The subcommand of its child, which confines itself and becomes the program.
pub const CONFINED: &str = "tool-exec";

/// Program of a call.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Program {
    /// A program and its arguments, without a shell.
    Argv(Vec<String>),
    /// A text for `sh -c`.
    Shell(String),
}

/// One call.
#[derive(Debug)]
pub struct Job {
    /// The program.
    pub program: Program,
    /// Its sandbox profile.
    pub profile: Profile,
    /// The task's own directory: one a task, kept from call to call.
    pub task: String,
    /// After which it is killed with all that it started.
    pub time: Duration,
    /// The most bytes of each of its two outputs.
    pub output: usize,
    /// Ports it may connect to, where the profile allows any.
    pub ports: Vec<u16>,
    /// One end of a SEQPACKET pair on which shims speak; `None` where none is needed.
    pub shim: Option<OwnedFd>,
}

/// How a call ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Ended {
    /// With an exit code.
    Exited,
    /// By a signal.
    Killed,
    /// At its time limit.
    Timeout,
    /// Because its workspace grew over its limit.
    Disk,
}

/// Result of a call.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Record {
    /// How it ended.
    pub ended: Ended,
    /// The exit code; `None` where a signal ended it.
    pub exit_code: Option<i32>,
    /// The signal.
    pub signal: Option<i32>,
    /// The program's own standard output; where `truncated`, with a line that says how much is left out.
    #[serde(with = "base64_bytes")]
    pub stdout: Vec<u8>,
    /// Its standard error, likewise.
    #[serde(with = "base64_bytes")]
    pub stderr: Vec<u8>,
    /// Not all of its output is here.
    pub truncated: bool,
    /// Of the whole call.
    pub duration_ms: u64,
    /// The enforced controls.
    pub sandbox: Enforced,
}

/// Behaviour where this kernel or this host cannot enforce a control.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Unenforced {
    /// Nothing is run.
    #[default]
    Refuse,
    /// It is run, and the record says what was not in force.
    Report,
}

/// The way to the sandbox.
#[derive(Clone, Debug)]
pub struct Sandbox {
    /// The socket of `postern-tool.socket`.
    pub socket: PathBuf,
    /// Directories that calls may read besides the system's own.
    pub read_roots: Vec<PathBuf>,
    /// Behaviour where a control cannot be enforced.
    pub unenforced: Unenforced,
    /// The most bytes that the workspaces of all tasks may hold together; the oldest go first.
    pub total: u64,
}

impl Sandbox {
    /// The sandbox behind a socket: no further roots, full enforcement or nothing.
    #[must_use]
    pub fn at(socket: &Path) -> Self {
        Self {
            socket: socket.to_owned(),
            read_roots: Vec::new(),
            unenforced: Unenforced::Refuse,
            total: quota::TOTAL,
        }
    }
}
