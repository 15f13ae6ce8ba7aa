//! The inverse of a change: an ordinary request that brings the files back, as an undo will be decided.

use crate::change::To;
use crate::plan::Plan;
use postern_policy::types::{Attributes, UserName};
use postern_policy::{Decision, Grant, VerbId};
use postern_proto::link::INVERSE_MAX;
use postern_proto::root::v1 as root;
use postern_proto::v1 as wire;
use postern_root::{Accounts, Authority, Fault, Key};
use prost::Message;

/// What a path is after the change.
pub fn after(plan: &Plan<'_>) -> root::FileFacts {
    let path = plan.change.path().to_string();
    let Attributes { mode, uid, gid } = plan.attributes;
    let exists = root::FileFacts {
        path: path.clone(),
        exists: true,
        mode: mode.bits(),
        uid,
        gid,
        ..root::FileFacts::default()
    };
    match &plan.change.to {
        To::Removed | To::RemovedDirectory => root::FileFacts { path, ..root::FileFacts::default() },
        To::Directory => root::FileFacts { directory: true, ..exists },
        To::Attributes => {
            let before = &plan.facts;
            root::FileFacts { directory: before.directory, size: before.size, ..exists }
        }
        To::Content(content, sha256) => {
            let size = u64::try_from(content.len()).unwrap_or(u64::MAX);
            root::FileFacts { size, sha256: sha256.as_bytes().to_vec(), ..exists }
        }
    }
}

/// Whether the files are as the effect left them. Attribute names and sizes of what was not written do not count.
pub fn is_as_left(now: &root::FileFacts, left: &root::FileFacts) -> bool {
    let known = |facts: &root::FileFacts| {
        (facts.exists, facts.directory, facts.mode, facts.uid, facts.gid, facts.path.clone())
    };
    let is_content = left.sha256.is_empty() || now.sha256 == left.sha256;
    known(now) == known(left) && is_content
}

/// Makes the inverse of these changes, of which each really changes something.
///
/// None where it cannot be asked for: an owner to bring back has no name on this host, or it would be too large.
///
/// # Errors
/// The key does not work.
pub fn inverse(
    key: &Key,
    authority: &Authority<'_>,
    grant: &Grant,
    plans: &[Plan<'_>],
) -> Result<Option<root::Inverse>, Fault> {
    let Some((verb, body, contents)) = request(authority, plans) else { return Ok(None) };
    let has_content = plans.iter().any(|plan| plan.replaced.is_some());
    let inverse = root::Inverse {
        family: "files".to_owned(),
        order_id: authority.ordered.id.as_bytes().to_vec(),
        uid: authority.ordered.order.uid,
        rules: Authority::rules(grant),
        verb: verb.name().to_owned(),
        body,
        contents,
        left: Some(root::Facts { files: plans.iter().rev().map(after).collect(), ..root::Facts::default() }),
        content_id: if has_content { authority.ordered.id.as_bytes().to_vec() } else { Vec::new() },
        // What a person approved is asked again before it is undone.
        needs_person: grant.decision() == Decision::Ask,
        ..root::Inverse::default()
    };
    let inverse = key.sign(inverse)?;
    Ok((inverse.encoded_len() <= INVERSE_MAX).then_some(inverse))
}

/// A verb, its message, and the announcement of content.
type Parts = (VerbId, Vec<u8>, Vec<root::Content>);

/// The request itself: its entries in reverse order.
fn request(authority: &Authority<'_>, plans: &[Plan<'_>]) -> Option<Parts> {
    let accounts = authority.accounts;
    let verb = authority.inverse.map_or(authority.ordered.order.verb.as_str(), |inverse| &inverse.verb);
    if let ([plan], false) = (plans, verb == VerbId::FilePatch.name()) {
        return single(accounts, plan);
    }
    let files = plans.iter().rev().map(|plan| file(accounts, plan)).collect::<Option<Vec<_>>>()?;
    let (changes, contents): (Vec<_>, Vec<_>) = files.into_iter().unzip();
    let body = wire::FilePatchRequest { meta: None, changes };
    Some((VerbId::FilePatch, body.encode_to_vec(), contents.into_iter().flatten().collect()))
}

fn single(accounts: &Accounts, plan: &Plan<'_>) -> Option<Parts> {
    let (meta, path) = (None, plan.change.path().to_string());
    let Back { mode, owner, group } = Back::of(accounts, plan)?;
    let (verb, body) = match (&plan.change.to, plan.old) {
        (To::Attributes, _) if plan.change.asked.mode.is_some() => {
            (VerbId::FileSetMode, wire::FileSetModeRequest { meta, path, mode }.encode_to_vec())
        }
        (To::Attributes, _) => {
            (VerbId::FileSetOwner, wire::FileSetOwnerRequest { meta, path, owner, group }.encode_to_vec())
        }
        (To::RemovedDirectory, _) => {
            (VerbId::FileMkdir, wire::FileMkdirRequest { meta, path, mode, owner, group }.encode_to_vec())
        }
        (_, None) => {
            let expect = "any".to_owned();
            (VerbId::FileRemove, wire::FileRemoveRequest { meta, path, expect }.encode_to_vec())
        }
        (_, Some(_)) => {
            let (change, content) = file(accounts, plan)?;
            let body = wire::FileWriteRequest { meta, change: Some(change) };
            return Some((VerbId::FileWrite, body.encode_to_vec(), content.into_iter().collect()));
        }
    };
    Some((verb, body, Vec::new()))
}

/// One file as it was, with the announcement of its content.
fn file(accounts: &Accounts, plan: &Plan<'_>) -> Option<(wire::FileChange, Option<root::Content>)> {
    let (path, expect) = (plan.change.path().to_string(), "any".to_owned());
    let Some(old) = plan.old else {
        let kind = wire::ChangeKind::Remove.into();
        return Some((wire::FileChange { path, kind, expect, ..Default::default() }, None));
    };
    let (kind, Back { mode, owner, group }) = (wire::ChangeKind::Write.into(), Back::of(accounts, plan)?);
    let content = root::Content { size: old.size, sha256: old.sha256.as_bytes().to_vec() };
    let change = wire::FileChange { path, kind, expect, mode, owner, group, ..Default::default() };
    Some((change, Some(content)))
}

/// Mode and names to bring back: set, and so decided, only where the change sets another or removes the file.
struct Back {
    mode: String,
    owner: String,
    group: String,
}

impl Back {
    /// None if an owner has no name on this host.
    fn of(accounts: &Accounts, plan: &Plan<'_>) -> Option<Self> {
        let Some(old) = plan.old.map(|old| old.attributes) else {
            return Some(Self { mode: String::new(), owner: String::new(), group: String::new() });
        };
        let is_gone = matches!(plan.change.to, To::Removed | To::RemovedDirectory);
        let new = plan.attributes;
        let name = |differs: bool, name: Option<&str>| {
            if !(differs || is_gone) {
                return Some(String::new());
            }
            UserName::new("owner", name?).ok().map(|name| name.to_string())
        };
        Some(Self {
            mode: if old.mode != new.mode || is_gone { old.mode.to_string() } else { String::new() },
            owner: name(old.uid != new.uid, accounts.user_name(old.uid))?,
            group: name(old.gid != new.gid, accounts.group_name(old.gid))?,
        })
    }
}
