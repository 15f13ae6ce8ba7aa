//! Files that operators let a task read: the approval holds for the task, so that they are not asked again for each look
//! and each change.

use crate::client::pending_request::Outcome;
use crate::protocol::args::{ChangeKind, FileChange};
use crate::protocol::event::{Decision, Event, Status};
use crate::protocol::mode::Mode;
use crate::protocol::request::Request;
use std::collections::HashMap;

/// The placeholder of a secret: the file holds its value, which is not kept here.
const SECRET: &[u8] = b"{{secret:";

/// The files by their paths, as they were read or written since. Stale content does no harm: a write expects it.
#[derive(Debug, Default)]
pub struct ApprovedReads(HashMap<String, Outcome>);

impl ApprovedReads {
    /// Whether a file was read so.
    pub fn has(&self, path: &str) -> bool {
        self.0.contains_key(path)
    }

    /// The file as it is known, where a request would read it whole again.
    pub fn of(&self, request: &Request, mode: Mode) -> Option<Outcome> {
        let Request::FileRead(range) = request else { return None };
        let is_whole = (range.offset, range.limit) == (0, 0) && mode == Mode::Execute;
        self.0.get(&range.path).filter(|_| is_whole).cloned()
    }

    /// Takes in what came of a request.
    pub fn took(&mut self, request: &Request, mode: Mode, outcome: &Outcome) {
        if mode != Mode::Execute {
            return;
        }
        if let (Request::FileRead(range), Event::Completed(done)) = (request, &outcome.end) {
            let is_whole = (range.offset, range.limit) == (0, 0) && !outcome.truncated;
            if is_whole && done.status == Status::Done && done.decision == Decision::Ask {
                self.0.insert(range.path.clone(), outcome.clone());
            }
        } else if let Request::FileWrite(args) = request {
            self.changed(&args.change.0, outcome);
        } else if let Request::FilePatch(args) = request {
            args.changes.iter().for_each(|change| self.changed(change, outcome));
        } else if let Request::FileRemove(args) = request {
            self.0.remove(&args.path);
        } else if request.is_effect() && !request.verb().starts_with("unit.") {
            // Programs and packages change files as well.
            self.0.clear();
        }
    }

    fn changed(&mut self, change: &FileChange, outcome: &Outcome) {
        let is_done = matches!(&outcome.end, Event::Completed(done)
            if matches!(done.status, Status::Done | Status::Unchanged));
        let has_secret = change.content.windows(SECRET.len()).any(|part| part == SECRET);
        match self.0.get_mut(&change.path) {
            Some(known) if is_done && !has_secret && change.kind == ChangeKind::Write => {
                known.content.clone_from(&change.content);
            }
            // It is not what it was thought to be.
            Some(_) => {
                self.0.remove(&change.path);
            }
            None => {}
        }
    }
}
