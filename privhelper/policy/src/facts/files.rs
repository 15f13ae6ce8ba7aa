//! Files as they are before a request.

use crate::error::Invalid;
use crate::types::{Attributes, Digest, FileKind, FileMode, TargetPath};
use postern_proto::root::v1 as root;

/// What exists at one path.
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
    /// SHA-256 of its content; of no bytes for a directory.
    pub sha256: Digest,
    /// In bytes; 0 for a directory.
    pub size: u64,
    /// Mode, owner, group.
    pub attributes: Attributes,
}

impl FileFacts {
    /// The facts as orders hold them.
    #[must_use]
    pub fn to_wire(&self) -> root::FileFacts {
        let mut wire = root::FileFacts {
            path: self.path.to_string(),
            attributes: self.xattrs.clone(),
            ..root::FileFacts::default()
        };
        if let Some(OldFile { kind, sha256, size, attributes }) = &self.old {
            (wire.exists, wire.directory, wire.size) = (true, *kind == FileKind::Directory, *size);
            wire.sha256 = sha256.as_bytes().to_vec();
            (wire.mode, wire.uid, wire.gid) = (attributes.mode.bits(), attributes.uid, attributes.gid);
        }
        wire
    }

    /// Reads facts that another program wrote.
    ///
    /// # Errors
    /// The field that is not what it must be.
    pub fn from_wire(wire: &root::FileFacts) -> Result<Self, Invalid> {
        let is_name =
            |name: &String| (1..=255).contains(&name.len()) && name.bytes().all(|b| b.is_ascii_graphic());
        if wire.attributes.len() > 256 || !wire.attributes.iter().all(is_name) || !wire.attributes.is_sorted()
        {
            return Err(Invalid::new("attributes", "must be up to 256 names, sorted"));
        }
        let old = OldFile {
            kind: if wire.directory { FileKind::Directory } else { FileKind::File },
            sha256: Digest::from_bytes(&wire.sha256).unwrap_or_default(),
            size: wire.size,
            attributes: Attributes {
                mode: FileMode::of_stat(wire.mode)
                    .ok_or(Invalid::new("mode", "must be of no special file"))?,
                uid: wire.uid,
                gid: wire.gid,
            },
        };
        let path = TargetPath::new(&wire.path)?;
        let facts = Self { path, old: wire.exists.then_some(old), xattrs: wire.attributes.clone() };
        // Whatever is not said of a file that does not exist must not be said.
        if facts.to_wire() == *wire {
            Ok(facts)
        } else {
            Err(Invalid::new("exists", "contradicts the other fields"))
        }
    }
}
