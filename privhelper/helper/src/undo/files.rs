//! Files as they were before a request: the changes that bring them back, newest first.

use super::conflict;
use crate::audit::Ticket;
use crate::change::{self, Change, To};
use crate::context::Context;
use crate::error::{Fault, Stop};
use crate::helper::Helper;
use crate::leave::Done;
use crate::plan::{FilePlan, FilesPlan};
use crate::sys::files::Xattrs;
use postern_policy::facts::OldFile;
use postern_policy::types::{FileKind, FileMode, TargetPath, UserName};
use postern_policy::{Code, Denied, Grant, RequiredGrant, VerbId};
use postern_proto::root::v1::{FileState, FileUndo, RequestRecord};

/// The inverse of a request about files.
#[derive(Debug)]
pub struct Files {
    changes: Vec<Change>,
    /// For each what the request left there.
    left: Vec<Option<FileState>>,
}

impl Files {
    /// Reads what was kept.
    ///
    /// # Errors
    /// `undo_gone`; `unsupported` if a file was of an owner who has no name.
    pub fn of(helper: &Helper, record: &RequestRecord) -> Result<Self, Stop> {
        let kept = change::kept(helper, record.uid, &record.request_id)?;
        let kept = kept
            .filter(|kept| !kept.incomplete)
            .ok_or_else(|| Denied::new(Code::UndoGone, "what it was is kept no longer"))?;
        let (mut changes, mut left) = (Vec::new(), Vec::new());
        for mut file in kept.files.into_iter().rev() {
            changes.push(inverse(helper, &mut file)?);
            left.push(file.after);
        }
        Ok(Self { changes, left })
    }

    pub(super) fn required_grants(&self) -> Vec<RequiredGrant> {
        let required_grants = |change: &Change| {
            change.own_verbs().into_iter().map(|verb| change.required_grant(verb)).collect()
        };
        self.changes.iter().flat_map::<Vec<_>, _>(required_grants).collect()
    }

    pub(super) fn plan(&self, cx: &Context, by: &Grant) -> Result<FilesPlan, Stop> {
        let plan = change::plan(cx, by, VerbId::RequestUndo, &self.changes);
        let plan = plan.map_err(|stop| match stop {
            // What was left is not there, or something stands where it left nothing.
            Stop::Refused(refusal) if is_about_what_stands(refusal.code) => {
                Denied { code: Code::UndoConflict, ..refusal }.into()
            }
            Stop::Refused(_) | Stop::Fault(_) | Stop::Attached => stop,
        })?;
        for (file, left) in plan.files.iter().zip(&self.left) {
            if !is_as_left(file, left.as_ref()) {
                return Err(conflict(file.path.as_str()));
            }
        }
        Ok(plan)
    }

    pub(super) fn act(
        &self,
        cx: &Context,
        by: &Grant,
        plan: &FilesPlan,
        ticket: &Ticket,
    ) -> Result<Done, Stop> {
        change::act(cx, by, VerbId::RequestUndo, &self.changes, plan, ticket)
    }
}

const fn is_about_what_stands(code: Code) -> bool {
    matches!(code, Code::NotFound | Code::AlreadyExists | Code::SpecialFile | Code::DirectoryMissing)
}

fn is_as_left(file: &FilePlan, left: Option<&FileState>) -> bool {
    match (&file.old, left) {
        (None, None) => true,
        (Some(OldFile { kind, sha256, attributes, .. }), Some(left)) => {
            let now = (*kind == FileKind::Directory, attributes.mode.bits(), attributes.uid, attributes.gid);
            let is_content = left.sha256.is_empty() || sha256.as_bytes() == left.sha256;
            now == (left.directory, left.mode, left.uid, left.gid) && is_content
        }
        (None, Some(_)) | (Some(_), None) => false,
    }
}

/// What brings one file back. Mode and owner are set, and so decided, only where they are not what stands there.
fn inverse(helper: &Helper, file: &mut FileUndo) -> Result<Change, Stop> {
    let path = TargetPath::new(&file.path)?;
    let Some(before) = &mut file.before else {
        let is_directory = file.after.as_ref().is_some_and(|after| after.directory);
        return Ok(Change::new(path, if is_directory { To::RemovedDirectory } else { To::Removed }));
    };
    let to = match &file.after {
        None if before.directory => To::Directory,
        Some(_) if file.temporary.is_empty() => To::Attributes,
        Some(_) | None => To::content(std::mem::take(&mut file.content)),
    };
    let after = file.after.as_ref();
    let xattrs = Some(Xattrs::of_kept(std::mem::take(&mut before.xattrs)));
    let differs = |of: fn(&FileState) -> u32| after.is_none_or(|after| of(after) != of(before));
    let name = |field, text: String| {
        UserName::new(field, &text).map_err(|_| {
            let why = format!("{path} was of {field} {text}, who has no name on this host");
            Denied::new(Code::Unsupported, why)
        })
    };
    let mode = FileMode::of_stat(before.mode).ok_or(Fault::Corrupt { what: "a copy for undo" })?;
    let owner = differs(|state| state.uid).then(|| name("owner", (helper.host.user_name)(before.uid)));
    let group = differs(|state| state.gid).then(|| name("group", (helper.host.group_name)(before.gid)));
    Ok(Change {
        mode: differs(|state| state.mode).then_some(mode),
        owner: owner.transpose()?,
        group: group.transpose()?,
        xattrs,
        ..Change::new(path.clone(), to)
    })
}
