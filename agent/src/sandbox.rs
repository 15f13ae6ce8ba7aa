//! The agent's own commands, each in a sandbox of its own: a uid that is nobody's client, a unit a call, and
//! inside it what the kernel can hold back besides.

use crate::event::Fault;
use crate::shell::Profile;
use serde::{Deserialize, Serialize};
use std::os::fd::OwnedFd;
use std::path::PathBuf;
use std::time::Duration;

/// What is run.
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
    /// What is run.
    pub program: Program,
    /// What it may reach.
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
}

/// What came of a call.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Record {
    /// How it ended.
    pub ended: Ended,
    /// The exit code; `None` where a signal ended it.
    pub exit_code: Option<i32>,
    /// The signal.
    pub signal: Option<i32>,
    /// What it wrote, and nobody else.
    pub stdout: Vec<u8>,
    /// What it wrote to its error stream, and nobody else.
    pub stderr: Vec<u8>,
    /// Not all of its output is here.
    pub truncated: bool,
    /// Of the whole call.
    pub duration_ms: u64,
    /// What held it.
    pub sandbox: Enforced,
}

/// What held a call.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Enforced {
    /// The profile that was asked for.
    pub profile: Profile,
    /// Whether every control of the profile was in force.
    pub enforced: bool,
    /// Each control, in a fixed order.
    pub controls: Vec<Control>,
}

/// One control.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Control {
    /// Such as `filesystem`, `network`, `syscalls`, `signals`.
    pub name: String,
    /// Who holds it on this kernel.
    pub by: Holder,
    /// What of it this kernel cannot hold; empty where all of it is in force.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub lacks: String,
}

/// Who holds a control.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Holder {
    /// Landlock.
    Landlock,
    /// A seccomp filter.
    Seccomp,
    /// The unit.
    Unit,
    /// Nobody: the control is not in force.
    Nobody,
}

/// The way to the sandbox.
#[derive(Clone, Debug)]
pub struct Sandbox {
    /// The socket of `postern-tool.socket`.
    pub socket: PathBuf,
}

impl Sandbox {
    /// Runs one call to its end. Dropping the future kills it.
    ///
    /// # Errors
    /// The sandbox cannot be reached, or cannot hold what the profile needs; nothing was run then.
    #[expect(clippy::unused_async, reason = "the other side comes next")]
    pub async fn run(&self, job: Job) -> Result<Record, Fault> {
        drop(job);
        Err(Fault::new("unsupported", format!("no sandbox answers at {}", self.socket.display())))
    }
}
