//! Texts of commands are read in a process of its own each.
//!
//! A parser may panic, recurse or never return on a text that is written for it. The service therefore reads each text
//! in a process of its own, which the kernel ends: nothing is left behind, and the next text is read as ever. A command
//! line that reads one text for one person does so on a thread.

use super::judging::Judging;
use crate::shell_parser::guard::bounded;
use crate::shell_parser::is_bad;
use crate::shell_parser::plain;
use nix::poll::{PollFd, PollFlags, PollTimeout, poll};
use nix::sys::resource::{Resource, setrlimit};
use serde::{Deserialize, Serialize};
use std::io::{self, Read, Write};
use std::os::fd::AsFd;
use std::path::PathBuf;
use std::process::{Child, Command, ExitCode, Stdio};
use std::sync::OnceLock;
use std::time::{Duration, Instant};

/// The subcommand of the process that reads one text.
pub const READER: &str = "shell-reader";
/// Limits of the reader's process: processor time in seconds, address space in bytes.
const PROCESSOR: u64 = 5;
const MEMORY: u64 = 512 << 20;
/// The most bytes of a reader's answer.
const ANSWER: u64 = 16 << 20;
/// How this process reads texts; on threads where nothing is said.
static PROCESSES: OnceLock<Processes> = OnceLock::new();

/// Job for the reader's process.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Job {
    /// A text for `sh -c`.
    Text(String),
    /// A program and its arguments.
    Argv(Vec<String>),
    /// The words of a text that needs no shell.
    Words(String),
}

/// Reply of the reader's process.
#[derive(Debug, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ReaderReply {
    /// Of a text or an argv.
    Judging(Box<Judging>),
    /// Of words, where the text has no more.
    Words(Option<Vec<String>>),
}

/// Where a text is read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum How {
    /// As this process does it for texts of others.
    AsSet,
    /// On a thread: it is root's own text.
    Thread,
}

#[derive(Debug)]
struct Processes {
    program: PathBuf,
    patience: Duration,
}

/// Reads the texts of others in processes of this program from now on, each of which may take so long.
pub fn read_in_processes(program: PathBuf, patience: Duration) {
    // Said once; a second time it stays as it is.
    let _ = PROCESSES.set(Processes { program, patience });
}

/// Reads; `None` where the reader failed or did not return in time.
pub fn read(job: Job, how: How) -> Option<ReaderReply> {
    match (how, PROCESSES.get()) {
        (How::AsSet, Some(processes)) => processes.read(&job).unwrap_or_else(|error| {
            tracing::warn!(event = "shell_reader", "a command's text could not be read: {error}");
            None
        }),
        (How::AsSet | How::Thread, _) => bounded(move || answer(job)),
    }
}

fn answer(job: Job) -> ReaderReply {
    match job {
        Job::Text(text) => ReaderReply::Judging(Box::new(Judging::of_text(&text))),
        Job::Argv(argv) => ReaderReply::Judging(Box::new(Judging::of_argv(&argv))),
        Job::Words(text) => ReaderReply::Words(plain::one(&text)),
    }
}

/// The reader's process: one job on standard input, its answer on standard output.
#[must_use]
pub fn main() -> ExitCode {
    let limits =
        [(Resource::RLIMIT_CPU, PROCESSOR), (Resource::RLIMIT_AS, MEMORY), (Resource::RLIMIT_CORE, 0)];
    let run = || -> io::Result<()> {
        for (resource, limit) in limits {
            setrlimit(resource, limit, limit)?;
        }
        let mut text = Vec::new();
        io::stdin().lock().read_to_end(&mut text)?;
        let job: Job = serde_json::from_slice(&text)?;
        // With a stack of its own: the main thread's grows only as far as the limits of the caller say.
        let answer = bounded(move || answer(job)).ok_or_else(|| io::Error::other("it cannot be read"))?;
        io::stdout().lock().write_all(&serde_json::to_vec(&answer)?)
    };
    if run().is_ok() { ExitCode::SUCCESS } else { ExitCode::FAILURE }
}

impl Processes {
    fn read(&self, job: &Job) -> io::Result<Option<ReaderReply>> {
        let mut command = Command::new(&self.program);
        command.arg(READER).env_clear().stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::null());
        let mut child = command.spawn()?;
        let answer = exchange(&mut child, job, Instant::now() + self.patience);
        // It has ended, or is to end now.
        let _ = child.kill();
        let status = child.wait()?;
        match answer? {
            Some(answer) if status.success() => Ok(Some(serde_json::from_slice(&answer)?)),
            Some(_) | None => Ok(None),
        }
    }
}

/// Gives the job and takes the answer; `None` where it does not come in time.
fn exchange(child: &mut Child, job: &Job, deadline: Instant) -> io::Result<Option<Vec<u8>>> {
    // Less than a pipe holds.
    if let Some(mut input) = child.stdin.take() {
        input.write_all(&serde_json::to_vec(job)?)?;
    }
    let Some(mut output) = child.stdout.take() else { return Ok(None) };
    let mut answer = Vec::new();
    loop {
        let left = deadline.saturating_duration_since(Instant::now());
        let wait = PollTimeout::try_from(left).unwrap_or(PollTimeout::MAX);
        let mut fds = [PollFd::new(output.as_fd(), PollFlags::POLLIN)];
        match poll(&mut fds, wait) {
            Ok(0) => return Ok(None),
            Err(nix::errno::Errno::EINTR) => continue,
            ready => ready?,
        };
        let mut piece = [0; 16 << 10];
        match output.read(&mut piece)? {
            0 => return Ok(Some(answer)),
            count => answer.extend_from_slice(piece.get(..count).unwrap_or_default()),
        }
        if answer.len() as u64 > ANSWER {
            return Ok(None);
        }
    }
}

/// The words of a text that is one command of plain words; `None` where a shell has to read it.
#[must_use]
pub fn words(text: &str) -> Option<Vec<String>> {
    if is_bad(text) || text.contains(['$', '`', '(', '{']) {
        return None;
    }
    match read(Job::Words(text.to_owned()), How::AsSet) {
        Some(ReaderReply::Words(words)) => words,
        Some(ReaderReply::Judging(_)) | None => None,
    }
}
