//! The outcome of a named command, written by root once nothing of its unit is left.

use std::fs::File;
use std::io::{self, BufRead, BufReader, Read};

use postern_proto::root::v1::{JobEvent, JobKind, JobOutcome};
use prost::Message;

use crate::record::JobId;
use crate::{Fault, Host, meaning, sys};

/// Most bytes of one event: far more than a command's output or outcome has.
const EVENT_MAX: u64 = 64 * 1024;

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
    // Without whole events, what PID 1 says still stands.
    let outcome =
        File::open(&path).ok().and_then(|file| last(file).ok().flatten()).unwrap_or_else(|| told(ended));
    sys::write_whole(&directory, "outcome.pb", &outcome.encode_to_vec())
}

fn told(ended: &Ended) -> JobOutcome {
    let Ended { result, code, status } = ended;
    if result == "timeout" {
        return meaning::outcome(
            "timeout",
            "it did not end within its time (`timeout`), so it and all that it started were killed",
        );
    }
    meaning::outcome("command_failed", &format!("it could not be run to its end: {result} ({code} {status})"))
}

/// The outcome in the last event, if all are whole. One event at a time: how many there are is the command's to say.
fn last(file: File) -> io::Result<Option<JobOutcome>> {
    let (mut file, mut event) = (BufReader::new(file), Vec::new());
    while !file.fill_buf()?.is_empty() {
        let mut len = [0; 4];
        file.read_exact(&mut len)?;
        let len = u64::from(u32::from_le_bytes(len));
        if len > EVENT_MAX {
            return Ok(None);
        }
        event.clear();
        if u64::try_from(file.by_ref().take(len).read_to_end(&mut event)?).is_ok_and(|read| read < len) {
            return Ok(None);
        }
    }
    Ok(JobEvent::decode(event.as_slice()).ok().and_then(|event| event.outcome))
}
