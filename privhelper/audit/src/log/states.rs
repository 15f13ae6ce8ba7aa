//! The request ids that the log holds, read back at start: each record that changes one has a member `state`.

use super::chain::rotated;
use super::limits::IDS;
use super::{AuditLog, Event, Mark};
use crate::fault::Fault;
use crate::sys::files;
use postern_policy::types::unhex;
use postern_proto::root::v1::RequestState;
use prost::Message;
use std::collections::HashMap;
use std::fs::File;
use std::io::{BufRead, BufReader};

impl AuditLog {
    /// Calls `with` for every state in the files that were written within the retention of ids before this start, or before
    /// the last record of an earlier one, oldest first, and for requests that the single helper before the recorder left open.
    ///
    /// # Errors
    /// The files cannot be read.
    pub fn states(&self, mut with: impl FnMut(RequestState)) -> Result<(), Fault> {
        let directory = &self.location.log;
        // While the host was off, no deadline of `keep_within` was kept: they are in what was written last.
        let is_old = |written| self.left.duration_since(written).is_ok_and(|age| age > IDS);
        let mut paths = Vec::new();
        for old in rotated(directory)?.into_iter().filter(|old| !old.written.is_some_and(is_old)) {
            if old.is_plain {
                paths.push(old.path);
            } else {
                let why = "is compressed too early: the request ids in it are not known";
                self.remark(format!("{} {why}", old.path.display()));
            }
        }
        paths.push(directory.join("audit.jsonl"));
        let mut open = HashMap::new();
        for path in paths {
            if files::metadata(&path).map_err(Fault::audit)?.is_none() {
                continue;
            }
            for line in BufReader::new(File::open(&path).map_err(Fault::audit)?).split(b'\n') {
                let line = line.map_err(Fault::audit)?;
                match (state(&line), stateless(&line)) {
                    (Some(state), _) => {
                        open.remove(&(state.uid, state.request_id.clone()));
                        with(state);
                    }
                    (None, Some((event, state))) => follow(&mut open, event, state),
                    (None, None) => {}
                }
            }
        }
        open.into_values().for_each(with);
        Ok(())
    }
}

/// Returns the state in a record. Nothing that a client or the broker wrote comes before `request_id`.
fn state(line: &[u8]) -> Option<RequestState> {
    let (own, _) = std::str::from_utf8(line).ok()?.split_once(",\"request_id\":\"")?;
    let (_, own) = own.split_once(",\"event\":\"")?;
    let (event, own) = own.split_once('"')?;
    let hex = own.split_once(",\"state\":\"")?.1.strip_suffix('"')?;
    let is_ours = Event::ALL.iter().any(|ours| ours.as_str() == event && ours.is(Mark::State));
    RequestState::decode(unhex(hex)?.as_slice()).ok().filter(|_| is_ours)
}

/// Reads a record without a state: its event, and who asked for what under which id. Nothing that a client wrote comes
/// before the verb.
fn stateless(line: &[u8]) -> Option<(&str, RequestState)> {
    let (own, rest) = std::str::from_utf8(line).ok()?.split_once(",\"request_id\":\"")?;
    let event = own.rsplit_once(",\"event\":\"")?.1.strip_suffix('"')?;
    let (request_id, rest) = rest.split_once('"')?;
    let (uid, rest) = rest.split_once("\"uid\":")?.1.split_once(',')?;
    let verb = rest.split_once("\"verb\":\"")?.1.split_once('"')?.0;
    let (uid, request_id, verb) = (uid.parse().ok()?, request_id.to_owned(), verb.to_owned());
    Some((event, RequestState { uid, request_id, verb, ..RequestState::default() }))
}

/// Tracks open requests of the single helper before the recorder: an effect until its end, an approval until its answer.
fn follow(open: &mut HashMap<(u32, String), RequestState>, event: &str, state: RequestState) {
    let key = (state.uid, state.request_id.clone());
    let has_begun = open.get(&key).is_some_and(|known| known.begun_unix_us > 0);
    match event {
        "begin" => drop(open.insert(key, RequestState { begun_unix_us: 1, ..state })),
        "pending" => drop(open.insert(key, state)),
        "end" | "interrupted" => drop(open.remove(&key)),
        "refused" if !has_begun => drop(open.remove(&key)),
        _ => {}
    }
}
