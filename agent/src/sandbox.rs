//! The agent's own commands, each in a sandbox of its own: a uid that is nobody's client, a unit a call, and
//! inside it what the kernel can hold back besides.

mod calls;
#[expect(clippy::disallowed_methods, reason = "it becomes the program, inside the sandbox")]
mod confined;
mod facts;
mod hidden;
mod kept;
mod paths;
mod quota;
#[expect(clippy::disallowed_methods, reason = "it starts this program again, to be confined")]
mod running;
mod supervise;
mod wire;
mod workspace;

pub use confined::main as confined_main;
pub(crate) use facts::landlock_abi;
pub use hidden::{View, hidden};
pub use supervise::main as supervise_main;

use crate::args::base64_bytes;
use crate::event::Fault;
use crate::shell::Profile;
use rustix::net::{SendAncillaryBuffer, SendAncillaryMessage, SendFlags, sendmsg};
use serde::{Deserialize, Serialize};
use std::io;
use std::mem::MaybeUninit;
use std::os::fd::{AsFd, OwnedFd};
use std::path::{Path, PathBuf};
use std::time::Duration;
use tokio::io::{AsyncReadExt, AsyncWriteExt, Interest};
use tokio::net::UnixStream;
use utoipa::ToSchema;
use wire::{Answer, Ask};

/// The subcommand of the unit's main process: it takes one call, starts it and answers.
pub const SUPERVISE: &str = "tool";
/// The subcommand of its child, which confines itself and becomes the program.
pub const CONFINED: &str = "tool-exec";

/// How long the sandbox may take besides the call's own time: the unit's start, and its turn.
const SETUP: Duration = Duration::from_secs(30);

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
    /// Because its workspace grew over its limit.
    Disk,
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
    /// What it wrote, and nobody else; where `truncated`, with a line that says how much is left out.
    #[serde(with = "base64_bytes")]
    pub stdout: Vec<u8>,
    /// What it wrote to its error stream, likewise.
    #[serde(with = "base64_bytes")]
    pub stderr: Vec<u8>,
    /// Not all of its output is here.
    pub truncated: bool,
    /// Of the whole call.
    pub duration_ms: u64,
    /// What held it.
    pub sandbox: Enforced,
}

/// What held a call.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct Enforced {
    /// The profile that was asked for.
    pub profile: Profile,
    /// Whether every control of the profile was in force.
    pub enforced: bool,
    /// Each control, in a fixed order.
    pub controls: Vec<Control>,
}

/// One control.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
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
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "snake_case")]
pub enum Holder {
    /// Landlock.
    Landlock,
    /// A seccomp filter.
    Seccomp,
    /// The unit.
    Unit,
    /// Limits of each process and of its user.
    Limits,
    /// Nobody: the control is not in force.
    Nobody,
}

/// What is done where this kernel or this host cannot hold a control.
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
    /// What is done where a control cannot be held.
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

    /// Runs one call to its end. Dropping the future kills it.
    ///
    /// # Errors
    /// The sandbox cannot be reached, or cannot hold what the profile needs; nothing was run then.
    /// `sandbox_lost`: it ended before its answer.
    pub async fn run(&self, job: Job) -> Result<Record, Fault> {
        if job.profile == Profile::None {
            return Err(Fault::new("refused", "the profile none runs nothing"));
        }
        let ask = Ask::new(&job, self);
        let exchange = self.exchange(&ask, job.shim);
        match tokio::time::timeout(job.time.saturating_add(SETUP), exchange).await {
            Ok(Ok(Answer::Record(record))) => Ok(record),
            Ok(Ok(Answer::Fault(fault)) | Err(fault)) => Err(fault),
            Err(_) => Err(Fault::new("sandbox_lost", "the sandbox does not answer")),
        }
    }

    async fn exchange(&self, ask: &Ask, shim: Option<OwnedFd>) -> Result<Answer, Fault> {
        // Only the units behind the second socket have a network at all.
        let socket = if ask.ports.is_empty() {
            self.socket.clone()
        } else {
            self.socket.with_file_name("tool-ports.sock")
        };
        let mut stream = UnixStream::connect(&socket).await.map_err(|error| {
            let message = format!("no sandbox answers at {}: {error}", socket.display());
            Fault::new("unreachable", message)
        })?;
        let lost = |error: io::Error| {
            Fault::new("sandbox_lost", format!("the sandbox ended before its answer: {error}"))
        };
        let frame = wire::frame(ask).map_err(lost)?;
        send_first(&stream, shim.as_ref()).await.map_err(lost)?;
        // This end of the pair is the other side's now.
        drop(shim);
        stream.write_all(&frame).await.map_err(lost)?;
        let mut length = [0; 4];
        stream.read_exact(&mut length).await.map_err(lost)?;
        let mut body = vec![0; wire::length(length).map_err(lost)?];
        stream.read_exact(&mut body).await.map_err(lost)?;
        wire::read(&body).map_err(lost)
    }
}

/// The first byte; the descriptor travels with it.
async fn send_first(stream: &UnixStream, shim: Option<&OwnedFd>) -> io::Result<()> {
    let send = || {
        let mut space = [MaybeUninit::uninit(); rustix::cmsg_space!(ScmRights(1))];
        let mut control = SendAncillaryBuffer::new(&mut space);
        let fds = shim.map(AsFd::as_fd);
        if let Some(fd) = &fds {
            control.push(SendAncillaryMessage::ScmRights(std::slice::from_ref(fd)));
        }
        sendmsg(stream, &[io::IoSlice::new(&[wire::FIRST])], &mut control, SendFlags::NOSIGNAL)
            .map_err(io::Error::from)
    };
    stream.async_io(Interest::WRITABLE, send).await.map(drop)
}
