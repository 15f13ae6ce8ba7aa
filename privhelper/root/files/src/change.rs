//! Changes of files: those of the request, decided; and their plan, which opens every path that they name and changes nothing.

use crate::path::{Directory, open_granted};
use crate::target::{OpenTarget, open_target};
use crate::xattr::ExtendedAttributes;
use postern_policy::facts::{FileFacts, OldFile};
use postern_policy::request::{FileChange, NewState};
use postern_policy::types::{Attributes, Digest, Expect, FileKind, FileMode, TargetPath, UserName};
use postern_policy::{Element, Facts, Grant, Invalid, Object, Request, VerbId};
use postern_proto::root::v1 as root;
use postern_root::{Authority, Code, Denied, Error, Fault};
use std::sync::Arc;

/// Most bytes that one change keeps for undo.
const KEPT_MAX: u64 = 16 * 1024 * 1024;

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

/// The grant of a request, and its changes.
type Decided = (Grant, Vec<Change>);

/// Decides the request that takes effect, and returns its changes. Contents were compared with the announced digests
/// when they were received.
///
/// # Errors
/// As [`Authority::decide`]; `unsupported` if it changes no files.
pub fn decide(authority: &Authority<'_>, contents: Option<Vec<Arc<[u8]>>>) -> Result<Decided, Denied> {
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

/// One path of a change: the existing file, and the new state.
#[derive(Debug)]
pub struct Plan<'a> {
    /// The change.
    pub change: &'a Change,
    /// Its directory.
    pub parent: Directory,
    /// The existing file or directory.
    pub target: Option<OpenTarget>,
    /// The facts that the policy decides.
    pub old: Option<OldFile>,
    /// The same as a message.
    pub facts: root::FileFacts,
    /// Extended attributes of a file or directory that is replaced or removed.
    pub replaced: Option<ExtendedAttributes>,
    /// Mode, owner and group afterwards.
    pub attributes: Attributes,
}

/// Opens the granted directories of these changes.
///
/// # Errors
/// `directory_missing`, `unsafe_path`.
pub fn open_directories(authority: &Authority<'_>, changes: &[Change]) -> Result<Vec<Directory>, Error> {
    changes.iter().map(|change| open_granted(&change.directory, authority.host.root_uid)).collect()
}

/// Opens every path below its directory, and hashes every file whose content is replaced.
///
/// # Errors
/// `directory_missing`, `unsafe_path`, `special_file`; `invalid_argument` for an owner or group without an account;
/// `too_large` where more would be kept for undo than can be.
pub fn plan_all<'a>(
    authority: &Authority<'_>,
    grant: &Grant,
    changes: &'a [Change],
    directories: &[Directory],
) -> Result<Vec<Plan<'a>>, Error> {
    let mut room = if grant.keeps_for_undo() { KEPT_MAX } else { u64::MAX };
    let all = changes.iter().zip(directories);
    all.map(|(change, directory)| plan(authority, change, directory, &mut room)).collect()
}

/// `room`: bytes that may still be kept for undo. A larger file is not hashed.
fn plan<'a>(
    authority: &Authority<'_>,
    change: &'a Change,
    directory: &Directory,
    room: &mut u64,
) -> Result<Plan<'a>, Error> {
    let parent = directory.open_parent(change.below(), authority.host.root_uid)?;
    let name = change.path().split().1;
    let target = open_target(&parent, name, change.kinds())?;
    let mut replaced = None;
    let mut facts = root::FileFacts { path: change.path().to_string(), ..root::FileFacts::default() };
    if let Some(target) = &target {
        if change.is_replacing() {
            replaced = Some(ExtendedAttributes::of(&target.file, name)?);
        }
        let is_hashed = change.is_replacing() && target.kind == FileKind::File;
        let why = "the files that are replaced are larger than 16 MiB together and would be kept for undo; \
                   a rule with `keep_for_undo = false` does not keep them";
        let kept = if is_hashed { target.facts.size } else { 0 };
        *room = room.checked_sub(kept).ok_or_else(|| Denied::new(Code::TooLarge, why))?;
        facts = target.to_wire(&facts.path, is_hashed)?;
    }
    let old = FileFacts::from_wire(&facts)?.old;
    let attributes = attributes(authority, change, old.map(|old| old.attributes))?;
    Ok(Plan { change, parent, target, old, facts, replaced, attributes })
}

/// Mode, owner and group afterwards: set, or kept, or the default.
fn attributes(
    authority: &Authority<'_>,
    change: &Change,
    old: Option<Attributes>,
) -> Result<Attributes, Denied> {
    let accounts = authority.accounts;
    let default = || Attributes {
        mode: if change.asked.to == NewState::Directory { FileMode::DIRECTORY } else { FileMode::DEFAULT },
        uid: accounts.user("root").unwrap_or(0),
        gid: accounts.group("root").unwrap_or(0),
    };
    let kept = old.unwrap_or_else(default);
    let unknown =
        |field, name: &UserName| Denied::from(Invalid::new(field, "does not exist on this host")).with(name);
    let uid = |name: &UserName| accounts.user(name.as_str()).ok_or_else(|| unknown("owner", name));
    let gid = |name: &UserName| accounts.group(name.as_str()).ok_or_else(|| unknown("group", name));
    Ok(Attributes {
        mode: change.asked.mode.unwrap_or(kept.mode),
        uid: change.asked.owner.as_ref().map(uid).transpose()?.unwrap_or(kept.uid),
        gid: change.asked.group.as_ref().map(gid).transpose()?.unwrap_or(kept.gid),
    })
}

/// The facts as the policy decides them.
pub fn facts(plans: &[Plan<'_>]) -> Facts {
    let of =
        |plan: &Plan<'_>| FileFacts { path: plan.change.path().clone(), old: plan.old, xattrs: Vec::new() };
    Facts::Files(plans.iter().map(of).collect())
}

impl Plan<'_> {
    /// Whether the path has the new state already.
    pub fn is_unchanged(&self) -> bool {
        self.old.is_some_and(|old| match &self.change.asked.to {
            NewState::Content(_) => (old.sha256, old.attributes) == (self.change.sha256, self.attributes),
            NewState::Attributes => old.attributes == self.attributes,
            NewState::Removed | NewState::Directory => false,
        })
    }

    /// Checks that the file is in the state that the change and its writer expect. The broker did so before, and told a client that may
    /// read the file its digest.
    ///
    /// # Errors
    /// `not_found`, `already_exists`, `precondition_failed`.
    pub fn check_expected(&self) -> Result<(), Denied> {
        let (code, why) = match (&self.change.asked.to, self.change.asked.expect, self.old) {
            (NewState::Directory, _, Some(_)) | (_, Expect::Absent, Some(_)) => {
                (Code::AlreadyExists, "exists")
            }
            (NewState::Removed | NewState::Attributes, _, None) => (Code::NotFound, "does not exist"),
            (_, Expect::Any, _) | (_, Expect::Absent, None) => return Ok(()),
            (_, Expect::Content(sha256), Some(old)) if old.sha256 == sha256 => return Ok(()),
            (_, Expect::Content(_), _) => (Code::PreconditionFailed, "is not the expected file"),
        };
        Err(Denied::new(code, format!("{} {why}", self.change.path())))
    }
}

/// Whether the client may also read the file.
pub fn may_read(authority: &Authority<'_>, path: &TargetPath) -> bool {
    authority.policy.grants(&authority.who, VerbId::FileRead, &Object::read(path.clone()))
}
