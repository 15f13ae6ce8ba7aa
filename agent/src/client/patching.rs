//! Resolves a diff against the current files into the file changes of a request.

use super::pending_request::{Outcome, PendingRequest, new_id};
use super::transport::Transport;
use crate::protocol::args::{ChangeKind, FileChange, ReadRange};
use crate::protocol::event::{Completed, Decision, Event, FileInfo, Status};
use crate::protocol::file_view::FileView;
use crate::protocol::mode::Mode;
use crate::protocol::request::Request;
use postern_patch::{FileDiff, Kind, Moved, apply, difference};
use sha2::{Digest, Sha256};
use std::fmt::Write;

/// A file that was read whole, or that is not there.
#[derive(Clone, Debug, Default)]
pub struct Old {
    /// Its content; `None` where there is no file.
    pub content: Option<Vec<u8>>,
    /// Its mode and owner.
    pub info: Option<FileInfo>,
}

/// Why a file could not be read whole.
#[derive(Debug)]
pub enum Unread {
    /// The helper's answer.
    Refused(Box<Outcome>),
    /// It is larger than the client may read.
    TooLarge,
}

/// A file of a diff that would change.
#[derive(Clone, Debug)]
pub struct Resolved {
    /// The requested change.
    pub change: FileChange,
    /// The same, for display.
    pub view: FileView,
    /// The hunks that stand elsewhere than the diff says.
    pub moved: Vec<Moved>,
}

/// A request to read a file whole.
pub fn read_of(path: &str) -> Request {
    Request::FileRead(ReadRange { path: path.to_owned(), offset: 0, limit: 0 })
}

impl Old {
    /// Reads the content from the outcome of a `file.read`.
    pub fn of(outcome: Outcome) -> Result<Self, Unread> {
        match &outcome.end {
            Event::Completed(done) if done.status == Status::Done => {
                if outcome.truncated {
                    return Err(Unread::TooLarge);
                }
                let info = done.files.first().cloned();
                Ok(Self { content: Some(outcome.content), info })
            }
            end if end.code() == "not_found" => Ok(Self::default()),
            _ => Err(Unread::Refused(Box::new(outcome))),
        }
    }

    /// Returns the `expect` of a change: the SHA-256 of the content that was read, or `absent`.
    pub fn expect(&self) -> String {
        self.content.as_deref().map_or_else(|| "absent".to_owned(), sha256)
    }

    /// How it would differ from what it shall hold.
    pub fn view(&self, path: &str, new: Option<&[u8]>) -> FileView {
        FileView {
            path: path.to_owned(),
            is_new: self.content.is_none(),
            was: self.info.clone(),
            lines: self.content.as_deref().unwrap_or_default().split_inclusive(|b| *b == b'\n').count(),
            difference: difference(path, self.content.as_deref(), new),
        }
    }
}

/// One file of a diff; `None` where it would not change.
///
/// # Errors
/// A hunk that does not fit, named.
pub fn resolve(file: &FileDiff, old: &Old) -> Result<Option<Resolved>, String> {
    let path = &file.path;
    if old.content.is_none() && file.kind != Kind::Create {
        return Err(format!("{path:?} does not exist"));
    }
    let applied = apply(file, old.content.as_deref()).map_err(|conflict| conflict.to_string())?;
    let (change, view) = if file.kind == Kind::Delete {
        (FileChange::remove(path.clone(), old.expect()), old.view(path, None))
    } else if old.content.as_ref() == Some(&applied.content) {
        return Ok(None);
    } else {
        let view = old.view(path, Some(&applied.content));
        (FileChange::write(path.clone(), applied.content, old.expect()), view)
    };
    Ok(Some(Resolved { change, view, moved: applied.moved }))
}

/// The SHA-256 of bytes, in hex.
pub fn sha256(content: &[u8]) -> String {
    Sha256::digest(content).iter().fold(String::new(), |mut hex, byte| {
        let _ = write!(hex, "{byte:02x}");
        hex
    })
}

/// The files that a request changes, and what they would hold.
pub fn contents(request: &Request) -> Vec<(String, Option<Vec<u8>>)> {
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

/// Whether a file may be read without a person's word.
pub fn is_allowed(end: &Event) -> bool {
    let is = |done: &Completed| done.status == Status::Previewed && done.decision == Decision::Allow;
    matches!(end, Event::Completed(done) if is(done))
}

/// Returns the differences of the files that a request changes. Files that the client may not read without asking
/// are left out.
pub async fn views(transport: &Transport, ask: &PendingRequest) -> Vec<FileView> {
    let mut views = Vec::new();
    for (path, new) in contents(&ask.request) {
        let read =
            |mode| PendingRequest { request: read_of(&path), id: new_id(), mode, wait_ms: 0, ..ask.clone() };
        if is_allowed(&transport.ask(&read(Mode::Check), &mut |_| {}).await.end)
            && let Ok(old) = Old::of(transport.ask(&read(Mode::Execute), &mut |_| {}).await)
        {
            views.push(old.view(&path, new.as_deref()));
        }
    }
    views
}
