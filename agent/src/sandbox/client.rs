//! The agent's side of the sandbox: it asks for a call and waits for its record.

use super::job::{Job, Record, Sandbox};
use super::wire::{self, SandboxReply, SandboxRequest};
use crate::protocol::confinement::Profile;
use crate::protocol::event::AgentError;
use rustix::net::{SendAncillaryBuffer, SendAncillaryMessage, SendFlags, sendmsg};
use std::io;
use std::mem::MaybeUninit;
use std::os::fd::{AsFd, OwnedFd};
use std::time::Duration;
use tokio::io::{AsyncReadExt, AsyncWriteExt, Interest};
use tokio::net::UnixStream;

/// How long the sandbox may take besides the call's own time: the unit's start, and its turn.
const SETUP: Duration = Duration::from_secs(30);

impl Sandbox {
    /// Runs one call to its end. Dropping the future kills it.
    ///
    /// # Errors
    /// The sandbox cannot be reached, or cannot hold what the profile needs; nothing was run then.
    /// `sandbox_lost`: it ended before its answer.
    pub async fn run(&self, job: Job) -> Result<Record, AgentError> {
        if job.profile == Profile::None {
            return Err(AgentError::new("refused", "the profile none runs nothing"));
        }
        let ask = SandboxRequest::new(&job, self);
        let exchange = self.exchange(&ask, job.shim);
        match tokio::time::timeout(job.time.saturating_add(SETUP), exchange).await {
            Ok(Ok(SandboxReply::Record(record))) => Ok(record),
            Ok(Ok(SandboxReply::AgentError(fault)) | Err(fault)) => Err(fault),
            Err(_) => Err(AgentError::new("sandbox_lost", "the sandbox does not answer")),
        }
    }

    async fn exchange(
        &self,
        ask: &SandboxRequest,
        shim: Option<OwnedFd>,
    ) -> Result<SandboxReply, AgentError> {
        // Only the units behind the second socket have a network at all.
        let socket = if ask.ports.is_empty() {
            self.socket.clone()
        } else {
            self.socket.with_file_name("tool-ports.sock")
        };
        let mut stream = UnixStream::connect(&socket).await.map_err(|error| {
            let message = format!("no sandbox answers at {}: {error}", socket.display());
            AgentError::new("unreachable", message)
        })?;
        let lost = |error: io::Error| {
            AgentError::new("sandbox_lost", format!("the sandbox ended before its answer: {error}"))
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

impl SandboxRequest {
    fn new(job: &Job, sandbox: &Sandbox) -> Self {
        Self {
            program: job.program.clone(),
            profile: job.profile,
            task: job.task.clone(),
            time_ms: u64::try_from(job.time.as_millis()).unwrap_or(u64::MAX),
            output: job.output,
            ports: job.ports.clone(),
            read_roots: sandbox.read_roots.clone(),
            unenforced: sandbox.unenforced,
            total: sandbox.total,
        }
    }
}
