//! Requests about files and directories.

use crate::error::Invalid;
use crate::rules::{Object, RequiredGrant};
use crate::types::{Expect, FileMode, TargetPath, UserName};
use crate::verb_id::VerbId;
use postern_proto::v1 as wire;
use std::collections::BTreeSet;
use std::sync::Arc;

/// Most files of a patch.
const PATCH_MAX: usize = 64;

/// Changes of 1 to 64 different paths: all are made or none.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FilesRequest {
    /// `file.write`, `.patch`, `.remove`, `.mkdir`, `.set-mode` or `.set-owner`.
    pub verb: VerbId,
    /// In the order of the request.
    pub changes: Vec<FileChange>,
}

/// The new state of one path.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FileChange {
    /// Where.
    pub path: TargetPath,
    /// The new state.
    pub to: NewState,
    /// The required state before the change.
    pub expect: Expect,
    /// Mode to set; none = kept, or the default.
    pub mode: Option<FileMode>,
    /// Owner to set; none = kept, or root.
    pub owner: Option<UserName>,
    /// Group to set; none = kept, or root.
    pub group: Option<UserName>,
}

/// The state of a path after a change.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum NewState {
    /// A file of this content.
    Content(Arc<[u8]>),
    /// Nothing.
    Removed,
    /// A new directory.
    Directory,
    /// The same, with mode or owner set.
    Attributes,
}

impl FileChange {
    fn new(path: &str, to: NewState, [mode, owner, group]: [&str; 3]) -> Result<Self, Invalid> {
        let given = |text: &str| (!text.is_empty()).then(|| text.to_owned());
        let name = |field, text| given(text).map(|text| UserName::new(field, &text)).transpose();
        Ok(Self {
            path: TargetPath::new(path)?,
            to,
            expect: Expect::Any,
            mode: given(mode).map(|text| FileMode::new(&text)).transpose()?,
            owner: name("owner", owner)?,
            group: name("group", group)?,
        })
    }

    fn of_wire(wire: &wire::FileChange) -> Result<Self, Invalid> {
        let expect = Expect::new(&wire.expect)?;
        let (has_content, kind) = (!wire.content.is_empty(), wire.kind());
        let to = match kind {
            wire::ChangeKind::Write => NewState::Content(wire.content.as_slice().into()),
            wire::ChangeKind::Remove => NewState::Removed,
            wire::ChangeKind::Unspecified => return Err(Invalid::new("kind", "must be WRITE or REMOVE")),
        };
        let change = Self { expect, ..Self::new(&wire.path, to, [&wire.mode, &wire.owner, &wire.group])? };
        let sets = change.mode.is_some() || change.owner.is_some() || change.group.is_some();
        if kind == wire::ChangeKind::Remove && (sets || has_content) {
            return Err(Invalid::new("kind", "REMOVE takes no content, mode, owner or group"));
        }
        if kind == wire::ChangeKind::Remove && expect == Expect::Absent {
            return Err(Invalid::new("expect", "must not be \"absent\" for what is removed"));
        }
        Ok(change)
    }

    fn required_grant(&self, verb: VerbId) -> RequiredGrant {
        let content = match &self.to {
            NewState::Content(content) => Some(Arc::clone(content)),
            NewState::Removed | NewState::Directory | NewState::Attributes => None,
        };
        let bytes = content.as_ref().map_or(0, |content| u64::try_from(content.len()).unwrap_or(u64::MAX));
        let (path, mode) = (self.path.clone(), self.mode);
        let (owner, group) = (self.owner.clone(), self.group.clone());
        (verb, Object::File { path, bytes, content, mode, owner, group })
    }
}

impl FilesRequest {
    fn one(verb: VerbId, change: FileChange) -> Self {
        Self { verb, changes: vec![change] }
    }

    pub(super) fn write(wire: &wire::FileWriteRequest) -> Result<Self, Invalid> {
        let change = wire.change.as_ref().ok_or(Invalid::new("change", "must be there"))?;
        if change.kind() != wire::ChangeKind::Write {
            return Err(Invalid::new("kind", "must be WRITE; to remove a file is file.remove"));
        }
        Ok(Self::one(VerbId::FileWrite, FileChange::of_wire(change)?))
    }

    pub(super) fn patch(wire: &wire::FilePatchRequest) -> Result<Self, Invalid> {
        let changes = wire.changes.iter().map(FileChange::of_wire).collect::<Result<Vec<_>, _>>()?;
        let paths = changes.iter().map(|change| &change.path).collect::<BTreeSet<_>>();
        if changes.is_empty() || changes.len() > PATCH_MAX || paths.len() != changes.len() {
            return Err(Invalid::new("changes", "must be 1 to 64 of different paths"));
        }
        Ok(Self { verb: VerbId::FilePatch, changes })
    }

    pub(super) fn remove(wire: wire::FileRemoveRequest) -> Result<Self, Invalid> {
        let wire::FileRemoveRequest { path, expect, .. } = wire;
        let kind = wire::ChangeKind::Remove.into();
        let change = wire::FileChange { path, kind, expect, ..wire::FileChange::default() };
        Ok(Self::one(VerbId::FileRemove, FileChange::of_wire(&change)?))
    }

    pub(super) fn mkdir(wire: &wire::FileMkdirRequest) -> Result<Self, Invalid> {
        let sets: [&str; 3] = [&wire.mode, &wire.owner, &wire.group];
        let change = FileChange::new(&wire.path, NewState::Directory, sets)?;
        Ok(Self::one(VerbId::FileMkdir, FileChange { expect: Expect::Absent, ..change }))
    }

    pub(super) fn set_mode(wire: &wire::FileSetModeRequest) -> Result<Self, Invalid> {
        let change = FileChange::new(&wire.path, NewState::Attributes, ["", "", ""])?;
        let mode = Some(FileMode::new(&wire.mode)?);
        Ok(Self::one(VerbId::FileSetMode, FileChange { mode, ..change }))
    }

    pub(super) fn set_owner(wire: &wire::FileSetOwnerRequest) -> Result<Self, Invalid> {
        let change = FileChange::new(&wire.path, NewState::Attributes, ["", &wire.owner, &wire.group])?;
        if change.owner.is_none() && change.group.is_none() {
            return Err(Invalid::new("owner", "must be there, or group"));
        }
        Ok(Self::one(VerbId::FileSetOwner, change))
    }

    /// The contents of the WRITE changes, in their order, which are sent beside an order.
    pub fn contents(&self) -> impl Iterator<Item = &Arc<[u8]>> {
        self.changes.iter().filter_map(|change| match &change.to {
            NewState::Content(content) => Some(content),
            NewState::Removed | NewState::Directory | NewState::Attributes => None,
        })
    }

    /// Inserts the contents that were sent beside an order. None: their number differs, or the order has content.
    pub(super) fn with_contents(mut self, contents: Vec<Arc<[u8]>>) -> Option<Self> {
        let mut contents = contents.into_iter();
        for change in &mut self.changes {
            if let NewState::Content(content) = &mut change.to {
                *content = contents.next().filter(|_| content.is_empty())?;
            }
        }
        contents.next().is_none().then_some(self)
    }

    /// Each change as the verb; a removal by a patch must be granted as `file.remove` too.
    pub(super) fn required_grants(&self) -> Vec<RequiredGrant> {
        let is_removed = |change: &&FileChange| change.to == NewState::Removed;
        let removed = self.changes.iter().filter(is_removed).filter(|_| self.verb == VerbId::FilePatch);
        let removed = removed.map(|change| change.required_grant(VerbId::FileRemove));
        self.changes.iter().map(|change| change.required_grant(self.verb)).chain(removed).collect()
    }
}

/// `file.read`
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FileReadRequest {
    /// Where.
    pub path: TargetPath,
    /// The first byte; a negative one counts from the end.
    pub offset: i64,
    /// Most bytes; 0 = the rule's limit.
    pub limit: u32,
}

impl FileReadRequest {
    pub(super) fn new(wire: &wire::FileReadRequest) -> Result<Self, Invalid> {
        Ok(Self { path: TargetPath::new(&wire.path)?, offset: wire.offset, limit: wire.limit })
    }
}
