//! The plan of a change: opens every path that it names, and changes nothing.

use crate::change::Change;
use crate::path::{Directory, open_granted};
use crate::target::{OpenTarget, open_target};
use crate::xattr::ExtendedAttributes;
use postern_policy::facts::{FileFacts, OldFile};
use postern_policy::request::NewState;
use postern_policy::types::{Attributes, Expect, FileKind, FileMode, TargetPath, UserName};
use postern_policy::{Facts, Grant, Invalid, Object, VerbId};
use postern_proto::root::v1 as root;
use postern_root::{Authority, Code, Denied, Error};

/// Most bytes that one change keeps for undo.
const KEPT_MAX: u64 = 16 * 1024 * 1024;

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

    /// Checks that the file is in the state that the change and its writer expect. Only a client that may read it gets its digest.
    ///
    /// # Errors
    /// `not_found`, `already_exists`, `precondition_failed`.
    pub fn check_expected(&self, authority: &Authority<'_>) -> Result<(), Denied> {
        let path = self.change.path();
        let exists = || Denied::new(Code::AlreadyExists, format!("{path} exists"));
        let is_expected = match (&self.change.asked.to, self.change.asked.expect, self.old) {
            (NewState::Directory, _, Some(_)) | (_, Expect::Absent, Some(_)) => return Err(exists()),
            (NewState::Removed | NewState::Attributes, _, None) => {
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
