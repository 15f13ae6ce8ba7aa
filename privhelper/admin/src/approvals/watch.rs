//! `watch`: what comes to wait and how it ends, across restarts of the recorder.

use super::render::{Screen, cut, inline};
use super::result::{CommandError, CommandResult};
use super::terminal::screen_of_stdout;
use super::waiting::{agreed, as_json, short};
use crate::host::Host;
use crate::io::{Exit, Io};
use crate::operator::{CallError, REPLY_TIMEOUT, Replies, UNAVAILABLE};
use crate::policy::apply::Format;
use crate::text::{escape_json, time};
use nix::errno::Errno;
use nix::poll::{PollFd, PollFlags, PollTimeout, poll};
use nix::sys::signal::{SigSet, Signal};
use nix::sys::signalfd::{SfdFlags, SignalFd};
use postern_proto::v1::{Approval, OperatorWatchRequest, OperatorWatched};
use serde_json::json;
use std::io;
use std::os::fd::{AsFd, BorrowedFd};
use std::time::Duration;

/// How long to wait before connecting anew.
#[derive(Debug, Clone, Copy)]
pub struct Backoff {
    /// The first time; then twice as long each time.
    pub first: Duration,
    /// At most.
    pub most: Duration,
}

/// `watch` until Ctrl-C.
pub(super) fn until_interrupted(host: &Host, format: Format, io: &mut Io<'_>) -> CommandResult {
    let signals = SigSet::from_iter([Signal::SIGINT, Signal::SIGTERM]);
    signals.thread_block().map_err(io::Error::from)?;
    let stop = SignalFd::with_flags(&signals, SfdFlags::SFD_CLOEXEC).map_err(io::Error::from)?;
    let backoff = Backoff { first: Duration::from_secs(1), most: Duration::from_secs(30) };
    watch(host, screen_of_stdout(), format, backoff, &stop, io)
}

/// `watch` until `stop` can be read.
///
/// # Errors
/// The recorder cannot be reached at the start, or refuses; or the result cannot be written.
pub fn watch(
    host: &Host,
    screen: Screen,
    format: Format,
    backoff: Backoff,
    stop: impl AsFd,
    io: &mut Io<'_>,
) -> CommandResult {
    let stop = stop.as_fd();
    let mut replies = open(host)?;
    writeln!(io.err, "to decide: `postern-admin approve ID`, `postern-admin deny ID`; Ctrl-C ends this")?;
    loop {
        let Some(mut error) = follow(replies, screen, format, stop, io)? else { return Ok(Exit::Done) };
        let mut pause = backoff.first;
        replies = loop {
            if !is_restart(&error) {
                return Err(error.into());
            }
            writeln!(io.err, "{error}; trying again in {pause:?}")?;
            if readable([stop], Some(pause))? {
                return Ok(Exit::Done);
            }
            pause = (pause * 2).min(backoff.most);
            match open(host) {
                Ok(replies) => break replies,
                Err(another) => error = another,
            }
        };
        writeln!(io.err, "connected again: the waiting requests follow; those not listed have ended")?;
    }
}

/// Whether it may be another answer soon.
fn is_restart(error: &CallError) -> bool {
    match error {
        CallError::Disconnected | CallError::Refused(UNAVAILABLE, _) => true,
        CallError::Unreachable(error) => error.kind() != io::ErrorKind::PermissionDenied,
        CallError::Refused(..) | CallError::Malformed(_) => false,
    }
}

fn open(host: &Host) -> Result<Replies, CallError> {
    let request = OperatorWatchRequest {};
    // It is read only when something came, so that only half an event makes it wait.
    Replies::open(&host.operator_socket, host.owner_uid, "Operator/Watch", &request, Some(REPLY_TIMEOUT))
}

/// Tells every event; the error that ended it, or `None` if it was `stop`.
fn follow(
    mut replies: Replies,
    screen: Screen,
    format: Format,
    stop: BorrowedFd<'_>,
    io: &mut Io<'_>,
) -> Result<Option<CallError>, CommandError> {
    loop {
        readable([stop, replies.as_fd()], None)?;
        if readable([stop], Some(Duration::ZERO))? {
            return Ok(None);
        }
        let watched: OperatorWatched = match replies.receive() {
            Ok(Some(watched)) => watched,
            Ok(None) => return Ok(Some(CallError::Disconnected)),
            Err(error) => return Ok(Some(error)),
        };
        let Some(approval) = watched.approval else {
            return Ok(Some(CallError::Malformed("an event about nothing".to_owned())));
        };
        match format {
            Format::Json => {
                let event = json!({ "v": 1, "approval": as_json(&approval), "ended": watched.ended });
                writeln!(io.out, "{}", escape_json(&event.to_string()))?;
            }
            Format::Text => writeln!(io.out, "{}", cut(line(&approval, &watched.ended), screen))?,
        }
        io.out.flush()?;
    }
}

fn line(approval: &Approval, ended: &str) -> String {
    let state = match ended {
        "" => format!("waits until {}, agreed {}", time(approval.expires_unix_s), agreed(approval)),
        ended => inline(ended),
    };
    let id = short(&approval.approval_id, &[]);
    let what = [id, &state, &approval.client, &approval.verb, &approval.target].map(inline).join("  ");
    format!("{}  {what}", time(approval.since_unix_s))
}

/// Waits until one of `fds` can be read, and says whether one can.
fn readable<const N: usize>(fds: [BorrowedFd<'_>; N], most: Option<Duration>) -> io::Result<bool> {
    let mut fds = fds.map(|fd| PollFd::new(fd, PollFlags::POLLIN));
    let timeout =
        most.map_or(PollTimeout::NONE, |most| PollTimeout::try_from(most).unwrap_or(PollTimeout::MAX));
    loop {
        match poll(&mut fds, timeout) {
            Ok(ready) => return Ok(ready > 0),
            Err(Errno::EINTR) => {}
            Err(error) => return Err(error.into()),
        }
    }
}
