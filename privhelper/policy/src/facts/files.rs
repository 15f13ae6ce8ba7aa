//! Files as they are before a request.

use crate::types::{Attributes, Digest, FileKind, TargetPath};

/// What exists at one path.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FileFacts {
    /// The path of the request.
    pub path: TargetPath,
    /// The file or directory there; none = nothing.
    pub old: Option<OldFile>,
}

/// A file or directory that exists.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct OldFile {
    /// File or directory.
    pub kind: FileKind,
    /// SHA-256 of its content; of no bytes for a directory.
    pub sha256: Digest,
    /// In bytes; 0 for a directory.
    pub size: u64,
    /// Mode, owner, group.
    pub attributes: Attributes,
}
