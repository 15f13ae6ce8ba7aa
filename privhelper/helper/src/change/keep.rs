//! What files were before they changed, on disk before they do: for undo, and after a crash to know how far it came.

use super::plan::Looked;
use super::{Change, To};
use crate::context::Context;
use crate::error::{Fault, Stop};
use crate::helper::Helper;
use crate::plan::FilePlan;
use postern_policy::Grant;
use postern_policy::types::{Attributes, Digest, FileKind};
use postern_proto::root::v1::{FileState, FileUndo, FilesUndo, UndoLimits};
use prost::Message;

/// One change with what was looked at.
pub(super) struct Doing<'a> {
    pub change: &'a Change,
    pub plan: &'a FilePlan,
    pub looked: Looked,
    /// The name beside it under which the new file waits.
    pub temporary: String,
}

impl Doing<'_> {
    fn undo(&mut self) -> FileUndo {
        let before = self.looked.there.as_ref().map(|(standing, old)| FileState {
            inode: standing.identity.1,
            xattrs: self.looked.xattrs.clone().unwrap_or_default().into_kept(),
            ..state(old.kind, old.attributes, None)
        });
        let after = match &self.change.to {
            To::Content(_, digest) => Some((FileKind::File, Some(*digest))),
            To::Directory => Some((FileKind::Directory, None)),
            To::Attributes => self.looked.there.as_ref().map(|(_, old)| (old.kind, None)),
            To::Removed | To::RemovedDirectory => None,
        };
        let is_set = matches!(self.change.to, To::Attributes);
        FileUndo {
            path: self.plan.path.to_string(),
            before,
            after: after.map(|(kind, sha256)| state(kind, self.plan.attributes, sha256)),
            content: std::mem::take(&mut self.looked.content),
            temporary: if is_set { String::new() } else { self.temporary.clone() },
        }
    }
}

fn state(kind: FileKind, attributes: Attributes, sha256: Option<Digest>) -> FileState {
    FileState {
        directory: kind == FileKind::Directory,
        mode: attributes.mode.bits(),
        uid: attributes.uid,
        gid: attributes.gid,
        sha256: sha256.map(|sha256| sha256.as_bytes().to_vec()).unwrap_or_default(),
        inode: 0,
        xattrs: Vec::new(),
    }
}

/// Keeps what the files were, on disk when this returns.
pub(super) fn keep(cx: &Context, by: &Grant, doing: &mut [Doing<'_>]) -> Result<(), Stop> {
    let incomplete = !by.keeps_for_undo();
    // What an operator takes back, whom no rule lets through, must not fail for want of room.
    let unbounded = UndoLimits { max_bytes: u64::MAX, max_count: u32::MAX, max_age_s: u64::MAX };
    let limits = if by.rules().next().is_some() { cx.policy.undo() } else { unbounded };
    let mut files = doing.iter_mut().map(Doing::undo).collect::<Vec<_>>();
    for file in files.iter_mut().filter(|_| incomplete) {
        file.content.clear();
        file.before.iter_mut().for_each(|before| before.xattrs.clear());
    }
    let undo = FilesUndo { files, incomplete };
    let of = (cx.peer.uid, cx.meta.request_id.as_str());
    cx.helper.copies.keep(of, &undo.encode_to_vec(), limits, cx.helper.host.unix())
}

/// What the files of a request were; none if it is kept no longer.
///
/// # Errors
/// It can't be read.
pub fn kept(helper: &Helper, uid: u32, request_id: &str) -> Result<Option<FilesUndo>, Fault> {
    let decode = |bytes: Vec<u8>| FilesUndo::decode(bytes.as_slice());
    let bytes = helper.copies.read(uid, request_id)?;
    bytes.map(decode).transpose().map_err(|_| Fault::Corrupt { what: "a copy for undo" })
}

/// Keeps it no longer.
///
/// # Errors
/// It can't be removed.
pub fn forget(helper: &Helper, uid: u32, request_id: &str) -> Result<(), Fault> {
    helper.copies.forget(uid, request_id)
}
