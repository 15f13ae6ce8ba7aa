//! The request ids that the log holds, read back at start: each record that changes one has a member `state`.

use super::chain::rotated;
use super::limits::IDS;
use super::{AuditLog, Event};
use crate::fault::Fault;
use crate::sys::{files, locked};
use postern_proto::root::v1::RequestState;
use prost::Message;
use std::fs::File;
use std::io::{BufRead, BufReader};

/// Events whose records hold a `state`.
const EVENTS: [Event; 6] =
    [Event::Pending, Event::Begin, Event::End, Event::Interrupted, Event::Refused, Event::Served];

impl AuditLog {
    /// Calls `with` for every state in the files that were written within the retention of ids, oldest first.
    ///
    /// # Errors
    /// The files cannot be read.
    pub fn states(&self, mut with: impl FnMut(RequestState)) -> Result<(), Fault> {
        let directory = locked(&self.chain).directory().to_owned();
        let is_recent = |written| (self.now)().duration_since(written).is_ok_and(|age| age > IDS);
        let mut paths = Vec::new();
        for old in rotated(&directory)?.into_iter().filter(|old| !old.written.is_some_and(is_recent)) {
            if old.is_plain {
                paths.push(old.path);
            } else {
                let why = "is compressed too early: the request ids in it are not known";
                self.remark(format!("{} {why}", old.path.display()));
            }
        }
        paths.push(directory.join("audit.jsonl"));
        for path in paths {
            if files::facts_at(&path).map_err(Fault::Audit)?.is_none() {
                continue;
            }
            for line in BufReader::new(File::open(&path).map_err(Fault::Audit)?).split(b'\n') {
                state(&line.map_err(Fault::Audit)?).into_iter().for_each(&mut with);
            }
        }
        Ok(())
    }
}

/// Returns the state in a record. Nothing that a client or the broker wrote comes before `request_id`.
fn state(line: &[u8]) -> Option<RequestState> {
    let (own, _) = std::str::from_utf8(line).ok()?.split_once(",\"request_id\":\"")?;
    let (_, own) = own.split_once(",\"event\":\"")?;
    let (event, own) = own.split_once('"')?;
    let hex = own.split_once(",\"state\":\"")?.1.strip_suffix('"')?;
    let digit = |digit: &u8| char::from(*digit).to_digit(16).and_then(|digit| u8::try_from(digit).ok());
    let byte = |pair: &[u8]| match pair {
        [high, low] => Some(digit(high)? << 4 | digit(low)?),
        _ => None,
    };
    let bytes = hex.as_bytes().chunks(2).map(byte).collect::<Option<Vec<u8>>>()?;
    let is_ours = EVENTS.iter().any(|ours| ours.as_str() == event);
    RequestState::decode(bytes.as_slice()).ok().filter(|_| is_ours)
}
