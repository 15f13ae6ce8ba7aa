//! What exactly becomes of files and directories.

use crate::audit::Json;
use crate::context::Context;
use crate::verb::Planned;
use postern_policy::facts::{FileFacts, OldFile};
use postern_policy::types::{Attributes, Digest, FileKind, TargetPath, UserName};
use postern_policy::{Consent, Facts};
use postern_proto::v1 as wire;

/// What is done at a path.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum FileAction {
    /// A file gets a content.
    Write,
    /// A file goes.
    Remove,
    /// A directory is made.
    MakeDirectory,
    /// An empty directory goes.
    RemoveDirectory,
    /// Mode, owner or group are set.
    SetAttributes,
}

impl FileAction {
    const fn word(self) -> &'static str {
        match self {
            Self::Write => "write",
            Self::Remove => "remove",
            Self::MakeDirectory => "make-directory",
            Self::RemoveDirectory => "remove-directory",
            Self::SetAttributes => "set-attributes",
        }
    }

    const fn wire(self) -> wire::ChangeKind {
        match self {
            Self::Write => wire::ChangeKind::Write,
            Self::Remove | Self::RemoveDirectory => wire::ChangeKind::Remove,
            Self::MakeDirectory | Self::SetAttributes => wire::ChangeKind::Unspecified,
        }
    }
}

/// The new state of one path.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FilePlan {
    /// Where.
    pub path: TargetPath,
    /// What is done.
    pub action: FileAction,
    /// What stands there; none = nothing.
    pub old: Option<OldFile>,
    /// Whether the client may also read it, and so be told of `old`.
    pub readable: bool,
    /// Whether it may be told of the new content: it wrote that itself, or may read it.
    pub is_known: bool,
    /// SHA-256 of the content afterwards.
    pub new_sha256: Digest,
    /// In bytes.
    pub new_size: u64,
    /// Mode, owner and group afterwards.
    pub attributes: Attributes,
    /// Owner that is set; none = kept.
    pub owner: Option<UserName>,
    /// Group that is set; none = kept.
    pub group: Option<UserName>,
    /// It is all so already.
    pub unchanged: bool,
    /// What changes in the content, where a person must agree to it.
    pub diff: Vec<u8>,
}

/// What becomes of all that a request names: all of it or nothing.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FilesPlan {
    /// In the order of the request.
    pub files: Vec<FilePlan>,
}

impl FilePlan {
    /// Whether there is something afterwards.
    #[must_use]
    pub const fn stays(&self) -> bool {
        !matches!(self.action, FileAction::Remove | FileAction::RemoveDirectory)
    }

    /// What stands there is told only to a client that may read it.
    fn step(&self) -> wire::FileStep {
        let old = self.old.as_ref().filter(|old| self.readable && old.kind == FileKind::File);
        let mut step = wire::FileStep {
            path: self.path.to_string(),
            kind: self.action.wire().into(),
            old_sha256: old.map(|old| old.sha256.to_string()).unwrap_or_default(),
            old_size: old.map(|old| old.size).unwrap_or_default(),
            ..wire::FileStep::default()
        };
        if self.action == FileAction::Write && self.is_known {
            (step.new_sha256, step.new_size) = (self.new_sha256.to_string(), self.new_size);
        }
        if self.stays() {
            step.mode = self.attributes.mode.to_string();
            step.owner = self.owner.as_ref().map(ToString::to_string).unwrap_or_default();
            step.group = self.group.as_ref().map(ToString::to_string).unwrap_or_default();
        }
        step
    }

    fn json(&self) -> Json {
        let mut file = Json::new().text("path", self.path.as_str()).text("action", self.action.word());
        if let Some(old) = self.old.as_ref().filter(|old| old.kind == FileKind::File) {
            file = file.number("old_size", old.size).text("old_sha256", &old.sha256.to_string());
        }
        if self.action == FileAction::Write {
            file = file.number("new_size", self.new_size).text("new_sha256", &self.new_sha256.to_string());
        }
        if let Some(old) = self.old.as_ref().filter(|old| old.attributes != self.attributes) {
            file = file.text("old_mode", &old.attributes.mode.to_string());
        }
        if self.stays() { file.text("mode", &self.attributes.mode.to_string()) } else { file }
    }

    fn text(&self) -> Vec<u8> {
        let old = match &self.old {
            None => "new".to_owned(),
            Some(OldFile { kind: FileKind::File, size, sha256, attributes }) => {
                format!("a file of {size} bytes, sha256 {sha256}, mode {}", attributes.mode)
            }
            Some(OldFile { kind: FileKind::Directory, attributes, .. }) => {
                format!("a directory, mode {}", attributes.mode)
            }
        };
        let (word, path) = (self.action.word(), &self.path);
        if !self.stays() {
            return [format!("{word} {path}, {old}\n").as_bytes(), &self.diff].concat();
        }
        let name = |name: Option<&UserName>| name.map_or_else(|| "kept".to_owned(), ToString::to_string);
        let (owner, group) = (name(self.owner.as_ref()), name(self.group.as_ref()));
        let content = match self.action {
            FileAction::Write => format!("{} bytes, sha256 {}, ", self.new_size, self.new_sha256),
            FileAction::MakeDirectory
            | FileAction::SetAttributes
            | FileAction::Remove
            | FileAction::RemoveDirectory => String::new(),
        };
        let mode = self.attributes.mode;
        let text =
            format!("{word} {path}, {old}\nafterwards {content}mode {mode}, owner {owner}, group {group}\n");
        [text.as_bytes(), &self.diff].concat()
    }
}

impl Planned for FilesPlan {
    fn facts(&self) -> Facts {
        let facts =
            |file: &FilePlan| FileFacts { path: file.path.clone(), old: file.old, xattrs: Vec::new() };
        Facts::Files(self.files.iter().map(facts).collect())
    }

    fn wire(&self, _: &Context, _: Consent) -> wire::Plan {
        wire::Plan { files: self.files.iter().map(FilePlan::step).collect(), ..wire::Plan::default() }
    }

    fn json(&self) -> Json {
        Json::new().objects("files", self.files.iter().map(FilePlan::json))
    }

    fn text(&self) -> Vec<u8> {
        self.files.iter().flat_map(FilePlan::text).collect()
    }
}
