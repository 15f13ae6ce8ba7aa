//! Files as they are before a request.

use super::text::is_text;
use crate::error::Invalid;
use crate::types::{Attributes, Digest, FileKind, FileMode, TargetPath};
use postern_proto::root::v1 as root;

/// The file or directory at one path.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FileFacts {
    /// The path of the request.
    pub path: TargetPath,
    /// The file or directory there; none = nothing.
    pub old: Option<OldFile>,
    /// Names of its extended attributes, sorted.
    pub xattrs: Vec<String>,
}

/// A file or directory that exists.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct OldFile {
    /// File or directory.
    pub kind: FileKind,
    /// SHA-256 of its content; of no bytes for a directory, and where the content stays as it is.
    pub sha256: Digest,
    /// In bytes; 0 for a directory.
    pub size: u64,
    /// Mode, owner, group.
    pub attributes: Attributes,
}

impl FileFacts {
    /// The facts as orders hold them. A digest of no bytes is left out.
    pub fn to_wire(&self) -> root::FileFacts {
        let mut wire = root::FileFacts {
            path: self.path.to_string(),
            attributes: self.xattrs.clone(),
            ..root::FileFacts::default()
        };
        if let Some(OldFile { kind, sha256, size, attributes }) = &self.old {
            (wire.exists, wire.directory, wire.size) = (true, *kind == FileKind::Directory, *size);
            wire.sha256 = if *sha256 == Digest::of(&[]) { Vec::new() } else { sha256.as_bytes().to_vec() };
            (wire.mode, wire.uid, wire.gid) = (attributes.mode.bits(), attributes.uid, attributes.gid);
        }
        wire
    }

    /// Reads facts that another program wrote.
    ///
    /// # Errors
    /// The field that is not what it must be.
    pub fn from_wire(wire: &root::FileFacts) -> Result<Self, Invalid> {
        let is_name = |name: &String| is_text(name, 255, |b| b.is_ascii_graphic());
        let names = &wire.attributes;
        if names.len() > 256 || !names.iter().all(is_name) || !names.is_sorted() {
            return Err(Invalid::new("attributes", "must be up to 256 names, sorted"));
        }
        let sha256 = Some(&wire.sha256).filter(|sha256| !sha256.is_empty());
        let sha256 = sha256.map_or(Some(Digest::of(&[])), |sha256| Digest::from_bytes(sha256));
        let mode = FileMode::of_stat(wire.mode).filter(|mode| mode.bits() == wire.mode);
        let old = OldFile {
            kind: if wire.directory { FileKind::Directory } else { FileKind::File },
            sha256: sha256.ok_or(Invalid::new("sha256", "must be 32 bytes, or empty"))?,
            size: wire.size,
            attributes: Attributes {
                mode: mode.ok_or(Invalid::new("mode", "must be permission bits alone"))?,
                uid: wire.uid,
                gid: wire.gid,
            },
        };
        let facts = Self {
            path: TargetPath::new(&wire.path)?,
            old: wire.exists.then_some(old),
            xattrs: names.clone(),
        };
        if !wire.exists && facts.to_wire() != *wire {
            return Err(Invalid::new("exists", "contradicts the other fields"));
        }
        Ok(facts)
    }
}
