//! What files hold now, as far as the client may read them: for diffs, and for what a patch is applied to.

use super::Session;
use crate::args::ReadRange;
use crate::ask::{Mode, Outcome};
use crate::event::{Completed, Decision, Event, FileInfo, Status};
use crate::request::Request;
use crate::show::FileView;
use postern_patch::difference;
use sha2::{Digest, Sha256};

/// A file that was read whole, or that is not there.
#[derive(Clone, Debug, Default)]
pub struct Old {
    /// Its content; `None` where there is no file.
    pub content: Option<Vec<u8>>,
    /// Its mode and owner.
    pub info: Option<FileInfo>,
}

impl Old {
    /// What a change of it may expect: that it is still so.
    pub fn expect(&self) -> String {
        let hex = |digest: &[u8]| digest.iter().map(|byte| format!("{byte:02x}")).collect();
        self.content.as_ref().map_or_else(|| "absent".to_owned(), |content| hex(&Sha256::digest(content)))
    }

    /// How it would differ from what it shall hold.
    pub fn view(&self, path: &str, new: Option<&[u8]>) -> FileView {
        FileView {
            path: path.to_owned(),
            was: self.info.clone(),
            lines: self.content.as_deref().unwrap_or_default().split_inclusive(|b| *b == b'\n').count(),
            difference: difference(path, self.content.as_deref(), new),
        }
    }
}

/// Why a file could not be read whole.
pub enum Unread {
    /// The helper's answer.
    Refused(Box<Outcome>),
    /// It is larger than the client may read.
    TooLarge,
}

impl Session<'_> {
    /// Reads a file, and waits for a person where the policy wants one asked.
    pub(super) async fn read(&mut self, path: &str) -> Result<Old, Unread> {
        let ask = self.prepare(read_of(path), Mode::Execute);
        let door = self.door();
        let outcome = self.follow(&door, &ask).await;
        match &outcome.end {
            Event::Completed(done) if done.status == Status::Done => {
                if outcome.truncated {
                    return Err(Unread::TooLarge);
                }
                let info = done.files.first().cloned();
                Ok(Old { content: Some(outcome.content), info })
            }
            end if code(end) == "not_found" => Ok(Old::default()),
            _ => Err(Unread::Refused(Box::new(outcome))),
        }
    }

    /// How the files that a request changes would differ. What may not be read, or not without a person's word, is
    /// left out: a dry run asks nobody.
    pub(super) async fn views(&mut self, request: &Request) -> Vec<FileView> {
        let mut views = Vec::new();
        for (path, new) in contents(request) {
            let door = self.door();
            let may = door.ask(&self.prepare(read_of(&path), Mode::Check), &mut |_| {}).await;
            let is_free = matches!(&may.end, Event::Completed(done) if is_allowed(done));
            if let (true, Ok(old)) = (is_free, self.read(&path).await) {
                views.push(old.view(&path, new.as_deref()));
            } else if !self.is_silent() {
                self.console.say(&format!("no diff of {path}: it may not be read"));
            }
        }
        views
    }
}

fn is_allowed(done: &Completed) -> bool {
    done.status == Status::Previewed && done.decision == Decision::Allow
}

fn read_of(path: &str) -> Request {
    Request::FileRead(ReadRange { path: path.to_owned(), offset: 0, limit: 0 })
}

fn code(end: &Event) -> &str {
    match end {
        Event::Completed(done) => &done.code,
        Event::Refused(refused) => &refused.code,
        Event::Error(fault) => &fault.code,
        Event::Accepted(_) | Event::Waiting(_) | Event::Progress(_) | Event::Output(_) => "",
    }
}

/// The files that a request changes, and what they would hold.
fn contents(request: &Request) -> Vec<(String, Option<Vec<u8>>)> {
    use crate::args::{ChangeKind, FileChange};
    let one = |change: &FileChange| match change.kind {
        ChangeKind::Write => (change.path.clone(), Some(change.content.clone())),
        ChangeKind::Remove => (change.path.clone(), None),
    };
    match request {
        Request::FileWrite(args) => vec![one(&args.change.0)],
        Request::FilePatch(args) => args.changes.iter().map(one).collect(),
        Request::FileRemove(args) => vec![(args.path.clone(), None)],
        _ => Vec::new(),
    }
}
