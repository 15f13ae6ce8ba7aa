//! What is done to files, whichever verb asks for it: write, patch, remove, mkdir, set-mode, set-owner and every undo of them
//! are a list of these changes, planned by [`plan()`] and done, all or none, by [`act()`].

mod act;
mod keep;
mod plan;
mod recover;

pub use act::act;
pub use keep::{forget, kept};
pub use plan::plan;
pub use recover::recover;

use crate::audit::Json;
use crate::plan::FileAction;
use crate::sys::files::Xattrs;
use postern_policy::types::{Digest, Expect, FileKind, FileMode, TargetPath, UserName};
use postern_policy::{Invalid, Object, RequiredGrant, VerbId};
use postern_proto::v1 as wire;
use std::sync::Arc;

/// One path's new state.
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
    /// What is made anew takes over, where nothing stands; none = as its directory has it.
    pub xattrs: Option<Xattrs>,
}

/// What is to be at a path.
#[derive(Debug)]
pub enum To {
    /// A file of this content, with its digest.
    Content(Arc<[u8]>, Digest),
    /// No file.
    Removed,
    /// A new directory.
    Directory,
    /// No directory.
    RemovedDirectory,
    /// What is there, with mode or owner set.
    Attributes,
}

impl To {
    /// A file of this content.
    #[must_use]
    pub fn content(content: Vec<u8>) -> Self {
        let digest = Digest::of(&[&content]);
        Self::Content(content.into(), digest)
    }

    const fn action(&self) -> FileAction {
        match self {
            Self::Content(..) => FileAction::Write,
            Self::Removed => FileAction::Remove,
            Self::Directory => FileAction::MakeDirectory,
            Self::RemovedDirectory => FileAction::RemoveDirectory,
            Self::Attributes => FileAction::SetAttributes,
        }
    }

    /// What may stand there now.
    const fn kinds(&self) -> &'static [FileKind] {
        match self {
            Self::Content(..) | Self::Removed => &[FileKind::File],
            Self::Directory | Self::Attributes => &[FileKind::File, FileKind::Directory],
            Self::RemovedDirectory => &[FileKind::Directory],
        }
    }
}

/// A user's or group's name, if there is one.
///
/// # Errors
/// It is none.
pub fn name(field: &'static str, text: &str) -> Result<Option<UserName>, Invalid> {
    (!text.is_empty()).then(|| UserName::new(field, text)).transpose()
}

impl Change {
    /// A change to this path, whatever is there now, with mode and owner kept.
    #[must_use]
    pub const fn new(path: TargetPath, to: To) -> Self {
        Self { path, to, expect: Expect::Any, mode: None, owner: None, group: None, xattrs: None }
    }

    /// What a `FileChange` asks for.
    ///
    /// # Errors
    /// The field that is not what it must be.
    pub fn of_wire(change: wire::FileChange) -> Result<Self, Invalid> {
        let (path, expect) = (TargetPath::new(&change.path)?, Expect::new(&change.expect)?);
        let mode = (!change.mode.is_empty()).then(|| FileMode::new(&change.mode)).transpose()?;
        let (owner, group) = (name("owner", &change.owner)?, name("group", &change.group)?);
        let sets = mode.is_some() || owner.is_some() || group.is_some();
        let to = match change.kind() {
            wire::ChangeKind::Write => To::content(change.content),
            wire::ChangeKind::Remove if sets || !change.content.is_empty() => {
                return Err(Invalid::new("kind", "REMOVE takes no content, mode, owner or group"));
            }
            wire::ChangeKind::Remove if expect == Expect::Absent => {
                return Err(Invalid::new("expect", "must not be \"absent\" for what is removed"));
            }
            wire::ChangeKind::Remove => To::Removed,
            wire::ChangeKind::Unspecified => return Err(Invalid::new("kind", "must be WRITE or REMOVE")),
        };
        Ok(Self { path, to, expect, mode, owner, group, xattrs: None })
    }

    /// What policy sees of it as `verb`.
    #[must_use]
    pub fn required_grant(&self, verb: VerbId) -> RequiredGrant {
        let (mode, owner, group) = (self.mode, self.owner.clone(), self.group.clone());
        let content = match &self.to {
            To::Content(content, _) => Some(Arc::clone(content)),
            To::Removed | To::Directory | To::RemovedDirectory | To::Attributes => None,
        };
        (verb, Object::File { path: self.path.clone(), bytes: self.size(), content, mode, owner, group })
    }

    /// Whether the content of what stands there goes.
    const fn goes(&self) -> bool {
        matches!(self.to, To::Content(..) | To::Removed)
    }

    /// The verb that does this alone: what an undo is decided as.
    #[must_use]
    pub fn own_verbs(&self) -> Vec<VerbId> {
        match &self.to {
            To::Content(..) => vec![VerbId::FileWrite],
            To::Removed | To::RemovedDirectory => vec![VerbId::FileRemove],
            To::Directory => vec![VerbId::FileMkdir],
            To::Attributes => {
                let mode = self.mode.is_some().then_some(VerbId::FileSetMode);
                let owner = (self.owner.is_some() || self.group.is_some()).then_some(VerbId::FileSetOwner);
                mode.into_iter().chain(owner).collect()
            }
        }
    }

    /// What the audit sees of it.
    #[must_use]
    pub fn json(&self) -> Json {
        let text = |name: Option<&UserName>| name.map(ToString::to_string).unwrap_or_default();
        let json = Json::new().text("path", self.path.as_str());
        let json = match &self.to {
            To::Content(_, digest) => json.number("size", self.size()).text("sha256", &digest.to_string()),
            To::Removed | To::RemovedDirectory => json.text("kind", "remove"),
            To::Directory | To::Attributes => json,
        };
        let json = match &self.to {
            To::Content(..) | To::Removed => json.text("expect", &self.expect.to_string()),
            To::Directory | To::RemovedDirectory | To::Attributes => json,
        };
        let json = json.text("mode", &self.mode.map(|mode| mode.to_string()).unwrap_or_default());
        json.text("owner", &text(self.owner.as_ref())).text("group", &text(self.group.as_ref()))
    }

    /// Bytes of new content.
    fn size(&self) -> u64 {
        match &self.to {
            To::Content(content, _) => u64::try_from(content.len()).unwrap_or(u64::MAX),
            To::Removed | To::Directory | To::RemovedDirectory | To::Attributes => 0,
        }
    }
}
