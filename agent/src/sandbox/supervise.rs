//! The unit's main process: one connection, one call. It starts the confined child, keeps what that writes,
//! and ends it at its limits or when the agent leaves. When it exits itself, the unit kills all that is left.

use super::host_controls::{Facts, SIGNALS};
use super::job::{Record, Unenforced};
use super::paths;
use super::quota::Reservation;
use super::running::Running;
use super::wire::{self, SandboxJob, SandboxReply, SandboxRequest};
use super::workspace::{self, Size, Workspace};
use crate::protocol::confinement::Profile;
use crate::protocol::confinement::{Control, Enforced, Holder};
use crate::protocol::event::AgentError;
use crate::shims;
use nix::unistd::{Uid, User};
use rustix::fs::{FlockOperation, flock};
use rustix::net::{
    RecvAncillaryBuffer, RecvAncillaryMessage, RecvFlags, ReturnFlags, recvmsg, sockopt::socket_peercred,
};
use std::fs::File;
use std::io::{self, IoSliceMut, Write};
use std::mem::MaybeUninit;
use std::os::fd::{AsFd, AsRawFd, OwnedFd};
use std::os::unix::net::UnixStream;
use std::os::unix::process::ExitStatusExt;
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::thread::sleep;
use std::time::{Duration, Instant};

/// Set in the unit by tests with other shims.
const SHIMS_VARIABLE: &str = "POSTERN_TOOL_SHIMS";
/// How long the asking, and the child's confining of itself, may take.
const SETUP: Duration = Duration::from_secs(10);
/// How long a call waits for its turn.
const TURN: Duration = Duration::from_secs(20);

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
    let ask: SandboxRequest = wire::receive(&mut stream)?;
    let answer = match call(&stream, &ask, shim) {
        Ok(Some(record)) => SandboxReply::Record(record),
        Err(fault) => SandboxReply::AgentError(fault),
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
fn call(
    stream: &UnixStream,
    ask: &SandboxRequest,
    shim: Option<OwnedFd>,
) -> Result<Option<Record>, AgentError> {
    let began = Instant::now();
    let failed =
        |error: io::Error| AgentError::new("sandbox_failed", format!("the sandbox cannot be made: {error}"));
    let facts = Facts::here();
    let sandbox = enforced(facts, ask)?;
    let state = workspace::state().map_err(failed)?;
    paths::check_roots(ask, &state).map_err(|why| AgentError::new("invalid_argument", why))?;
    let workspace = Workspace::open(&state, &ask.task).map_err(failed)?;
    let _turn = turn(&state, facts).map_err(failed)?;
    let directory = workspace::of_descriptor(workspace.number());
    let mut reservation = None;
    if ask.profile == Profile::WorkspaceWrite {
        if workspace::is_nearly_full(&directory) {
            return Err(AgentError::new("sandbox_failed", "the disk of the workspaces is nearly full"));
        }
        reservation = Some(Reservation::take(&state, &ask.task, ask.total).map_err(failed)?);
    }
    let order = SandboxJob {
        ask: ask.clone(),
        workspace: workspace.path().to_owned(),
        directory: workspace.number(),
        own_tmp: facts.own_unit,
        abi: facts.abi,
        shims: std::env::var_os(SHIMS_VARIABLE).map_or_else(|| shims::DIRECTORY.into(), PathBuf::from),
        shim: shim.as_ref().map(AsRawFd::as_raw_fd),
    };
    let mut running = Running::start(&order, &workspace, shim, began).map_err(failed)??;
    let ended = running.watch(stream, &order).map_err(failed)?;
    if let Some(reservation) = reservation {
        reservation.end(Size::of(&directory)).map_err(failed)?;
    }
    let Some((ended, status)) = ended else { return Ok(None) };
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

/// Returns the enforced controls, or refuses a call that lacks one.
fn enforced(facts: Facts, ask: &SandboxRequest) -> Result<Enforced, AgentError> {
    if ask.profile == Profile::None {
        return Err(AgentError::new("refused", "the profile none runs nothing"));
    }
    let controls = facts.controls(ask);
    let lacking: Vec<&Control> = controls.iter().filter(|control| control.by == Holder::Nobody).collect();
    let enforced = lacking.is_empty();
    if ask.unenforced == Unenforced::Refuse && !enforced {
        let lacks: Vec<String> =
            lacking.iter().map(|control| format!("{}: {}", control.name, control.lacks)).collect();
        let message = format!("this host cannot hold the sandbox; nothing was run ({})", lacks.join("; "));
        return Err(AgentError::new("unenforced", message));
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
        if began.elapsed() > TURN {
            return Err(io::Error::other(format!(
                "another call runs, and on this kernel each runs alone: {error}"
            )));
        }
        sleep(Duration::from_millis(20));
    }
    Ok(file)
}
