//! Follows an order to its end: the recorder's frames become events for the client.

use crate::call::Call;
use crate::error::{Error, Fault};
use crate::progress::ProgressLines;
use crate::recorder::{Known, closed, decode, known, replayed};
use crate::sys::socket;
use postern_policy::{Code, Denied};
use postern_proto::link::{self, Kind};
use postern_proto::root::v1::{Parked, Recalled, Recorded};
use postern_proto::v1::{self as wire, event};
use std::os::unix::net::UnixStream;
use std::time::{Duration, Instant};

/// How often a relay checks whether its client has left.
const LOOK: Duration = Duration::from_millis(500);
/// How much longer than the client waits: the recorder ends its wait for a turn then, and says that nothing began.
const GRACE: Duration = Duration::from_secs(1);
/// How long the relay waits for a recorder that has ended to come back, and the pause between two tries.
const RESTART: Duration = Duration::from_secs(20);
const STEP: Duration = Duration::from_millis(200);
/// Most restarts of the recorder during one order.
const RESTARTS: u32 = 10;

/// Follows an order until its last frame, and returns its outcome. `limit` ends the client's waiting, never an effect.
///
/// # Errors
/// Nothing began, or the recorder does not give the outcome.
pub fn follow(call: &mut Call, mut stream: UnixStream, limit: Duration) -> Result<wire::Completed, Error> {
    let until = || Instant::now().checked_add(limit.saturating_add(GRACE));
    let mut deadline = until();
    let mut restarts = 0..RESTARTS;
    let mut progress = ProgressLines::new(&call.claim.verb);
    loop {
        let left = deadline.map_or(LOOK, |at| at.saturating_duration_since(Instant::now()));
        // Also while there is something to read: a client that reads slowly gets no more time than others.
        if left.is_zero() && deadline.take().is_some() {
            call.sender.finish(too_late());
        }
        if !socket::readable(&stream, left.min(LOOK)) {
            // A caller that attached has nothing to wait for once it has left.
            if call.is_attached() && !call.sender.is_open() {
                return Err(Error::Recorded(Denied::new(Code::Interrupted, "the client has left")));
            }
            continue;
        }
        let Ok(Some((kind, payload))) = link::read(&mut stream) else {
            restarts.next().ok_or_else(|| lost("the recorder keeps ending before it answers"))?;
            stream = reattach(call)?;
            continue;
        };
        if kind == Kind::Event {
            match decode::<wire::Event>(&payload)?.kind {
                Some(event::Kind::Output(lines)) if lines.stream() == wire::Stream::Unspecified => {
                    let new = progress.take(&lines.data).into_iter().map(event::Kind::Progress);
                    new.for_each(|kind| call.sender.event(kind));
                }
                kind => kind.into_iter().for_each(|kind| call.sender.event(kind)),
            }
        } else if kind == Kind::Parked {
            let Parked { approval_id, expires_unix_s } = decode(&payload)?;
            if approval_id.is_empty() {
                call.resume();
                deadline = until();
            } else {
                call.park(approval_id, expires_unix_s);
                deadline = None;
            }
        } else if kind == Kind::Recalled {
            match known(decode::<Recalled>(&payload)?)? {
                Known::Running => call.attach(),
                Known::Ended(recalled) => return Ok(replayed(*recalled)),
                Known::New => return Err(lost("the recorder ended before it began").into()),
            }
        } else if kind == Kind::Recorded {
            let recorded: Recorded = decode(&payload)?;
            return Ok(recorded.completed.unwrap_or_default());
        } else {
            return Err(closed(kind, &payload));
        }
    }
}

/// Asks a restarted recorder for the outcome of the order. An order without an id was a read.
fn reattach(call: &Call) -> Result<UnixStream, Error> {
    let give_up = Instant::now().checked_add(RESTART);
    while call.takes_id && give_up.is_some_and(|at| Instant::now() < at) {
        std::thread::sleep(STEP);
        let (uid, id) = (call.peer.uid, &call.claim.request_id);
        let stream = call.state.recorder.attach(uid, id, call.digest.array());
        // The next frame says whether it worked.
        if let Some(stream) = stream.ok().filter(|stream| socket::readable(stream, RESTART)) {
            return Ok(stream);
        }
    }
    Err(lost("the recorder ended before it answered; ask for the result of the request").into())
}

fn lost(what: &str) -> Fault {
    Fault::new(Code::AuditUnavailable, what)
}

/// Sent when `wait_ms` expires. The effect continues; its outcome is recorded.
fn too_late() -> event::Kind {
    event::Kind::Completed(wire::Completed {
        status: wire::Status::Failed.into(),
        code: Code::Timeout.as_str().to_owned(),
        message: "the waiting time is over; the effect continues, ask for its result later".to_owned(),
        ..wire::Completed::default()
    })
}
