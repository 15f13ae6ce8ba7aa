//! Changes of files: what each verb of the family asks for, one entry a path, all done or none.

use crate::xattr::ExtendedAttributes;
use postern_policy::types::{Digest, Expect, FileKind, FileMode, TargetPath, UserName};
use postern_policy::{Invalid, Object, RequiredGrant, VerbId};
use postern_proto::link::strict;
use postern_proto::root::v1::{Content, Inverse};
use postern_proto::v1 as wire;
use prost::Message;
use std::collections::BTreeSet;
use std::sync::Arc;

/// Most files of a patch.
const PATCH_MAX: usize = 64;

/// The new state of one path.
#[derive(Debug)]
pub struct Change {
    /// Where.
    pub path: TargetPath,
    /// What is to be there.
    pub to: To,
    /// What must be there now.
    pub expect: Expect,
    /// Mode to set; none = kept, or the default.
    pub mode: Option<FileMode>,
    /// Owner to set; none = kept, or root.
    pub owner: Option<UserName>,
    /// Group to set; none = kept, or root.
    pub group: Option<UserName>,
    /// Of an undo: the attributes of what is made anew, where there is nothing.
    pub attributes: Option<ExtendedAttributes>,
}

/// What is to be at a path.
#[derive(Debug)]
pub enum To {
    /// A file with this content.
    Content {
        /// Its digest.
        sha256: Digest,
        /// Its size in bytes.
        size: u64,
        /// The content itself; none where only facts are asked for.
        content: Option<Arc<[u8]>>,
    },
    /// No file.
    Removed,
    /// A new directory.
    Directory,
    /// No directory: the undo of a new one.
    RemovedDirectory,
    /// The file or directory that is there, with mode or owner set.
    Attributes,
}

impl To {
    /// What may be there now.
    pub const fn kinds(&self) -> &'static [FileKind] {
        match self {
            Self::Content { .. } | Self::Removed => &[FileKind::File],
            Self::Directory | Self::Attributes => &[FileKind::File, FileKind::Directory],
            Self::RemovedDirectory => &[FileKind::Directory],
        }
    }

    /// Whether the content of a file that is there now is lost.
    pub const fn replaces_content(&self) -> bool {
        matches!(self, Self::Content { .. } | Self::Removed)
    }
}

type Parse = fn(&[u8]) -> Result<Vec<Change>, Invalid>;

/// The verbs that change files.
const VERBS: [(VerbId, Parse); 6] = [
    (VerbId::FileWrite, write),
    (VerbId::FilePatch, patch),
    (VerbId::FileRemove, remove),
    (VerbId::FileMkdir, mkdir),
    (VerbId::FileSetMode, set_mode),
    (VerbId::FileSetOwner, set_owner),
];

/// Reads the changes that a verb's body asks for. Content comes from elsewhere: a body with content is refused.
///
/// # Errors
/// The field that is not what it must be.
pub fn parse(verb: VerbId, body: &[u8], contents: &[Content]) -> Result<Vec<Change>, Invalid> {
    let row = VERBS.iter().find(|(known, _)| *known == verb);
    let (_, parse) = row.ok_or(Invalid::new("verb", "is not one that changes files"))?;
    announce(parse(body)?, contents)
}

fn write(body: &[u8]) -> Result<Vec<Change>, Invalid> {
    let change = decode::<wire::FileWriteRequest>(body)?.change;
    let change = of_wire(&change.ok_or(Invalid::new("change", "must be there"))?)?;
    if matches!(change.to, To::Removed) {
        return Err(Invalid::new("kind", "must be WRITE; use file.remove to remove a file"));
    }
    Ok(vec![change])
}

fn patch(body: &[u8]) -> Result<Vec<Change>, Invalid> {
    let wire = decode::<wire::FilePatchRequest>(body)?.changes;
    let changes = wire.iter().map(of_wire).collect::<Result<Vec<_>, _>>()?;
    let paths = changes.iter().map(|change| &change.path).collect::<BTreeSet<_>>();
    if changes.is_empty() || changes.len() > PATCH_MAX || paths.len() != changes.len() {
        return Err(Invalid::new("changes", "must be 1 to 64 of different paths"));
    }
    Ok(changes)
}

fn remove(body: &[u8]) -> Result<Vec<Change>, Invalid> {
    let wire::FileRemoveRequest { path, expect, .. } = decode(body)?;
    let kind = wire::ChangeKind::Remove.into();
    Ok(vec![of_wire(&wire::FileChange { path, kind, expect, ..Default::default() })?])
}

fn mkdir(body: &[u8]) -> Result<Vec<Change>, Invalid> {
    let wire = decode::<wire::FileMkdirRequest>(body)?;
    let mode = mode(&wire.mode)?;
    let (owner, group) = (name("owner", &wire.owner)?, name("group", &wire.group)?);
    let new = new(&wire.path, To::Directory)?;
    Ok(vec![Change { expect: Expect::Absent, mode, owner, group, ..new }])
}

fn set_mode(body: &[u8]) -> Result<Vec<Change>, Invalid> {
    let wire = decode::<wire::FileSetModeRequest>(body)?;
    let mode = Some(FileMode::new(&wire.mode)?);
    Ok(vec![Change { mode, ..new(&wire.path, To::Attributes)? }])
}

fn set_owner(body: &[u8]) -> Result<Vec<Change>, Invalid> {
    let wire = decode::<wire::FileSetOwnerRequest>(body)?;
    let (owner, group) = (name("owner", &wire.owner)?, name("group", &wire.group)?);
    if owner.is_none() && group.is_none() {
        return Err(Invalid::new("owner", "must be there, or group"));
    }
    Ok(vec![Change { owner, group, ..new(&wire.path, To::Attributes)? }])
}

/// Reads the changes of an inverse that this program issued.
///
/// # Errors
/// As [`parse`].
pub fn parse_inverse(verb: VerbId, inverse: &Inverse) -> Result<Vec<Change>, Invalid> {
    let mut changes = parse(verb, &inverse.body, &inverse.contents)?;
    let left = inverse.left.as_ref().map(|left| left.files.as_slice()).unwrap_or_default();
    // No client can ask for the removal of a directory.
    let is_directory = left.first().is_some_and(|left| left.directory);
    for change in changes.iter_mut().filter(|change| is_directory && matches!(change.to, To::Removed)) {
        change.to = To::RemovedDirectory;
    }
    Ok(changes)
}

/// Sets size and digest of each content, in the order of the changes that write.
fn announce(mut changes: Vec<Change>, contents: &[Content]) -> Result<Vec<Change>, Invalid> {
    let wrong = Invalid::new("contents", "must be one for each change that writes");
    let mut contents = contents.iter();
    for change in &mut changes {
        if let To::Content { sha256, size, .. } = &mut change.to {
            let announced = contents.next().ok_or_else(|| wrong.clone())?;
            (*sha256, *size) =
                (Digest::from_bytes(&announced.sha256).ok_or_else(|| wrong.clone())?, announced.size);
        }
    }
    if contents.next().is_some() { Err(wrong) } else { Ok(changes) }
}

/// Adds the content itself, in the order of the changes that write. Each was compared with its digest before.
pub fn attach(changes: &mut [Change], contents: impl IntoIterator<Item = Arc<[u8]>>) {
    let mut contents = contents.into_iter();
    for change in changes {
        if let To::Content { content, .. } = &mut change.to {
            *content = contents.next();
        }
    }
}

/// What the policy must grant: each change as the verb; a removal by a patch as `file.remove` too.
pub fn required_grants(verb: VerbId, changes: &[Change]) -> Vec<RequiredGrant> {
    let is_removed = |change: &&Change| verb == VerbId::FilePatch && matches!(change.to, To::Removed);
    let removed = changes.iter().filter(is_removed).map(|change| (VerbId::FileRemove, change.object()));
    changes.iter().map(|change| (verb, change.object())).chain(removed).collect()
}

impl Change {
    fn object(&self) -> Object {
        let (mode, owner, group) = (self.mode, self.owner.clone(), self.group.clone());
        let (bytes, content) = match &self.to {
            To::Content { size, content, .. } => (*size, content.clone()),
            To::Removed | To::Directory | To::RemovedDirectory | To::Attributes => (0, None),
        };
        Object::File { path: self.path.clone(), bytes, content, mode, owner, group }
    }
}

fn decode<M: Message + Default>(body: &[u8]) -> Result<M, Invalid> {
    strict(body).ok_or(Invalid::new("body", "is not the request of this verb"))
}

fn new(path: &str, to: To) -> Result<Change, Invalid> {
    let path = TargetPath::new(path)?;
    Ok(Change { path, to, expect: Expect::Any, mode: None, owner: None, group: None, attributes: None })
}

fn mode(text: &str) -> Result<Option<FileMode>, Invalid> {
    (!text.is_empty()).then(|| FileMode::new(text)).transpose()
}

fn name(field: &'static str, text: &str) -> Result<Option<UserName>, Invalid> {
    (!text.is_empty()).then(|| UserName::new(field, text)).transpose()
}

fn of_wire(change: &wire::FileChange) -> Result<Change, Invalid> {
    let expect = Expect::new(&change.expect)?;
    let mode = mode(&change.mode)?;
    let (owner, group) = (name("owner", &change.owner)?, name("group", &change.group)?);
    let sets = mode.is_some() || owner.is_some() || group.is_some();
    if !change.content.is_empty() {
        return Err(Invalid::new("content", "must follow the order"));
    }
    let to = match change.kind() {
        wire::ChangeKind::Write => To::Content { sha256: Digest::ZERO, size: 0, content: None },
        wire::ChangeKind::Remove if sets => {
            return Err(Invalid::new("kind", "REMOVE takes no mode, owner or group"));
        }
        wire::ChangeKind::Remove if expect == Expect::Absent => {
            return Err(Invalid::new("expect", "must not be \"absent\" for a removal"));
        }
        wire::ChangeKind::Remove => To::Removed,
        wire::ChangeKind::Unspecified => return Err(Invalid::new("kind", "must be WRITE or REMOVE")),
    };
    Ok(Change { expect, mode, owner, group, ..new(&change.path, to)? })
}
