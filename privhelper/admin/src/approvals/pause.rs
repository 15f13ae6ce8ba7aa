//! `pause` and `resume`.

use super::arguments::reason;
use super::render::inline;
use super::result::{CommandResult, call};
use crate::host::Host;
use crate::io::{Exit, Io};
use crate::text::{count, time};
use postern_proto::v1::{OperatorPauseRequest, OperatorPaused, OperatorResumeRequest, OperatorResumed};

/// `pause`: says what has begun and goes on.
pub(super) fn pause(host: &Host, why: &str, io: &mut Io<'_>) -> CommandResult {
    let request = OperatorPauseRequest { reason: reason(why)? };
    let OperatorPaused { running } = call(host, "Operator/Pause", &request)?;
    writeln!(io.out, "paused: nothing new begins until `postern-admin resume`")?;
    if !running.is_empty() {
        writeln!(io.out, "{} begun before and still running:", count(running.len(), "request"))?;
    }
    for one in &running {
        let (id, verb) = (inline(&one.request_id), inline(&one.verb));
        writeln!(io.out, "  {id}  {verb}  uid {}  since {}", one.uid, time(one.since_unix_s))?;
    }
    Ok(Exit::Done)
}

/// `resume`.
pub(super) fn resume(host: &Host, io: &mut Io<'_>) -> CommandResult {
    let OperatorResumed {} = call(host, "Operator/Resume", &OperatorResumeRequest {})?;
    writeln!(io.out, "resumed: requests begin again")?;
    Ok(Exit::Done)
}
