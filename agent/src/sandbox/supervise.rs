//! The unit's main process: one connection, one call. It starts the confined child, keeps what that writes,
//! and ends it at its limits or when the agent leaves. When it exits itself, the unit kills all that is left.

use super::facts::{Facts, SIGNALS};
use super::kept::Kept;
use super::wire::{self, Answer, Ask, Order};
use super::workspace::{self, Size};
use super::{CONFINED, Control, Ended, Enforced, Holder, Record, Unenforced, paths};
use crate::event::Fault;
use crate::shell::Profile;
use nix::unistd::{Uid, User};
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::fs::{FlockOperation, flock};
use rustix::io::{FdFlags, fcntl_setfd, ioctl_fionbio};
use rustix::net::{
    RecvAncillaryBuffer, RecvAncillaryMessage, RecvFlags, ReturnFlags, recvmsg, sockopt::socket_peercred,
};
use rustix::process::{Pid, PidfdFlags, Signal, kill_process_group, pidfd_open};
use std::fs::File;
use std::io::{self, IoSliceMut, Read, Write};
use std::mem::MaybeUninit;
use std::os::fd::{AsFd, AsRawFd, OwnedFd};
use std::os::unix::net::UnixStream;
use std::os::unix::process::{CommandExt, ExitStatusExt};
use std::path::Path;
use std::process::{Child, Command, ExitCode, ExitStatus, Stdio};
use std::thread::sleep;
use std::time::{Duration, Instant};

/// How long the asking, and the child's confining of itself, may take.
const SETUP: Duration = Duration::from_secs(10);
/// How often the workspace is measured.
const LOOK: Duration = Duration::from_millis(250);
/// The longest call.
const LONGEST: Duration = Duration::from_hours(1);
/// What is still read of a stream whose program has ended.
const REST: usize = 4 * 1024 * 1024;

/// Serves the connection that is standard input.
#[must_use]
pub fn main() -> ExitCode {
    match serve() {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            // If the journal cannot be written to, the exit status still tells.
            let _ = writeln!(io::stderr(), "{error}");
            ExitCode::FAILURE
        }
    }
}

fn serve() -> io::Result<()> {
    // All calls have one uid: none may trace another's supervisor.
    nix::sys::prctl::set_dumpable(false)?;
    // systemd passes the connection a second time; the child must not have it.
    let mut passed = listenfd::ListenFd::from_env();
    for index in 0..passed.len() {
        drop(passed.take_unix_listener(index)?);
    }
    let mut stream = UnixStream::from(io::stdin().as_fd().try_clone_to_owned()?);
    only_the_agent(&stream)?;
    stream.set_read_timeout(Some(SETUP))?;
    stream.set_write_timeout(Some(SETUP))?;
    let shim = first(&stream)?;
    let ask: Ask = wire::receive(&mut stream)?;
    let answer = match call(&stream, &ask, shim) {
        Ok(Some(record)) => Answer::Record(record),
        Err(fault) => Answer::Fault(fault),
        // The agent has left: nobody waits for an answer.
        Ok(None) => return Ok(()),
    };
    stream.write_all(&wire::frame(&answer)?)
}

/// The socket's mode lets nobody else in; a process of this user's own would gain nothing.
fn only_the_agent(stream: &UnixStream) -> io::Result<()> {
    let peer = Uid::from_raw(socket_peercred(stream)?.uid.as_raw());
    let agent = User::from_name("postern")?.map(|user| user.uid);
    if Some(peer) == agent || peer == Uid::current() {
        return Ok(());
    }
    Err(io::Error::other(format!("uid {peer} is not the agent")))
}

/// The first byte, and the descriptor that came with it.
fn first(stream: &UnixStream) -> io::Result<Option<OwnedFd>> {
    let mut byte = [0];
    let mut space = [MaybeUninit::uninit(); rustix::cmsg_space!(ScmRights(1))];
    let mut control = RecvAncillaryBuffer::new(&mut space);
    let message = recvmsg(stream, &mut [IoSliceMut::new(&mut byte)], &mut control, RecvFlags::CMSG_CLOEXEC)?;
    let mut fds = control.drain().flat_map(|part| match part {
        RecvAncillaryMessage::ScmRights(rights) => rights.collect::<Vec<_>>(),
        _ => Vec::new(),
    });
    let fd = fds.next();
    if message.bytes != 1 || byte != [wire::FIRST] || message.flags.contains(ReturnFlags::CTRUNC) {
        return Err(io::Error::other("this is no call"));
    }
    Ok(fd)
}

/// Runs a call; nothing where the agent left before its end.
fn call(stream: &UnixStream, ask: &Ask, shim: Option<OwnedFd>) -> Result<Option<Record>, Fault> {
    let began = Instant::now();
    let failed =
        |error: io::Error| Fault::new("sandbox_failed", format!("the sandbox cannot be made: {error}"));
    let facts = Facts::here();
    let sandbox = enforced(facts, ask)?;
    let state = workspace::state().map_err(failed)?;
    paths::check_roots(ask, &state).map_err(|why| Fault::new("invalid_argument", why))?;
    let workspace = workspace::open(&state, &ask.task).map_err(failed)?;
    let _turn = turn(&state, facts).map_err(failed)?;
    if ask.profile == Profile::WorkspaceWrite && workspace::is_nearly_full(&workspace) {
        return Err(Fault::new("sandbox_failed", "the disk of the workspaces is nearly full"));
    }
    let order = Order {
        ask: ask.clone(),
        workspace,
        own_tmp: facts.own_unit,
        abi: facts.abi,
        shim: shim.as_ref().map(AsRawFd::as_raw_fd),
    };
    let mut running = Running::start(&order, shim, began).map_err(failed)??;
    let Some((ended, status)) = running.watch(stream, &order).map_err(failed)? else { return Ok(None) };
    let truncated = running.out.kept.is_truncated() || running.err.kept.is_truncated();
    Ok(Some(Record {
        ended,
        exit_code: status.code(),
        signal: status.signal(),
        stdout: running.out.kept.into_bytes(),
        stderr: running.err.kept.into_bytes(),
        truncated,
        duration_ms: u64::try_from(began.elapsed().as_millis()).unwrap_or(u64::MAX),
        sandbox,
    }))
}

/// What holds the call, where that is enough.
fn enforced(facts: Facts, ask: &Ask) -> Result<Enforced, Fault> {
    if ask.profile == Profile::None {
        return Err(Fault::new("refused", "the profile none runs nothing"));
    }
    let controls = facts.controls(ask);
    let lacking: Vec<&Control> = controls.iter().filter(|control| control.by == Holder::Nobody).collect();
    let enforced = lacking.is_empty();
    if ask.unenforced == Unenforced::Refuse && !enforced {
        let lacks: Vec<String> =
            lacking.iter().map(|control| format!("{}: {}", control.name, control.lacks)).collect();
        let message = format!("this host cannot hold the sandbox; nothing was run ({})", lacks.join("; "));
        return Err(Fault::new("unenforced", message));
    }
    Ok(Enforced { profile: ask.profile, enforced, controls })
}

/// Where signals are not kept within a sandbox, calls run one at a time: there is no other to reach.
fn turn(state: &Path, facts: Facts) -> io::Result<File> {
    let file = workspace::turns(state)?;
    let operation = if facts.abi >= SIGNALS {
        FlockOperation::NonBlockingLockShared
    } else {
        FlockOperation::NonBlockingLockExclusive
    };
    let began = Instant::now();
    while let Err(error) = flock(&file, operation) {
        if began.elapsed() > SETUP {
            return Err(io::Error::other(format!("another call runs, and this kernel's run alone: {error}")));
        }
        sleep(Duration::from_millis(20));
    }
    Ok(file)
}

/// A stream of the program's.
struct Pipe<R> {
    from: Option<R>,
    kept: Kept,
}

impl<R: Read + AsFd> Pipe<R> {
    /// Takes what is there; at its end, or where it fails, there is no more.
    fn take(&mut self) -> usize {
        let mut buffer = [0; 64 * 1024];
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
struct Running {
    child: Child,
    pid: Pid,
    exited: OwnedFd,
    out: Pipe<std::process::ChildStdout>,
    err: Pipe<std::process::ChildStderr>,
    deadline: Instant,
}

impl Running {
    /// Starts the child and waits until it has become the program.
    fn start(order: &Order, shim: Option<OwnedFd>, began: Instant) -> io::Result<Result<Self, Fault>> {
        let (mut ours, theirs) = UnixStream::pair()?;
        let mut command = Command::new("/proc/self/exe");
        command.arg(CONFINED).env_clear().process_group(0);
        command.stdin(OwnedFd::from(theirs)).stdout(Stdio::piped()).stderr(Stdio::piped());
        if let Some(shim) = &shim {
            fcntl_setfd(shim, FdFlags::empty())?;
        }
        let mut child = command.spawn()?;
        // The child has them now; the end of its copies is seen only without ours.
        drop((command, shim));
        let pid = Pid::from_child(&child);
        let exited = pidfd_open(pid, PidfdFlags::empty())?;
        let out = Pipe { from: child.stdout.take(), kept: Kept::new(order.ask.output) };
        let err = Pipe { from: child.stderr.take(), kept: Kept::new(order.ask.output) };
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
    fn watch(&mut self, agent: &UnixStream, order: &Order) -> io::Result<Option<(Ended, ExitStatus)>> {
        let measured = (order.ask.profile == Profile::WorkspaceWrite).then(|| Size::of(&order.workspace));
        let mut next_look = Instant::now() + LOOK;
        let ended = loop {
            let now = Instant::now();
            if now >= self.deadline {
                break Ended::Timeout;
            }
            if let Some(before) = measured.filter(|_| now >= next_look) {
                let is_over = Size::of(&order.workspace).is_too_much(before);
                if is_over || workspace::is_nearly_full(&order.workspace) {
                    break Ended::Disk;
                }
                // Looking takes at most a tenth of the time.
                next_look = Instant::now() + LOOK.max(now.elapsed() * 10);
            }
            let wait = self.deadline.min(next_look.max(now + Duration::from_millis(1))) - now;
            let ready = self.wait(agent, wait)?;
            if ready.agent {
                let _ = self.end();
                return Ok(None);
            }
            if ready.out {
                self.out.take();
            }
            if ready.err {
                self.err.take();
            }
            if ready.exited {
                break Ended::Exited;
            }
        };
        let status = self.end()?;
        let ended = if ended == Ended::Exited && status.signal().is_some() { Ended::Killed } else { ended };
        self.out.take_rest();
        self.err.take_rest();
        Ok(Some((ended, status)))
    }

    fn wait(&self, agent: &UnixStream, wait: Duration) -> io::Result<Ready> {
        let wait = Timespec::try_from(wait).map_err(io::Error::other)?;
        let gone = PollFlags::RDHUP;
        let mut fds = vec![PollFd::new(agent, gone), PollFd::new(&self.exited, PollFlags::IN)];
        fds.extend(self.out.from.as_ref().map(|from| PollFd::new(from, PollFlags::IN)));
        fds.extend(self.err.from.as_ref().map(|from| PollFd::new(from, PollFlags::IN)));
        match poll(&mut fds, Some(&wait)) {
            Err(rustix::io::Errno::INTR) => return Ok(Ready::default()),
            result => result?,
        };
        let mut ready = fds.iter().map(|fd| !fd.revents().is_empty());
        let mut next = |is_polled: bool| is_polled && ready.next().unwrap_or(false);
        Ok(Ready {
            agent: next(true),
            exited: next(true),
            out: next(self.out.from.is_some()),
            err: next(self.err.from.is_some()),
        })
    }

    /// Kills the program with those that it started and that are still of its group.
    fn end(&mut self) -> io::Result<ExitStatus> {
        // There may be none left.
        let _ = kill_process_group(self.pid, Signal::KILL);
        self.child.wait()
    }
}

/// What a wait ended for.
#[derive(Clone, Copy, Debug, Default)]
struct Ready {
    agent: bool,
    exited: bool,
    out: bool,
    err: bool,
}
