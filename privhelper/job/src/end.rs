//! The outcome of a named command, written by root once nothing of its unit is left.

use std::fs::File;

use postern_proto::root::v1::{JobEvent, JobKind, JobOutcome};
use prost::Message;

use crate::record::JobId;
use crate::{Fault, Host, apt, sys};

/// Most bytes of events: 16 MiB of each output, with room for their frames.
const EVENTS_MAX: u64 = 48 * 1024 * 1024;

/// How PID 1 says that the unit's main process ended, in its own words.
#[derive(Debug, Clone, Default)]
pub struct Ended {
    /// `success`, `exit-code`, `timeout`, `oom-kill`, ...
    pub result: String,
    /// `exited`, `killed` or `dumped`.
    pub code: String,
    /// An exit code or a signal's name.
    pub status: String,
}

/// Writes `outcome.pb`: the last event, or what PID 1 says if the process was ended before it wrote one.
///
/// # Errors
/// The job's directory cannot be read, is no command's, or the outcome cannot be written.
pub fn end(host: &Host, id: &JobId, ended: &Ended) -> Result<(), Fault> {
    let directory = host.directory(id);
    if sys::read_record(&directory, id)?.kind != JobKind::Command {
        return Err(Fault::new("this job runs no command"));
    }
    let path = directory.join("events");
    let written = File::open(&path)
        .map_err(|error| Fault::at(&path, &error))
        .and_then(|file| sys::read_capped(file, EVENTS_MAX));
    // Without events, or with more than a command may make, what PID 1 says still stands.
    let outcome = written.ok().and_then(|bytes| last(&bytes)).unwrap_or_else(|| told(ended));
    sys::write_whole(&directory, "outcome.pb", &outcome.encode_to_vec())
}

fn told(ended: &Ended) -> JobOutcome {
    let Ended { result, code, status } = ended;
    if result == "timeout" {
        return apt::outcome(
            "timeout",
            "it did not end within its time (`timeout`), so it and all that it started were killed",
        );
    }
    apt::outcome("command_failed", &format!("it could not be run to its end: {result} ({code} {status})"))
}

/// The outcome in the last whole event.
fn last(bytes: &[u8]) -> Option<JobOutcome> {
    let (mut rest, mut outcome) = (bytes, None);
    while let Some((len, tail)) = rest.split_first_chunk::<4>() {
        let len = usize::try_from(u32::from_le_bytes(*len)).ok()?;
        let (event, after) = tail.split_at_checked(len)?;
        outcome = JobEvent::decode(event).ok()?.outcome;
        rest = after;
    }
    outcome
}
