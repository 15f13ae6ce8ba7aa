//! The effect: writes the journal, then temporary files, exchanges the names, and stores the outcome last. With its inverse: the
//! ordinary request that restores the files, which an undo is decided as.

use crate::change::{Plan, may_read};
use crate::recover::{complete_or_revert, note};
use crate::state::State;
use crate::swap::{self, Step};
use crate::target::changed;
use postern_policy::facts::OldFile;
use postern_policy::request::NewState;
use postern_policy::types::{Attributes, Digest, FileKind, UserName, hex};
use postern_policy::{Grant, VerbId};
use postern_proto::link::INVERSE_MAX;
use postern_proto::root::v1 as root;
use postern_proto::v1 as wire;
use postern_root::{Accounts, Authority, Error, OrderId};
use prost::Message;

/// Largest encoded inverse, less its MAC.
const UNSIGNED_MAX: usize = INVERSE_MAX - 64;

/// Changes the files, all or none, and stores the outcome.
///
/// # Errors
/// Nothing was changed.
pub fn act(
    state: &State,
    authority: &Authority<'_>,
    grant: &Grant,
    plans: Vec<Plan<'_>>,
) -> Result<root::Outcome, Error> {
    let id = authority.ordered.id;
    let objects = plans.iter().map(|plan| plan.change.path().to_string()).collect();
    let files = plans.iter().map(|plan| info(authority, plan)).collect();
    let plans = plans.into_iter().filter(|plan| !plan.is_unchanged()).collect::<Vec<_>>();
    let status = if plans.is_empty() { wire::Status::Unchanged } else { wire::Status::Done };
    let completed = wire::Completed { status: status.into(), files, ..wire::Completed::default() };
    if plans.is_empty() {
        return Ok(authority.outcome(grant, objects, completed, None));
    }
    // One rule with `keep_for_undo = false` is enough: the content may be a secret.
    let inverse = grant.keeps_for_undo().then(|| inverse(authority, grant, &plans)).flatten();
    authority.check_inverse(grant, inverse.as_ref())?;
    let mut outcome = authority.outcome(grant, objects, completed, inverse);
    let has_content = outcome.inverse.as_ref().is_some_and(|inverse| !inverse.content_id.is_empty());
    let entries = plans.iter().enumerate().map(|(number, plan)| entry(id, number, plan, has_content));
    let journal = root::Journal { entries: entries.collect(), outcome: Some(outcome.clone()) };
    state.outcomes.begin(id, &journal.encode_to_vec())?;
    let done = if has_content { keep(state, authority, &plans, journal.clone()) } else { Ok(()) };
    let done = done.and_then(|()| authority.witness(grant));
    if let Err(error) = done.and_then(|()| exchange(&journal.entries, &plans, &mut outcome)) {
        // If this fails, recovery at the next start finds that nothing was changed.
        drop(state.undo.forget(id.as_bytes()).and_then(|()| state.outcomes.withdraw(id)));
        return Err(error);
    }
    // If this cannot be written, recovery at the next start compares the files.
    drop(state.outcomes.end(id, &outcome));
    drop(authority.inverse.map(|undone| state.undo.forget(&undone.content_id)));
    Ok(outcome)
}

fn entry(id: OrderId, number: usize, plan: &Plan<'_>, has_content: bool) -> root::JournalEntry {
    let is_replaced = plan.change.asked.to != NewState::Attributes;
    let replaced = plan.replaced.clone().filter(|_| has_content);
    root::JournalEntry {
        before: Some(plan.facts.clone()),
        after: Some(after(plan)),
        inode: plan.target.as_ref().map_or(0, |target| target.facts.id.2),
        // Order ids are unique per client and request.
        temporary: if is_replaced { format!(".postern-{id}-{number}") } else { String::new() },
        attributes: replaced.unwrap_or_default().0,
        content: Vec::new(),
    }
}

/// Stores the undo copy: the journal with the old content.
fn keep(
    state: &State,
    authority: &Authority<'_>,
    plans: &[Plan<'_>],
    mut journal: root::Journal,
) -> Result<(), Error> {
    for (plan, entry) in plans.iter().zip(&mut journal.entries) {
        let (Some(target), Some(old)) = (&plan.target, plan.old) else { continue };
        if plan.replaced.is_some() && old.kind == FileKind::File {
            entry.content = target.content()?;
            if Digest::of(&[&entry.content]) != old.sha256 {
                return Err(changed());
            }
        }
    }
    let (uid, id) = (authority.ordered.order.uid, authority.ordered.id);
    state.undo.keep((uid, id), &journal, authority.undo_limits(), state.host.unix())
}

/// Performs the steps, and reports a failure in the outcome.
fn exchange(
    entries: &[root::JournalEntry],
    plans: &[Plan<'_>],
    outcome: &mut root::Outcome,
) -> Result<(), Error> {
    let steps =
        plans.iter().zip(entries).map(|(plan, entry)| step(plan, &entry.temporary)).collect::<Vec<_>>();
    let in_place = "the change is in place, but cleaning up after it failed";
    let (status, message, detail) = match swap::stage(&steps)
        .and_then(|()| steps.iter().try_for_each(Step::swap))
    {
        Ok(()) => match swap::clear(&steps) {
            Ok(()) => return Ok(()),
            Err(error) => (wire::Status::Partly, in_place, error.detail()),
        },
        Err(why) => match complete_or_revert(entries, plans.iter().map(|plan| &plan.parent)) {
            Ok(false) => return Err(why),
            Ok(true) => (wire::Status::Partly, in_place, why.detail()),
            Err(error) => {
                let message = "the change failed in the middle and could not be reverted; examine the files";
                (wire::Status::Interrupted, message, format!("{}; then {}", why.detail(), error.detail()))
            }
        },
    };
    note(outcome, status, message, detail);
    Ok(())
}

fn step<'a>(plan: &'a Plan<'_>, temporary: &'a str) -> Step<'a> {
    let (parent, name, old) = (&plan.parent, plan.change.path().split().1, plan.target.as_ref());
    let extended = plan.replaced.as_ref().or(plan.change.attributes.as_ref());
    Step { parent, name, temporary, old, to: &plan.change.asked.to, attributes: plan.attributes, extended }
}

/// Returns a path as it is afterwards. Size and digest of content that the client did not write need `file.read`.
fn info(authority: &Authority<'_>, plan: &Plan<'_>) -> wire::FileInfo {
    let after = after(plan);
    if !after.exists {
        return wire::FileInfo { path: after.path, ..wire::FileInfo::default() };
    }
    let Attributes { mode, uid, gid } = plan.attributes;
    let r#type = if after.directory { wire::FileType::Directory } else { wire::FileType::File };
    let info = authority.accounts.file_info(after.path, r#type, mode.to_string(), (uid, gid));
    let is_written = matches!(plan.change.asked.to, NewState::Content(_));
    if is_written && (authority.inverse.is_none() || may_read(authority, plan.change.path())) {
        return wire::FileInfo { size: after.size, sha256: hex(&after.sha256), ..info };
    }
    info
}

/// Returns the facts of a path after the change.
fn after(plan: &Plan<'_>) -> root::FileFacts {
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

/// Makes the inverse of these changes, each of which has an effect.
///
/// None if it cannot be a request: the old owner has no name on this host, or it would be too large.
fn inverse(authority: &Authority<'_>, grant: &Grant, plans: &[Plan<'_>]) -> Option<root::Inverse> {
    let (verb, body, contents) = request(authority, plans)?;
    let has_content = plans.iter().any(|plan| plan.replaced.is_some());
    let inverse = root::Inverse {
        contents,
        left: Some(root::Facts { files: plans.iter().rev().map(after).collect(), ..root::Facts::default() }),
        content_id: if has_content { authority.ordered.id.as_bytes().to_vec() } else { Vec::new() },
        ..authority.inverse_of(grant, verb, body)?
    };
    (inverse.encoded_len() <= UNSIGNED_MAX).then_some(inverse)
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
