//! `file.*`: every verb that changes files is a list of changes, all done or none.

use super::{Contents, Decoded, Parsed, Request};
use postern_policy::types::{Digest, Expect, FileMode, TargetPath, UserName};
use postern_policy::{Invalid, Object, RequiredGrant, VerbId};
use postern_proto::{link, v1 as wire};
use prost::Message;
use std::collections::BTreeSet;
use std::sync::Arc;

/// Most files of a patch.
const PATCH_MAX: usize = 64;

/// A part of a file.
#[derive(Debug)]
pub struct ReadRequest {
    /// The file.
    pub path: TargetPath,
    /// The first byte; negative: counted from the end.
    pub offset: i64,
    /// Most bytes; 0 = as many as the rule allows.
    pub limit: u32,
}

/// The new state of one path.
#[derive(Debug)]
pub struct Change {
    /// The path.
    pub path: TargetPath,
    /// What it becomes.
    pub to: To,
    /// What must be there now.
    pub expect: Expect,
    /// Mode to set; none = kept, or the default.
    pub mode: Option<FileMode>,
    /// Owner to set; none = kept, or root.
    pub owner: Option<UserName>,
    /// Group to set; none = kept, or root.
    pub group: Option<UserName>,
}

/// What a path becomes.
#[derive(Debug)]
pub enum To {
    /// A file of this content.
    Content(NewContent),
    /// Nothing.
    Removed,
    /// A new directory.
    Directory,
    /// What is there, with mode or owner set.
    Attributes,
}

/// The new content of a file.
#[derive(Debug, Clone)]
pub struct NewContent {
    /// In bytes.
    pub size: u64,
    /// Its digest.
    pub sha256: Digest,
    /// The bytes; none where only size and digest are known.
    pub bytes: Option<Arc<[u8]>>,
}

impl NewContent {
    /// Content whose bytes are known.
    #[must_use]
    pub fn new(bytes: Vec<u8>) -> Self {
        let size = u64::try_from(bytes.len()).unwrap_or(u64::MAX);
        Self { size, sha256: Digest::of(&[&bytes]), bytes: Some(bytes.into()) }
    }
}

pub(super) fn read(wire: wire::FileReadRequest) -> Parsed {
    let (offset, limit) = (wire.offset, wire.limit);
    let path = TargetPath::new(&wire.path);
    (wire.meta, path.map(|path| Request::Read(ReadRequest { path, offset, limit })))
}

pub(super) fn list(wire: wire::FileListRequest) -> Parsed {
    (wire.meta, TargetPath::new(&wire.path).map(Request::List))
}

pub(super) fn write(bytes: &[u8], contents: Contents) -> Option<Decoded> {
    let mut wire: wire::FileWriteRequest = link::strict(bytes)?;
    let changes = wire.change.as_mut().map(std::slice::from_mut).unwrap_or_default();
    let contents = take_contents(changes, contents)?;
    let request = match &wire.change {
        None => Err(Invalid::new("change", "must be there")),
        Some(change) if change.kind() != wire::ChangeKind::Write => {
            Err(Invalid::new("kind", "must be WRITE; to remove a file is file.remove"))
        }
        Some(change) => Change::new(change, &mut contents.into_iter()).map(|change| vec![change]),
    };
    let body = wire.encode_to_vec();
    Some(Decoded { meta: wire.meta, request: request.map(Request::Changes), body })
}

pub(super) fn patch(bytes: &[u8], contents: Contents) -> Option<Decoded> {
    let mut wire: wire::FilePatchRequest = link::strict(bytes)?;
    let mut contents = take_contents(&mut wire.changes, contents)?.into_iter();
    let changes = wire.changes.iter().map(|change| Change::new(change, &mut contents));
    let request = changes.collect::<Result<Vec<_>, _>>().and_then(|changes| {
        let paths = changes.iter().map(|change| &change.path).collect::<BTreeSet<_>>();
        if changes.is_empty() || changes.len() > PATCH_MAX || paths.len() != changes.len() {
            return Err(Invalid::new("changes", "must be 1 to 64 of different paths"));
        }
        Ok(Request::Changes(changes))
    });
    let body = wire.encode_to_vec();
    Some(Decoded { meta: wire.meta, request, body })
}

/// Takes the content out of a client's changes, one for each WRITE, or takes what an order announces instead. None if
/// both or neither hold it.
fn take_contents(changes: &mut [wire::FileChange], contents: Contents) -> Option<Vec<NewContent>> {
    let writes = changes.iter_mut().filter(|change| change.kind() == wire::ChangeKind::Write);
    let Some(contents) = contents else {
        return Some(writes.map(|change| NewContent::new(std::mem::take(&mut change.content))).collect());
    };
    let held = writes.map(|change| change.content.len()).collect::<Vec<_>>();
    (held.len() == contents.len() && held.iter().all(|len| *len == 0)).then_some(contents)
}

pub(super) fn remove(wire: wire::FileRemoveRequest) -> Parsed {
    let kind = wire::ChangeKind::Remove.into();
    let change = wire::FileChange { path: wire.path, kind, expect: wire.expect, ..Default::default() };
    let change = Change::new(&change, &mut std::iter::empty());
    (wire.meta, change.map(|change| Request::Changes(vec![change])))
}

pub(super) fn mkdir(wire: wire::FileMkdirRequest) -> Parsed {
    let change = TargetPath::new(&wire.path).and_then(|path| {
        let change = Change { expect: Expect::Absent, ..Change::of(path, To::Directory) };
        change.with(&wire.mode, &wire.owner, &wire.group)
    });
    (wire.meta, change.map(|change| Request::Changes(vec![change])))
}

pub(super) fn set_mode(wire: wire::FileSetModeRequest) -> Parsed {
    let change = TargetPath::new(&wire.path).and_then(|path| {
        Ok(Change { mode: Some(FileMode::new(&wire.mode)?), ..Change::of(path, To::Attributes) })
    });
    (wire.meta, change.map(|change| Request::Changes(vec![change])))
}

pub(super) fn set_owner(wire: wire::FileSetOwnerRequest) -> Parsed {
    let change = TargetPath::new(&wire.path).and_then(|path| {
        let change = Change::of(path, To::Attributes).with("", &wire.owner, &wire.group)?;
        let sets = change.owner.is_some() || change.group.is_some();
        if sets { Ok(change) } else { Err(Invalid::new("owner", "must be there, or group")) }
    });
    (wire.meta, change.map(|change| Request::Changes(vec![change])))
}

/// Returns each change as the verb; what a patch removes must also be granted as a removal.
pub(super) fn required_grants(verb: VerbId, changes: &[Change]) -> Vec<RequiredGrant> {
    let is_removed = |change: &&Change| verb == VerbId::FilePatch && matches!(change.to, To::Removed);
    let removed = changes.iter().filter(is_removed).map(|change| (VerbId::FileRemove, change.object()));
    changes.iter().map(|change| (verb, change.object())).chain(removed).collect()
}

impl Change {
    /// A change of this path, whatever is there now, with mode and owner kept.
    const fn of(path: TargetPath, to: To) -> Self {
        Self { path, to, expect: Expect::Any, mode: None, owner: None, group: None }
    }

    fn with(self, mode: &str, owner: &str, group: &str) -> Result<Self, Invalid> {
        let name = |field, text: &str| (!text.is_empty()).then(|| UserName::new(field, text)).transpose();
        let mode = (!mode.is_empty()).then(|| FileMode::new(mode)).transpose()?;
        Ok(Self { mode, owner: name("owner", owner)?, group: name("group", group)?, ..self })
    }

    fn new(
        change: &wire::FileChange,
        contents: &mut impl Iterator<Item = NewContent>,
    ) -> Result<Self, Invalid> {
        let (path, expect) = (TargetPath::new(&change.path)?, Expect::new(&change.expect)?);
        let sets = [&change.mode, &change.owner, &change.group].iter().any(|text| !text.is_empty());
        let to = match change.kind() {
            wire::ChangeKind::Write => {
                To::Content(contents.next().ok_or(Invalid::new("content", "must be there"))?)
            }
            wire::ChangeKind::Remove if sets || !change.content.is_empty() => {
                return Err(Invalid::new("kind", "REMOVE takes no content, mode, owner or group"));
            }
            wire::ChangeKind::Remove if expect == Expect::Absent => {
                return Err(Invalid::new("expect", "must not be \"absent\" for what is removed"));
            }
            wire::ChangeKind::Remove => To::Removed,
            wire::ChangeKind::Unspecified => return Err(Invalid::new("kind", "must be WRITE or REMOVE")),
        };
        Self { expect, ..Self::of(path, to) }.with(&change.mode, &change.owner, &change.group)
    }

    fn object(&self) -> Object {
        let (mode, owner, group) = (self.mode, self.owner.clone(), self.group.clone());
        let content = match &self.to {
            To::Content(content) => content.bytes.clone(),
            To::Removed | To::Directory | To::Attributes => None,
        };
        Object::File { path: self.path.clone(), bytes: self.size(), content, mode, owner, group }
    }

    /// Returns the digest of new content.
    #[must_use]
    pub const fn digest(&self) -> Option<Digest> {
        match &self.to {
            To::Content(content) => Some(content.sha256),
            To::Removed | To::Directory | To::Attributes => None,
        }
    }

    /// Returns the bytes of new content.
    #[must_use]
    pub const fn size(&self) -> u64 {
        match &self.to {
            To::Content(content) => content.size,
            To::Removed | To::Directory | To::Attributes => 0,
        }
    }
}
