//! The effect: journal first, then the new files beside the old ones, then the exchange of names; the outcome last.

use crate::change::To;
use crate::inverse::{after, inverse};
use crate::plan::{Plan, may_read};
use crate::state::State;
use crate::swap::{self, New, Step, SwapError};
use crate::target::changed;
use postern_policy::types::{Digest, FileKind};
use postern_policy::{Code, Denied, Grant};
use postern_proto::root::v1 as root;
use postern_proto::v1 as wire;
use postern_root::{Authority, Error, OrderId};

/// Most bytes of the files that one order replaces, where they are kept for undo.
const KEPT_MAX: u64 = 16 * 1024 * 1024;

/// Changes the files, all or none, and keeps the outcome.
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
    let plans = plans.into_iter().filter(|plan| !plan.is_unchanged).collect::<Vec<_>>();
    let status = if plans.is_empty() { wire::Status::Unchanged } else { wire::Status::Done };
    let has_content = plans.iter().any(|plan| plan.opened.replaced.is_some());
    // One rule that forbids it is enough: the content may be a secret.
    let is_kept = !plans.is_empty() && grant.rules().all(|rule| rule.keeps_copy);
    let inverse = is_kept.then(|| inverse(&state.key, authority, grant, &plans, has_content)).transpose()?;
    let inverse = inverse.flatten();
    let (status, undoable) = (status.into(), inverse.is_some());
    let completed = wire::Completed { status, files, undoable, ..wire::Completed::default() };
    let mut outcome = root::Outcome { inverse, ..authority.outcome(grant, objects, completed) };
    if plans.is_empty() {
        return Ok(outcome);
    }
    let has_content = has_content && outcome.inverse.is_some();
    state.outcomes.begin(id)?;
    let ended = keep(state, authority, &plans, &outcome, has_content)
        .and_then(|()| Ok(authority.witness(grant)?))
        .and_then(|()| exchange(id, &plans, &mut outcome));
    match ended {
        // If this cannot be written, the next start finds the journal and what is in place.
        Ok(()) => {
            let is_written = state.outcomes.end(id, &outcome).is_ok();
            if is_written && !has_content {
                drop(state.undo.forget(id));
            }
            if let Some(undone) =
                authority.inverse.and_then(|inverse| OrderId::from_bytes(&inverse.content_id))
            {
                drop(state.undo.forget(undone));
            }
            Ok(outcome)
        }
        Err(error) => {
            drop(state.undo.forget(id).and_then(|()| state.outcomes.withdraw(id)));
            Err(error)
        }
    }
}

/// The name under which the file of an entry waits beside its place. Only one order has this id, of one client.
fn temporary(id: OrderId, entry: usize) -> String {
    format!(".postern-{id}-{entry}")
}

/// Writes the journal, with what the files held where they are kept.
fn keep(
    state: &State,
    authority: &Authority<'_>,
    plans: &[Plan<'_>],
    outcome: &root::Outcome,
    has_content: bool,
) -> Result<(), Error> {
    let id = authority.ordered.id;
    let mut room = KEPT_MAX;
    let (mut entries, mut contents) = (Vec::new(), Vec::new());
    for (number, plan) in plans.iter().enumerate() {
        let replaced = plan.opened.replaced.as_ref().filter(|_| has_content);
        if let (Some(_), Some(target), Some(old)) = (replaced, &plan.opened.target, plan.opened.old)
            && old.kind == FileKind::File
        {
            room = room.checked_sub(old.size).ok_or_else(too_large)?;
            let content = target.content()?;
            if Digest::of(&[&content]) != old.sha256 {
                return Err(changed());
            }
            contents.push(content);
        }
        entries.push(root::JournalEntry {
            before: Some(plan.opened.facts.clone()),
            after: Some(after(plan)),
            inode: plan.opened.target.as_ref().map_or(0, |target| target.id.2),
            temporary: if matches!(plan.change.to, To::Attributes) {
                String::new()
            } else {
                temporary(id, number)
            },
            attributes: replaced.cloned().unwrap_or_default().into_journal(),
        });
    }
    let journal = root::Journal { entries, outcome: Some(outcome.clone()), has_content };
    // An operator's undo must not fail for want of room.
    let unbounded = root::UndoLimits { max_bytes: u64::MAX, max_count: u32::MAX, max_age_s: u64::MAX };
    let limits = if authority.by_operator() { unbounded } else { authority.policy.undo() };
    let uid = authority.ordered.order.uid;
    state.undo.keep((uid, id), &journal, &contents, limits, state.host.unix())
}

fn too_large() -> Denied {
    let why = "the files that are replaced are larger than 16 MiB together and would be kept for undo; \
               a rule with `keep_for_undo = false` does not keep them";
    Denied::new(Code::TooLarge, why)
}

/// Does the steps, and says in the outcome what is not as it should be.
fn exchange(id: OrderId, plans: &[Plan<'_>], outcome: &mut root::Outcome) -> Result<(), Error> {
    let temporaries = (0..plans.len()).map(|number| temporary(id, number)).collect::<Vec<_>>();
    let steps = plans.iter().zip(&temporaries).map(|(plan, temporary)| step(plan, temporary));
    let steps = steps.collect::<Vec<_>>();
    swap::stage(&steps)?;
    let (message, detail) = match swap::swap(&steps) {
        Ok(None) => return Ok(()),
        Ok(Some(error)) => ("the change is in place, but cleaning up after it failed", error.detail()),
        Err(SwapError::TakenBack(error)) => return Err(error),
        Err(SwapError::Torn(detail)) => {
            // The undo copy stays for a person.
            outcome.inverse = None;
            ("the change failed in the middle and could not be taken back; look at the files", detail)
        }
    };
    note(outcome, wire::Status::Partly, Code::Interrupted, message, detail);
    Ok(())
}

/// Sets status, code and words of an outcome.
pub fn note(outcome: &mut root::Outcome, status: wire::Status, code: Code, message: &str, detail: String) {
    outcome.detail = detail;
    if let Some(completed) = &mut outcome.completed {
        (completed.status, completed.undoable) = (status.into(), outcome.inverse.is_some());
        code.as_str().clone_into(&mut completed.code);
        message.clone_into(&mut completed.message);
    }
}

fn step<'a>(plan: &'a Plan<'_>, temporary: &'a str) -> Step<'a> {
    let new = match &plan.change.to {
        To::Content(content, _) => New::File(content, plan.attributes),
        To::Directory => New::Directory(plan.attributes),
        To::Attributes => New::Attributes(plan.attributes),
        To::Removed | To::RemovedDirectory => New::Nothing,
    };
    Step {
        parent: &plan.opened.parent,
        name: plan.change.path().split().1,
        temporary,
        old: plan.opened.target.as_ref(),
        new,
        attributes: plan.opened.replaced.as_ref().or(plan.change.attributes.as_ref()),
    }
}

/// A path as it is afterwards. Content that the client did not write itself is told only to a reader.
fn info(authority: &Authority<'_>, plan: &Plan<'_>) -> wire::FileInfo {
    let after = after(plan);
    if !after.exists {
        return wire::FileInfo { path: after.path, ..wire::FileInfo::default() };
    }
    let (accounts, attributes) = (authority.accounts, plan.attributes);
    let is_written = matches!(plan.change.to, To::Content(..));
    let is_known = is_written && (authority.inverse.is_none() || may_read(authority, plan.change.path()));
    let r#type = if after.directory { wire::FileType::Directory } else { wire::FileType::File };
    wire::FileInfo {
        path: after.path,
        r#type: r#type.into(),
        size: if is_known { after.size } else { 0 },
        mode: attributes.mode.to_string(),
        owner: accounts.user_name(attributes.uid).map_or_else(|| attributes.uid.to_string(), str::to_owned),
        group: accounts.group_name(attributes.gid).map_or_else(|| attributes.gid.to_string(), str::to_owned),
        sha256: if is_known {
            Digest::from_bytes(&after.sha256).unwrap_or_default().to_string()
        } else {
            String::new()
        },
        mtime_unix_s: 0,
    }
}
