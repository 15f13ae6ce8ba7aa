//! Changes of files: those of the request, with granted directory and digest of the new content.

use crate::xattr::ExtendedAttributes;
use postern_policy::request::{FileChange, NewState};
use postern_policy::types::{Digest, FileKind, TargetPath};
use postern_policy::{Element, Grant, Request};
use postern_root::{Authority, Code, Denied, Error, Fault};
use std::sync::Arc;

/// The new state of one path.
#[derive(Debug)]
pub struct Change {
    /// The change in the request.
    pub asked: FileChange,
    /// SHA-256 of its content; of no bytes if it has none.
    pub sha256: Digest,
    /// The granted directory through which it is reached.
    pub directory: TargetPath,
    /// Of an undo: the attributes of a file that is made where there is none.
    pub attributes: Option<ExtendedAttributes>,
    /// The undo of a new directory, which no client can ask for: the directory is removed.
    pub is_mkdir_undone: bool,
}

impl Change {
    /// The kinds that may exist there now.
    pub fn kinds(&self) -> &'static [FileKind] {
        match self.asked.to {
            NewState::Removed if self.is_mkdir_undone => &[FileKind::Directory],
            NewState::Content(_) | NewState::Removed => &[FileKind::File],
            NewState::Directory | NewState::Attributes => &[FileKind::File, FileKind::Directory],
        }
    }

    /// Whether a file or directory that is there now is replaced or removed.
    pub fn is_replacing(&self) -> bool {
        matches!(self.asked.to, NewState::Content(_) | NewState::Removed)
    }

    /// The path.
    pub fn path(&self) -> &TargetPath {
        &self.asked.path
    }

    /// The path below the granted directory.
    pub fn below(&self) -> &str {
        self.asked.path.below(&self.directory).unwrap_or_default()
    }
}

/// Decides the request that takes effect, and returns its changes. Contents were compared with the announced digests
/// when they were received.
///
/// # Errors
/// As [`Authority::decide`]; `unsupported` if it changes no files.
pub fn decide(authority: &Authority<'_>, contents: Vec<Arc<[u8]>>) -> Result<(Grant, Vec<Change>), Denied> {
    let (request, grant) = authority.decide_request(contents)?;
    let Request::Files(request) = request else {
        return Err(Denied::new(Code::Unsupported, "this is no change of files"));
    };
    let mut digests = authority.contents().iter().map(|content| Digest::from_bytes(&content.sha256));
    let left = authority.inverse.and_then(|inverse| inverse.left.as_ref()?.files.first());
    let is_mkdir_undone = left.is_some_and(|left| left.directory);
    let change = |asked: FileChange| {
        let has_content = matches!(asked.to, NewState::Content(_));
        let sha256 = if has_content { digests.next().flatten() } else { None }.unwrap_or(Digest::of(&[]));
        let directory = directory(&grant, &asked.path)?;
        Ok(Change { asked, sha256, directory, attributes: None, is_mkdir_undone })
    };
    let changes = request.changes.into_iter().map(change).collect::<Result<_, Denied>>()?;
    Ok((grant, changes))
}

/// The content of each change that writes, as `read` finds it: it must be the content that was decided.
///
/// # Errors
/// It is not, or cannot be read.
pub fn contents(
    changes: &[Change],
    read: impl Fn(&Change) -> Result<Vec<u8>, Error>,
) -> Result<Vec<Arc<[u8]>>, Error> {
    let mut contents = Vec::new();
    for change in changes.iter().filter(|change| matches!(change.asked.to, NewState::Content(_))) {
        let content = read(change)?;
        if Digest::of(&[&content]) != change.sha256 {
            return Err(Fault::corrupt("an undo copy or a stage").into());
        }
        contents.push(content.into());
    }
    Ok(contents)
}

/// The directory of the rule that grants a path. An operator's undo, which has no rule, reaches it through its own.
///
/// # Errors
/// `no_grant`: there is none.
pub fn directory<'a>(grant: &'a Grant, path: &TargetPath) -> Result<TargetPath, Denied> {
    if grant.elements().is_empty() {
        return Ok(TargetPath::new(path.split().0)?);
    }
    let mut elements = grant.elements().iter().filter(|element| element.object.is_file(path));
    // Files of a rule with `as` are postern-units' part.
    let rule = |element: &'a Element| element.rules.first().filter(|rule| rule.as_user.is_empty());
    let directory = elements.find_map(|element| rule(element)?.selector.directory_of(element.verb, path));
    directory.cloned().ok_or_else(|| Denied::new(Code::NoGrant, "no rule's directory holds this path"))
}
