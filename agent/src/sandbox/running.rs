//! The child while it runs: what it writes is kept, and it ends at its limits, or when the agent leaves.

use super::job::{CONFINED, Ended};
use super::output_buffer::OutputBuffer;
use super::wire::{self, SandboxJob};
use super::workspace::{self, Size, Workspace};
use crate::protocol::confinement::Profile;
use crate::protocol::event::AgentError;
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::io::{FdFlags, fcntl_setfd, ioctl_fionbio};
use rustix::process::{Pid, PidfdFlags, Signal, kill_process_group, pidfd_open};
use std::io::{self, Read, Write};
use std::os::fd::{AsFd, OwnedFd};
use std::os::unix::net::UnixStream;
use std::os::unix::process::{CommandExt, ExitStatusExt};
use std::process::{Child, Command, ExitStatus, Stdio};
use std::time::{Duration, Instant};

/// How long the child may take to confine itself.
const SETUP: Duration = Duration::from_secs(10);
/// How often the workspace is measured.
const LOOK: Duration = Duration::from_millis(250);
/// The longest call.
const LONGEST: Duration = Duration::from_secs(3600);
/// Most bytes still read of a stream after its program has ended.
const REST: usize = 4 * 1024 * 1024;

/// A stream of the program's.
pub struct Pipe<R> {
    from: Option<R>,
    pub kept: OutputBuffer,
}

impl<R: Read + AsFd> Pipe<R> {
    /// Takes what is there; at its end, or where it fails, there is no more.
    fn take(&mut self) -> usize {
        let mut buffer = [0; 16 * 1024];
        let Some(from) = &mut self.from else { return 0 };
        match from.read(&mut buffer) {
            Ok(0) => self.from = None,
            Ok(count) => {
                self.kept.push(&buffer[..count]);
                return count;
            }
            Err(error) if error.kind() == io::ErrorKind::WouldBlock => {}
            Err(_) => self.from = None,
        }
        0
    }

    /// Takes what an ended program has left.
    fn take_rest(&mut self) {
        let mut taken = 0;
        while taken < REST {
            match self.take() {
                0 => break,
                count => taken += count,
            }
        }
    }
}

/// The child and what it writes.
pub struct Running {
    child: Child,
    pid: Pid,
    exited: OwnedFd,
    pub out: Pipe<std::process::ChildStdout>,
    pub err: Pipe<std::process::ChildStderr>,
    deadline: Instant,
}

impl Running {
    /// Starts the child and waits until it has become the program.
    pub fn start(
        order: &SandboxJob,
        workspace: &Workspace,
        shim: Option<OwnedFd>,
        began: Instant,
    ) -> io::Result<Result<Self, AgentError>> {
        let (mut ours, theirs) = UnixStream::pair()?;
        let mut command = Command::new("/proc/self/exe");
        command.arg(CONFINED).env_clear().process_group(0);
        command.stdin(OwnedFd::from(theirs)).stdout(Stdio::piped()).stderr(Stdio::piped());
        if let Some(shim) = &shim {
            fcntl_setfd(shim, FdFlags::empty())?;
        }
        fcntl_setfd(workspace, FdFlags::empty())?;
        let mut child = command.spawn()?;
        // The child has them now; the end of its copies is seen only without ours.
        drop((command, shim));
        let pid = Pid::from_child(&child);
        let exited = pidfd_open(pid, PidfdFlags::empty())?;
        let out = Pipe { from: child.stdout.take(), kept: OutputBuffer::new(order.ask.output) };
        let err = Pipe { from: child.stderr.take(), kept: OutputBuffer::new(order.ask.output) };
        let time = Duration::from_millis(order.ask.time_ms).min(LONGEST);
        let mut running = Self { child, pid, exited, out, err, deadline: began };
        for pipe in [running.out.from.as_ref().map(AsFd::as_fd), running.err.from.as_ref().map(AsFd::as_fd)] {
            pipe.map_or(Ok(()), |pipe| ioctl_fionbio(pipe, true))?;
        }
        ours.set_read_timeout(Some(SETUP))?;
        ours.write_all(&wire::frame(order)?)?;
        let mut said = Vec::new();
        if let Err(error) = ours.read_to_end(&mut said) {
            let _ = running.end();
            return Err(error);
        }
        if let Some(body) = said.get(4..) {
            let _ = running.end();
            return Ok(Err(wire::read(body)?));
        }
        running.deadline = Instant::now() + time;
        Ok(Ok(running))
    }

    /// Waits for its end, or for a reason to end it; nothing where the agent leaves.
    pub fn watch(
        &mut self,
        agent: &UnixStream,
        order: &SandboxJob,
    ) -> io::Result<Option<(Ended, ExitStatus)>> {
        let workspace = workspace::of_descriptor(order.directory);
        let measured = (order.ask.profile == Profile::WorkspaceWrite).then(|| Size::of(&workspace));
        let mut next_look = Instant::now() + LOOK;
        let ended = loop {
            let now = Instant::now();
            if now >= self.deadline {
                break Ended::Timeout;
            }
            if let Some(before) = measured.filter(|_| now >= next_look) {
                let is_over = Size::of(&workspace).is_too_much(before);
                if is_over || workspace::is_nearly_full(&workspace) {
                    break Ended::Disk;
                }
                // Looking takes at most a tenth of the time.
                next_look = Instant::now() + LOOK.max(now.elapsed() * 10);
            }
            let until = if measured.is_some() { self.deadline.min(next_look) } else { self.deadline };
            let wait = until.saturating_duration_since(Instant::now());
            match self.wait(agent, wait)? {
                Woken::AgentLeft => {
                    let _ = self.end();
                    return Ok(None);
                }
                Woken::Exited => break Ended::Exited,
                Woken::Else => {}
            }
        };
        let status = self.end()?;
        let ended = if ended == Ended::Exited && status.signal().is_some() { Ended::Killed } else { ended };
        self.out.take_rest();
        self.err.take_rest();
        Ok(Some((ended, status)))
    }

    /// Waits, and takes what the program wrote.
    fn wait(&mut self, agent: &UnixStream, wait: Duration) -> io::Result<Woken> {
        let wait = Timespec::try_from(wait).map_err(io::Error::other)?;
        let mut fds = vec![PollFd::new(agent, PollFlags::RDHUP), PollFd::new(&self.exited, PollFlags::IN)];
        fds.extend(self.out.from.as_ref().map(|from| PollFd::new(from, PollFlags::IN)));
        fds.extend(self.err.from.as_ref().map(|from| PollFd::new(from, PollFlags::IN)));
        match poll(&mut fds, Some(&wait)) {
            Err(rustix::io::Errno::INTR) => return Ok(Woken::Else),
            result => result?,
        };
        let [has_left, has_ended] = [0, 1].map(|index: usize| !fds[index].revents().is_empty());
        drop(fds);
        // They do not block.
        self.out.take();
        self.err.take();
        Ok(match (has_left, has_ended) {
            (true, _) => Woken::AgentLeft,
            (false, true) => Woken::Exited,
            (false, false) => Woken::Else,
        })
    }

    /// Kills the program with those that it started and that are still of its group.
    fn end(&mut self) -> io::Result<ExitStatus> {
        // There may be none left.
        let _ = kill_process_group(self.pid, Signal::KILL);
        self.child.wait()
    }
}

/// Reason why a wait ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Woken {
    AgentLeft,
    Exited,
    Else,
}
