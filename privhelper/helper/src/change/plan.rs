//! What stands there, and what would become of it. Looks, and changes nothing.

use super::{Change, To};
use crate::context::Context;
use crate::error::Stop;
use crate::plan::{FilePlan, FilesPlan};
use crate::question;
use crate::sys::confined::{self, Need};
use crate::sys::files::{self, Standing, Xattrs};
use crate::validate;
use postern_policy::facts::OldFile;
use postern_policy::types::{Attributes, Digest, Expect, FileKind, FileMode, TargetPath, UserName};
use postern_policy::{Code, Decision, Denied, Grant, Invalid, Object, VerbId};
use std::os::fd::OwnedFd;

/// Most bytes that the files of one request may have now, together: what is replaced is kept for undo.
const OLD_MAX: u64 = 16 * 1024 * 1024;

/// An opened directory, and the path below it.
pub(super) type Place<'a> = (OwnedFd, &'a str);

/// The directory through which each change was granted, opened, and what stands below it: the part of a path that is the
/// client's. What is undone was reached through a grant before, and is reached by itself now.
pub(super) fn places<'a>(
    cx: &Context,
    by: &Grant,
    verb: VerbId,
    changes: &'a [Change],
) -> Result<Vec<Place<'a>>, Stop> {
    let open = |path: &TargetPath| files::open_directory(path, cx.helper.host.owner_uid);
    let mut places = Vec::with_capacity(changes.len());
    let mut rules = by.rules();
    for change in changes {
        let rule = rules.next().filter(|_| verb != VerbId::RequestUndo);
        let granted = rule.and_then(|rule| rule.selector.directory_of(verb, &change.path));
        places.push(match (granted, verb) {
            (Some(granted), _) => (open(granted)?, change.path.below(granted).unwrap_or_default()),
            (None, VerbId::RequestUndo) => {
                let (directory, name) = change.path.split();
                (open(&TargetPath::new(directory)?)?, name)
            }
            (None, _) => {
                return Err(Denied::new(Code::NoGrant, "no rule's directory holds this path").into());
            }
        });
    }
    Ok(places)
}

/// What stands at a path, and in which directory.
pub(super) struct Looked {
    pub parent: OwnedFd,
    pub there: Option<(Standing, OldFile)>,
    /// Its content, if that goes and was asked for.
    pub content: Vec<u8>,
    /// What is made in its place takes over; none if it stays, or nothing stands there.
    pub xattrs: Option<Xattrs>,
}

/// How closely is looked.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Look {
    /// At facts and digests.
    Digest,
    /// At whole contents too.
    Content,
}

/// Looks at all of them, in their order, and takes the digest of what goes.
pub(super) fn look_at_all(
    cx: &Context,
    changes: &[Change],
    places: &[Place<'_>],
    how: Look,
) -> Result<Vec<Looked>, Stop> {
    let mut room = OLD_MAX;
    let all = changes.iter().zip(places);
    all.map(|(change, place)| look(cx, change, place, how, &mut room)).collect()
}

/// Looks at one of them, whose size is taken off the room.
fn look(
    cx: &Context,
    change: &Change,
    (directory, below): &Place<'_>,
    how: Look,
    room: &mut u64,
) -> Result<Looked, Stop> {
    let parent = files::open_parent(directory, below, cx.helper.host.owner_uid)?;
    let Some(mut standing) = files::look(&parent, change.path.split().1, change.to.kinds())? else {
        return Ok(Looked { parent, there: None, content: Vec::new(), xattrs: None });
    };
    let stays = matches!(change.to, To::Attributes);
    let xattrs = (!stays).then(|| standing.xattrs(change.path.split().1)).transpose()?;
    let size = if standing.kind == FileKind::File { standing.size } else { 0 };
    let (sha256, content) = if change.goes() {
        *room = room.checked_sub(size).ok_or_else(|| {
            let why =
                "the files that stand there are larger than 16 MiB together; they would be kept for undo";
            Denied::new(Code::TooLarge, why)
        })?;
        match how {
            Look::Digest => (standing.sha256()?, Vec::new()),
            Look::Content => {
                let content = standing.read(0, size)?;
                (Digest::of(&[&content]), content)
            }
        }
    } else {
        (Digest::of(&[]), Vec::new())
    };
    let old = OldFile { kind: standing.kind, sha256, size, attributes: standing.attributes };
    Ok(Looked { parent, there: Some((standing, old)), content, xattrs })
}

/// What would become of them.
///
/// # Errors
/// Something else stands there than must, or it can't be reached.
pub fn plan(cx: &Context, by: &Grant, verb: VerbId, changes: &[Change]) -> Result<FilesPlan, Stop> {
    // Who cannot be asked later is found out before anybody else is.
    validate::rows(cx, by)?;
    let places = places(cx, by, verb, changes)?;
    let directories = places.iter().map(|(directory, _)| directory).collect::<Vec<_>>();
    let looked = confined::run(cx.helper.host.landlock, Need::Look, &directories, || {
        // A person who must agree sees what changes.
        let asks = by.decision() == Decision::Ask;
        let looked = look_at_all(cx, changes, &places, if asks { Look::Content } else { Look::Digest })?;
        let told = changes.iter().zip(looked).map(|(change, looked)| {
            let diff = if asks { diff(change, &looked.content) } else { Vec::new() };
            (looked.there.map(|(_, old)| old), diff)
        });
        Ok(told.collect::<Vec<_>>())
    })?;
    let files = changes.iter().zip(looked).map(|(change, (old, diff))| {
        let readable = cx.policy.grants(&cx.who, VerbId::FileRead, &Object::read(change.path.clone()));
        check_expected(change, old.as_ref(), readable)?;
        // What an undo brings back may be another's.
        let is_known = readable || verb != VerbId::RequestUndo;
        Ok(FilePlan { readable, is_known, diff, ..of(cx, change, old)? })
    });
    Ok(FilesPlan { files: files.collect::<Result<_, Stop>>()? })
}

fn of(cx: &Context, change: &Change, old: Option<OldFile>) -> Result<FilePlan, Stop> {
    let root = |field| old.is_none().then(|| UserName::new(field, "root")).transpose();
    let owner = change.owner.clone().or(root("owner")?);
    let group = change.group.clone().or(root("group")?);
    let default = if matches!(change.to, To::Directory) { FileMode::DIRECTORY } else { FileMode::DEFAULT };
    let kept = old.map_or(Attributes { mode: default, uid: 0, gid: 0 }, |old| old.attributes);
    let (uid, gid) = resolve(cx, owner.as_ref(), group.as_ref())?;
    let attributes = Attributes {
        mode: change.mode.unwrap_or(kept.mode),
        uid: uid.unwrap_or(kept.uid),
        gid: gid.unwrap_or(kept.gid),
    };
    let (new_sha256, new_size) = match &change.to {
        To::Content(_, digest) => (*digest, change.size()),
        To::Attributes => old.map_or((Digest::of(&[]), 0), |old| (old.sha256, old.size)),
        To::Removed | To::Directory | To::RemovedDirectory => (Digest::of(&[]), 0),
    };
    let is_same = |old: &OldFile| (old.sha256, old.attributes) == (new_sha256, attributes);
    Ok(FilePlan {
        path: change.path.clone(),
        action: change.to.action(),
        unchanged: matches!(change.to, To::Content(..) | To::Attributes) && old.as_ref().is_some_and(is_same),
        old,
        readable: false,
        is_known: false,
        new_sha256,
        new_size,
        attributes,
        owner,
        group,
        diff: Vec::new(),
    })
}

/// The numbers of the names that are set. Not from a confined thread: that one can't read the host's accounts.
fn resolve(
    cx: &Context,
    owner: Option<&UserName>,
    group: Option<&UserName>,
) -> Result<(Option<u32>, Option<u32>), Denied> {
    let accounts = cx.helper.host.accounts;
    let unknown =
        |field, name: &UserName| Denied::from(Invalid::new(field, "does not exist on this host")).with(name);
    let uid = |name: &UserName| (accounts.user)(name.as_str()).ok_or_else(|| unknown("owner", name));
    let gid = |name: &UserName| (accounts.group)(name.as_str()).ok_or_else(|| unknown("group", name));
    Ok((owner.map(uid).transpose()?, group.map(gid).transpose()?.map(|(gid, _)| gid)))
}

/// Whether what stands there is what the change needs and its writer expects.
fn check_expected(change: &Change, old: Option<&OldFile>, readable: bool) -> Result<(), Denied> {
    let path = &change.path;
    match (&change.to, old) {
        (To::Removed | To::RemovedDirectory | To::Attributes, None) => {
            return Err(Denied::new(Code::NotFound, format!("{path} does not exist")));
        }
        (To::Directory, Some(_)) => return Err(Denied::new(Code::AlreadyExists, format!("{path} exists"))),
        (To::Content(..) | To::Directory, None)
        | (To::Content(..) | To::Removed | To::RemovedDirectory | To::Attributes, Some(_)) => {}
    }
    let fine = match (change.expect, old) {
        (Expect::Any, _) | (Expect::Absent, None) => true,
        (Expect::Content(want), Some(old)) => want == old.sha256,
        (Expect::Absent, Some(_)) => {
            return Err(Denied::new(Code::AlreadyExists, format!("{path} exists")));
        }
        (Expect::Content(_), None) => false,
    };
    if fine {
        return Ok(());
    }
    let now = match old {
        Some(old) if readable => format!("; its content is {} now", old.sha256),
        Some(_) | None => String::new(),
    };
    Err(Denied::new(Code::PreconditionFailed, format!("{path} is not what was expected{now}")))
}

fn diff(change: &Change, old: &[u8]) -> Vec<u8> {
    match &change.to {
        To::Content(new, _) => question::diff(old, new),
        To::Removed => question::diff(old, &[]),
        To::Directory | To::RemovedDirectory | To::Attributes => Vec::new(),
    }
}
