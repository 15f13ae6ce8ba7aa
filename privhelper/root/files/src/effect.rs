//! The effect: writes the journal, then temporary files, exchanges the names, and stores the outcome last.

use crate::inverse::{after, inverse};
use crate::plan::{Plan, may_read};
use crate::recover::{complete_or_revert, note};
use crate::state::State;
use crate::swap::{self, Step};
use crate::target::changed;
use postern_policy::Grant;
use postern_policy::request::NewState;
use postern_policy::types::{Attributes, Digest, FileKind, hex};
use postern_proto::root::v1 as root;
use postern_proto::v1 as wire;
use postern_root::{Authority, Error, OrderId};
use prost::Message;

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
    // One rule with `keep_for_undo = false` is enough: the content may be a secret.
    let is_kept = !plans.is_empty() && grant.keeps_for_undo();
    let inverse = is_kept.then(|| inverse(&state.key, authority, grant, &plans)).flatten();
    if !plans.is_empty() {
        authority.check_inverse(grant, inverse.as_ref())?;
    }
    let (status, undoable) = (status.into(), inverse.is_some());
    let completed = wire::Completed { status, files, undoable, ..wire::Completed::default() };
    let mut outcome = root::Outcome { inverse, ..authority.outcome(grant, objects, completed) };
    if plans.is_empty() {
        return Ok(outcome);
    }
    let has_content = outcome.inverse.as_ref().is_some_and(|inverse| !inverse.content_id.is_empty());
    let entries = plans.iter().enumerate().map(|(number, plan)| entry(id, number, plan, has_content));
    let journal = root::Journal { entries: entries.collect(), outcome: Some(outcome.clone()) };
    state.outcomes.begin(id, &journal.encode_to_vec())?;
    let done = if has_content { keep(state, authority, &plans, journal.clone()) } else { Ok(()) };
    let done = done.and_then(|()| Ok(authority.witness(grant)?));
    if let Err(error) = done.and_then(|()| exchange(&journal.entries, &plans, &mut outcome)) {
        // If this fails, recovery at the next start finds that nothing was changed.
        drop(state.undo.forget(id).and_then(|()| state.outcomes.withdraw(id)));
        return Err(error);
    }
    // If this cannot be written, recovery at the next start compares the files.
    drop(state.outcomes.end(id, &outcome));
    if let Some(undone) = authority.inverse.and_then(|inverse| OrderId::from_bytes(&inverse.content_id)) {
        drop(state.undo.forget(undone));
    }
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
    let (status, message, detail) = match swap::stage(&steps).and_then(|()| swap::swap(&steps)) {
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
