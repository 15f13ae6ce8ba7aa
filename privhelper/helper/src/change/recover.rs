//! After a crash in the middle of a change: finished if everything was in place already, else taken back.

use crate::audit::{Json, Ticket};
use crate::error::{Fault, Stop};
use crate::helper::Helper;
use crate::leave::Done;
use crate::sys::confined::{self, Need};
use crate::sys::files::{self, New, Standing, Step};
use postern_policy::types::{Attributes, FileKind, FileMode, TargetPath};
use postern_proto::root::v1::{FileState, FileUndo, FilesUndo, RequestRecord};
use postern_proto::v1 as wire;
use std::os::fd::OwnedFd;

const KINDS: &[FileKind] = &[FileKind::File, FileKind::Directory];

/// Takes up a change that an earlier helper began; none if it never came to it. Before any other change begins.
#[must_use]
pub fn recover(helper: &Helper, ticket: &Ticket, request: &RequestRecord) -> Option<Done> {
    let undo = super::kept(helper, request.uid, &request.request_id).ok()??;
    let ended = take_up(helper, ticket, &undo);
    let (status, code, message) = match &ended {
        Ok(true) => (wire::Status::Done, "", "the helper ended meanwhile; the change was in place"),
        Ok(false) => {
            // It is no way back to anything.
            drop(super::forget(helper, request.uid, &request.request_id));
            (wire::Status::Interrupted, "interrupted", "the helper ended meanwhile; all was taken back")
        }
        Err(_) => {
            (wire::Status::Interrupted, "interrupted", "the helper ended meanwhile; look at what is there")
        }
    };
    let is_done = status == wire::Status::Done;
    let files = undo.files.iter().filter(|_| is_done).map(info).collect();
    let completed = wire::Completed {
        status: status.into(),
        code: code.to_owned(),
        message: message.to_owned(),
        files,
        ..wire::Completed::default()
    };
    let undo = if is_done && !undo.incomplete { Json::new().text("kind", "file") } else { Json::new() };
    Some(Done { completed, undo })
}

fn info(file: &FileUndo) -> wire::FileInfo {
    let path = file.path.clone();
    let Some(after) = &file.after else {
        return wire::FileInfo { path, ..wire::FileInfo::default() };
    };
    let r#type = if after.directory { wire::FileType::Directory } else { wire::FileType::File };
    let mode = FileMode::of_stat(after.mode).map(|mode| mode.to_string()).unwrap_or_default();
    wire::FileInfo { path, r#type: r#type.into(), mode, ..wire::FileInfo::default() }
}

/// Whether the change is in place as a whole; else nothing of it is when this returns.
fn take_up(helper: &Helper, ticket: &Ticket, undo: &FilesUndo) -> Result<bool, Stop> {
    let mut places = Vec::new();
    for file in &undo.files {
        let path = TargetPath::new(&file.path)?;
        let parent = files::open_directory(&TargetPath::new(path.split().0)?, helper.host.owner_uid)?;
        places.push((file, path, parent));
    }
    let directories = places.iter().map(|(_, _, parent)| parent).collect::<Vec<_>>();
    confined::run(helper.host.landlock, Need::Change, &directories, || {
        let found = places.iter().map(|(file, path, parent)| Found::new(file, path, parent));
        let found = found.collect::<Result<Vec<_>, Stop>>()?;
        let is_whole = found.iter().all(|found| found.is_new && !found.is_leaving());
        if !is_whole {
            for found in found.iter().rev().filter(|found| found.has_way_back()) {
                files::swap_back(ticket, &found.step(found.beside.as_ref()))?;
            }
        }
        // What is beside its place by now is an old file that was replaced, or a new one that will not take its place.
        let steps = found.iter().map(|found| found.step(None)).collect::<Vec<_>>();
        files::clear(ticket, &steps)?;
        Ok(is_whole)
    })
}

/// One file as it is found.
struct Found<'a> {
    file: &'a FileUndo,
    name: &'a str,
    parent: &'a OwnedFd,
    /// What waits beside it.
    beside: Option<Standing>,
    /// Whether the new state is in place.
    is_new: bool,
}

impl<'a> Found<'a> {
    fn new(file: &'a FileUndo, path: &'a TargetPath, parent: &'a OwnedFd) -> Result<Self, Stop> {
        let name = path.split().1;
        let mut there = files::look(parent, name, KINDS)?;
        let has_temporary = !file.temporary.is_empty();
        let beside = if has_temporary { files::look(parent, &file.temporary, KINDS)? } else { None };
        let inode = |standing: &Standing| standing.identity.1;
        let is_new = match (&file.before, &beside) {
            // The old one stands beside its place: they were swapped.
            (Some(before), Some(beside)) if inode(beside) == before.inode => true,
            (Some(before), _) if has_temporary && there.as_ref().map(inode) == Some(before.inode) => false,
            (None, Some(_)) => false,
            (_, _) => is_as(there.as_mut(), file.after.as_ref())?,
        };
        Ok(Self { file, name, parent, beside, is_new })
    }

    /// A directory that has lost its name and is not gone: only where it stands it is known to be empty.
    fn is_leaving(&self) -> bool {
        self.file.after.is_none() && self.beside.as_ref().is_some_and(|old| old.kind == FileKind::Directory)
    }

    /// What was new can lose its name again; what replaced something needs that to stand beside it.
    fn has_way_back(&self) -> bool {
        self.is_new && (self.file.before.is_none() || self.beside.is_some())
    }

    /// The change as [`files`] knows it, as far as taking it back and clearing up need it.
    fn step<'b>(&'b self, old: Option<&'b Standing>) -> Step<'b> {
        let attributes = Attributes { mode: FileMode::DEFAULT, uid: 0, gid: 0 };
        let new = match &self.file.after {
            Some(after) if after.directory => New::Directory(attributes),
            Some(_) => New::File(&[], attributes),
            None => New::Nothing,
        };
        Step { parent: self.parent, name: self.name, temporary: &self.file.temporary, old, new, xattrs: None }
    }
}

/// Whether this is what was to be.
fn is_as(there: Option<&mut Standing>, state: Option<&FileState>) -> Result<bool, Fault> {
    let (there, state) = match (there, state) {
        (Some(there), Some(state)) => (there, state),
        (None, None) => return Ok(true),
        (None, Some(_)) | (Some(_), None) => return Ok(false),
    };
    let is_directory = there.kind == FileKind::Directory;
    let attributes = there.attributes;
    let seen = (is_directory, attributes.mode.bits(), attributes.uid, attributes.gid);
    let is_content = state.sha256.is_empty() || there.sha256()?.as_bytes() == state.sha256;
    Ok(seen == (state.directory, state.mode, state.uid, state.gid) && is_content)
}
