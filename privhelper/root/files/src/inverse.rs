//! The inverse of a change: the ordinary request that restores the files, which an undo is decided as.

use crate::plan::Plan;
use postern_policy::facts::OldFile;
use postern_policy::request::NewState;
use postern_policy::types::{Attributes, UserName};
use postern_policy::{Grant, VerbId};
use postern_proto::link::INVERSE_MAX;
use postern_proto::root::v1 as root;
use postern_proto::v1 as wire;
use postern_root::{Accounts, Authority, Key};
use prost::Message;

/// Returns the facts of a path after the change.
pub fn after(plan: &Plan<'_>) -> root::FileFacts {
    let path = plan.change.path().to_string();
    let (directory, size, sha256) = match &plan.change.asked.to {
        NewState::Removed => return root::FileFacts { path, ..root::FileFacts::default() },
        NewState::Directory => (true, 0, Vec::new()),
        NewState::Attributes => (plan.facts.directory, plan.facts.size, Vec::new()),
        NewState::Content(content) => {
            let size = u64::try_from(content.len()).unwrap_or(u64::MAX);
            (false, size, plan.change.sha256.as_bytes().to_vec())
        }
    };
    let Attributes { mode, uid, gid } = plan.attributes;
    let (exists, mode, attributes) = (true, mode.bits(), Vec::new());
    root::FileFacts { path, exists, directory, size, sha256, mode, uid, gid, attributes }
}

/// Whether the files are as the effect left them. Attribute names and sizes of what was not written do not count.
pub fn is_as_left(now: &root::FileFacts, left: &root::FileFacts) -> bool {
    let owner = |facts: &root::FileFacts| (facts.mode, facts.uid, facts.gid);
    let is_content = left.sha256.is_empty() || now.sha256 == left.sha256;
    (now.exists, now.directory, &now.path) == (left.exists, left.directory, &left.path)
        && owner(now) == owner(left)
        && is_content
}

/// Makes the inverse of these changes, each of which has an effect.
///
/// None if it cannot be a request: the old owner has no name on this host, or it would be too large.
pub fn inverse(
    key: &Key,
    authority: &Authority<'_>,
    grant: &Grant,
    plans: &[Plan<'_>],
) -> Option<root::Inverse> {
    let (verb, body, contents) = request(authority, plans)?;
    let has_content = plans.iter().any(|plan| plan.replaced.is_some());
    let inverse = root::Inverse {
        contents,
        left: Some(root::Facts { files: plans.iter().rev().map(after).collect(), ..root::Facts::default() }),
        content_id: if has_content { authority.ordered.id.as_bytes().to_vec() } else { Vec::new() },
        ..authority.inverse_of(grant, verb, body)?
    };
    let inverse = key.sign(inverse);
    (inverse.encoded_len() <= INVERSE_MAX).then_some(inverse)
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
    let (change, content) = file(accounts, plan)?;
    let (meta, wire::FileChange { path, expect, mode, owner, group, .. }) = (None, change.clone());
    let (verb, body) = match (&plan.change.asked.to, plan.old) {
        (NewState::Attributes, _) if plan.change.asked.mode.is_some() => {
            (VerbId::FileSetMode, wire::FileSetModeRequest { meta, path, mode }.encode_to_vec())
        }
        (NewState::Attributes, _) => {
            (VerbId::FileSetOwner, wire::FileSetOwnerRequest { meta, path, owner, group }.encode_to_vec())
        }
        (NewState::Removed, _) if plan.change.is_mkdir_undone => {
            (VerbId::FileMkdir, wire::FileMkdirRequest { meta, path, mode, owner, group }.encode_to_vec())
        }
        (_, None) => (VerbId::FileRemove, wire::FileRemoveRequest { meta, path, expect }.encode_to_vec()),
        (_, Some(_)) => {
            let body = wire::FileWriteRequest { meta, change: Some(change) };
            return Some((VerbId::FileWrite, body.encode_to_vec(), content.into_iter().collect()));
        }
    };
    Some((verb, body, Vec::new()))
}

/// One file as it was, with the announcement of its content. Mode and names are set, and so decided, only if the change
/// sets another or removes the file. None if an owner has no name on this host.
fn file(accounts: &Accounts, plan: &Plan<'_>) -> Option<(wire::FileChange, Option<root::Content>)> {
    let change = wire::FileChange {
        path: plan.change.path().to_string(),
        kind: wire::ChangeKind::Remove.into(),
        expect: "any".to_owned(),
        ..wire::FileChange::default()
    };
    let Some(OldFile { sha256, size, attributes: old, .. }) = plan.old else { return Some((change, None)) };
    let is_gone = plan.change.asked.to == NewState::Removed;
    let new = plan.attributes;
    let name = |differs: bool, name: Option<&str>| {
        if !(differs || is_gone) {
            return Some(String::new());
        }
        UserName::new("owner", name?).ok().map(|name| name.to_string())
    };
    let change = wire::FileChange {
        kind: wire::ChangeKind::Write.into(),
        mode: if old.mode != new.mode || is_gone { old.mode.to_string() } else { String::new() },
        owner: name(old.uid != new.uid, accounts.user_name(old.uid))?,
        group: name(old.gid != new.gid, accounts.group_name(old.gid))?,
        ..change
    };
    Some((change, Some(root::Content { size, sha256: sha256.as_bytes().to_vec() })))
}
