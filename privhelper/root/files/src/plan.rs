//! The facts of a change and its plan: opens every path that it names, and changes nothing.

use crate::change::{Change, To};
use crate::path::{Directory, open_granted};
use crate::target::{OpenTarget, open_target};
use crate::xattr::ExtendedAttributes;
use postern_policy::facts::{self, OldFile};
use postern_policy::types::{Attributes, Digest, Expect, FileKind, FileMode, TargetPath, UserName};
use postern_policy::{Code, Denied, Facts, Invalid, Object, VerbId};
use postern_proto::root::v1 as root;
use postern_root::{Authority, Error};

/// One path of a change, open.
#[derive(Debug)]
pub struct Opened {
    /// Its directory.
    pub parent: Directory,
    /// What is there.
    pub target: Option<OpenTarget>,
    /// The facts that the policy decides.
    pub old: Option<OldFile>,
    /// The same as a message.
    pub facts: root::FileFacts,
    /// Extended attributes of a file or directory that is replaced or removed.
    pub replaced: Option<ExtendedAttributes>,
}

/// The new state of one path.
#[derive(Debug)]
pub struct Plan<'a> {
    /// What is asked for.
    pub change: &'a Change,
    /// What is there.
    pub opened: Opened,
    /// Mode, owner and group afterwards.
    pub attributes: Attributes,
    /// It is all so already.
    pub is_unchanged: bool,
}

/// Opens the granted directories of these changes.
///
/// # Errors
/// `directory_missing`, `unsafe_path`.
pub fn open_directories(changes: &[Change], root_uid: u32) -> Result<Vec<Directory>, Error> {
    changes.iter().map(|change| open_granted(&change.directory, root_uid)).collect()
}

/// Opens every path below its directory, and hashes every file whose content is replaced.
///
/// # Errors
/// `directory_missing`, `unsafe_path`, `special_file`.
pub fn open_all(changes: &[Change], directories: &[Directory], root_uid: u32) -> Result<Vec<Opened>, Error> {
    let all = changes.iter().zip(directories);
    all.map(|(change, directory)| open_one(change, directory.open_parent(change.below(), root_uid)?))
        .collect()
}

fn open_one(change: &Change, parent: Directory) -> Result<Opened, Error> {
    let path = change.path().to_string();
    let Some(target) = open_target(&parent, change.path().split().1, change.to.kinds())? else {
        let facts = root::FileFacts { path, ..root::FileFacts::default() };
        return Ok(Opened { parent, target: None, old: None, facts, replaced: None });
    };
    let is_replaced = !matches!(change.to, To::Attributes | To::Directory);
    let replaced = is_replaced.then(|| target.extended_attributes(change.path().split().1)).transpose()?;
    let is_file = target.kind == FileKind::File;
    let is_hashed = is_file && change.to.replaces_content();
    let sha256 = if is_hashed { target.sha256()? } else { Digest::of(&[]) };
    let size = if is_file { target.size } else { 0 };
    let Attributes { mode, uid, gid } = target.attributes;
    let facts = root::FileFacts {
        path,
        exists: true,
        directory: !is_file,
        size,
        sha256: if is_hashed { sha256.as_bytes().to_vec() } else { Vec::new() },
        mode: mode.bits(),
        uid,
        gid,
        attributes: target.attribute_names()?,
    };
    let old = OldFile { kind: target.kind, sha256, size, attributes: target.attributes };
    Ok(Opened { parent, target: Some(target), old: Some(old), facts, replaced })
}

/// The facts as the policy decides them.
pub fn facts(changes: &[Change], opened: &[Opened]) -> Facts {
    let of = |(change, opened): (&Change, &Opened)| facts::FileFacts {
        path: change.path().clone(),
        old: opened.old,
    };
    Facts::Files(changes.iter().zip(opened).map(of).collect())
}

/// The plan of each change.
///
/// # Errors
/// `not_found`, `already_exists`, `precondition_failed`; `invalid_argument` for an owner or group without an account.
pub fn plan<'a>(
    authority: &Authority<'_>,
    changes: &'a [Change],
    opened: Vec<Opened>,
) -> Result<Vec<Plan<'a>>, Denied> {
    changes.iter().zip(opened).map(|(change, opened)| plan_one(authority, change, opened)).collect()
}

fn plan_one<'a>(authority: &Authority<'_>, change: &'a Change, opened: Opened) -> Result<Plan<'a>, Denied> {
    check_expected(authority, change, opened.old.as_ref())?;
    let old = opened.old;
    let default = if matches!(change.to, To::Directory) { FileMode::DIRECTORY } else { FileMode::DEFAULT };
    let accounts = authority.accounts;
    let (uid, gid) = (accounts.user("root").unwrap_or(0), accounts.group("root").unwrap_or(0));
    let kept = old.map_or(Attributes { mode: default, uid, gid }, |old| old.attributes);
    let unknown =
        |field, name: &UserName| Denied::from(Invalid::new(field, "does not exist on this host")).with(name);
    let uid = |name: &UserName| accounts.user(name.as_str()).ok_or_else(|| unknown("owner", name));
    let gid = |name: &UserName| accounts.group(name.as_str()).ok_or_else(|| unknown("group", name));
    let attributes = Attributes {
        mode: change.asked.mode.unwrap_or(kept.mode),
        uid: change.asked.owner.as_ref().map(uid).transpose()?.unwrap_or(kept.uid),
        gid: change.asked.group.as_ref().map(gid).transpose()?.unwrap_or(kept.gid),
    };
    let is_unchanged = old.is_some_and(|old| match &change.to {
        To::Content(_, sha256) => (old.sha256, old.attributes) == (*sha256, attributes),
        To::Attributes => old.attributes == attributes,
        To::Removed | To::Directory | To::RemovedDirectory => false,
    });
    Ok(Plan { change, opened, attributes, is_unchanged })
}

/// Whether the file is what the change needs and its writer expects. Only a reader of the file learns what it is.
fn check_expected(authority: &Authority<'_>, change: &Change, old: Option<&OldFile>) -> Result<(), Denied> {
    let path = change.path();
    let exists = || Denied::new(Code::AlreadyExists, format!("{path} exists"));
    let is_expected = match (&change.to, change.asked.expect, old) {
        (To::Directory, _, Some(_)) | (_, Expect::Absent, Some(_)) => return Err(exists()),
        (To::Removed | To::RemovedDirectory | To::Attributes, _, None) => {
            return Err(Denied::new(Code::NotFound, format!("{path} does not exist")));
        }
        (_, Expect::Any, _) | (_, Expect::Absent, None) => true,
        (_, Expect::Content(expected), Some(old)) => expected == old.sha256,
        (_, Expect::Content(_), None) => false,
    };
    if is_expected {
        return Ok(());
    }
    let now = match old {
        Some(old) if may_read(authority, path) => format!("; the SHA-256 of its content is {}", old.sha256),
        Some(_) | None => String::new(),
    };
    Err(Denied::new(Code::PreconditionFailed, format!("{path} is not the expected file{now}")))
}

/// Whether the client may also read the file.
pub fn may_read(authority: &Authority<'_>, path: &TargetPath) -> bool {
    authority.policy.grants(&authority.who, VerbId::FileRead, &Object::read(path.clone()))
}
