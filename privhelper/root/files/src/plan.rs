//! The plan of a change: every path that it names is opened, and nothing is changed.

use crate::change::{Change, To};
use crate::path::{Directory, open_granted};
use crate::target::{OpenTarget, open_target};
use crate::xattr::ExtendedAttributes;
use postern_policy::facts::{FileFacts, OldFile};
use postern_policy::types::{Attributes, Digest, Expect, FileKind, FileMode, TargetPath, UserName};
use postern_policy::{Code, Denied, Facts, Invalid, Object, VerbId};
use postern_proto::root::v1 as root;
use postern_root::{Authority, Error};

/// One path of a change: what is there, and the new state.
#[derive(Debug)]
pub struct Plan<'a> {
    /// What is asked for.
    pub change: &'a Change,
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
    /// Mode, owner and group afterwards.
    pub attributes: Attributes,
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
/// `directory_missing`, `unsafe_path`, `special_file`; `invalid_argument` for an owner or group without an account.
pub fn plan_all<'a>(
    authority: &Authority<'_>,
    changes: &'a [Change],
    directories: &[Directory],
    root_uid: u32,
) -> Result<Vec<Plan<'a>>, Error> {
    let all = changes.iter().zip(directories);
    all.map(|(change, directory)| plan(authority, change, directory.open_parent(change.below(), root_uid)?))
        .collect()
}

fn plan<'a>(authority: &Authority<'_>, change: &'a Change, parent: Directory) -> Result<Plan<'a>, Error> {
    let (path, name) = (change.path().to_string(), change.path().split().1);
    let Some(target) = open_target(&parent, name, change.to.kinds())? else {
        let facts = root::FileFacts { path, ..root::FileFacts::default() };
        let attributes = attributes(authority, change, None)?;
        return Ok(Plan { change, parent, target: None, old: None, facts, replaced: None, attributes });
    };
    let is_replaced = !matches!(change.to, To::Attributes | To::Directory);
    let replaced = is_replaced.then(|| ExtendedAttributes::of(&target.file, name)).transpose()?;
    let is_file = target.kind == FileKind::File;
    let is_hashed = is_file && change.to.replaces_content();
    let sha256 = if is_hashed { target.sha256()? } else { Digest::of(&[]) };
    let size = if is_file { target.facts.size } else { 0 };
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
        attributes: target.attribute_names.clone(),
    };
    let old = Some(OldFile { kind: target.kind, sha256, size, attributes: target.attributes });
    let attributes = attributes(authority, change, Some(target.attributes))?;
    Ok(Plan { change, parent, target: Some(target), old, facts, replaced, attributes })
}

/// Mode, owner and group afterwards: set, or kept, or the default.
fn attributes(
    authority: &Authority<'_>,
    change: &Change,
    old: Option<Attributes>,
) -> Result<Attributes, Denied> {
    let accounts = authority.accounts;
    let default = || Attributes {
        mode: if matches!(change.to, To::Directory) { FileMode::DIRECTORY } else { FileMode::DEFAULT },
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
    /// Whether it is all so already.
    pub fn is_unchanged(&self) -> bool {
        self.old.is_some_and(|old| match &self.change.to {
            To::Content(_, sha256) => (old.sha256, old.attributes) == (*sha256, self.attributes),
            To::Attributes => old.attributes == self.attributes,
            To::Removed | To::Directory | To::RemovedDirectory => false,
        })
    }

    /// Whether the file is what the change needs and its writer expects. Only a reader of the file learns what it is.
    ///
    /// # Errors
    /// `not_found`, `already_exists`, `precondition_failed`.
    pub fn check_expected(&self, authority: &Authority<'_>) -> Result<(), Denied> {
        let path = self.change.path();
        let exists = || Denied::new(Code::AlreadyExists, format!("{path} exists"));
        let is_expected = match (&self.change.to, self.change.asked.expect, self.old) {
            (To::Directory, _, Some(_)) | (_, Expect::Absent, Some(_)) => return Err(exists()),
            (To::Removed | To::RemovedDirectory | To::Attributes, _, None) => {
                return Err(Denied::new(Code::NotFound, format!("{path} does not exist")));
            }
            (_, Expect::Any, _) | (_, Expect::Absent, None) => true,
            (_, Expect::Content(expected), old) => old.is_some_and(|old| old.sha256 == expected),
        };
        if is_expected {
            return Ok(());
        }
        let known = self.old.filter(|_| may_read(authority, path));
        let now = known.map(|old| format!("; the SHA-256 of its content is {}", old.sha256));
        let why = format!("{path} is not the expected file{}", now.unwrap_or_default());
        Err(Denied::new(Code::PreconditionFailed, why))
    }
}

/// Whether the client may also read the file.
pub fn may_read(authority: &Authority<'_>, path: &TargetPath) -> bool {
    authority.policy.grants(&authority.who, VerbId::FileRead, &Object::read(path.clone()))
}
