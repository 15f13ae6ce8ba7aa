//! The life of one order: parse, decide, open, compare, decide the facts, act.

use crate::change::{self, Change, To};
use crate::confine;
use crate::effect;
use crate::inverse::is_as_left;
use crate::plan::{self, Plan};
use crate::stage::Validation;
use crate::state::State;
use crate::undo_store::Kept;
use crate::xattr::ExtendedAttributes;
use postern_policy::types::Digest;
use postern_policy::{Code, Denied};
use postern_proto::root::v1::{self as root, Envelope, Outcome, Step};
use postern_proto::v1 as wire;
use postern_root::authority::Purpose;
use postern_root::{Authority, Error, Fault, OrderId, Ordered};
use std::sync::{Arc, PoisonError};

/// Does what an `Execute` orders.
///
/// # Errors
/// Nothing was changed.
pub fn execute(state: &State, envelope: &Envelope, step: Step, ordered: &Ordered) -> Result<Outcome, Error> {
    let accounts = state.host.accounts()?;
    let (host, policy) = (&state.host, &state.active.policy);
    let authority =
        Authority::new(host, policy, &accounts, &state.key, ordered, Purpose::Act(Some(envelope)))?;
    // Before anything that the order names is opened, and before an undo reads a byte of what it brings back.
    let is_known = authority.inverse.is_none() && step == Step::Whole;
    let contents = if is_known { ordered.contents.clone() } else { unknown(&authority) };
    let (mut grant, mut changes) = change::decide(&authority, contents)?;
    let validation = Validation::of(&grant, &changes);
    if !is_known {
        let kept = kept(state, &authority)?;
        let contents = match step {
            Step::Commit => state.stages.commit(&authority, envelope, &changes, &validation)?,
            Step::Whole => contents_of(kept.as_ref(), &changes)?,
            Step::Validate | Step::Unspecified => {
                return Err(Denied::new(Code::Unsupported, "files has no such step").into());
            }
        };
        (grant, changes) = change::decide(&authority, contents)?;
        for change in &mut changes {
            let entry = kept.as_ref().and_then(|kept| kept.of(change.path().as_str()));
            change.attributes =
                entry.map(|(entry, _)| ExtendedAttributes::from_journal(entry.attributes.clone()));
        }
    }
    let _one_at_a_time = state.effect.lock().unwrap_or_else(PoisonError::into_inner);
    let directories = plan::open_directories(&changes, state.host.root_uid)?;
    let plans = plan::plan_all(&authority, &changes, &directories, state.host.root_uid)?;
    compare(&authority, &plans)?;
    let grant = authority.decide_facts(grant, &plan::facts(&plans))?;
    plans.iter().try_for_each(|plan| plan.check_expected(&authority))?;
    let is_effect = plans.iter().any(|plan| !plan.is_unchanged());
    if step == Step::Whole && is_effect && !validation.validators.is_empty() {
        let staged = state.stages.stage(&authority, &plans, validation)?;
        let objects = plans.iter().map(|plan| plan.change.path().to_string()).collect();
        let outcome = authority.outcome(&grant, objects, wire::Completed::default());
        return Ok(Outcome { staged: Some(staged), ..outcome });
    }
    effect::act(state, &authority, &grant, plans)
}

/// Tells the facts of a change: what is at each path, in the order of the changes.
///
/// # Errors
/// The change is refused, or its paths are.
pub fn inspect(state: &State, envelope: Option<&Envelope>, ordered: &Ordered) -> Result<root::Facts, Error> {
    let accounts = state.host.accounts()?;
    let (host, policy) = (&state.host, &state.active.policy);
    let authority = Authority::new(host, policy, &accounts, &state.key, ordered, Purpose::Facts(envelope))?;
    let (grant, changes) = change::decide(&authority, unknown(&authority))?;
    let directories = plan::open_directories(&changes, state.host.root_uid)?;
    confine::give_up_writing(&directories)?;
    let plans = plan::plan_all(&authority, &changes, &directories, state.host.root_uid)?;
    if let Some(inverse) = authority.inverse {
        check_left(inverse, &plans)?;
    }
    authority.decide_facts(grant, &plan::facts(&plans))?;
    let files = plans.into_iter().map(|plan| plan.facts).collect();
    Ok(root::Facts { files, ..root::Facts::default() })
}

/// In place of content that is not at hand: it is decided again with it.
fn unknown(authority: &Authority<'_>) -> Vec<Arc<[u8]>> {
    vec![Arc::default(); authority.contents().len()]
}

/// What is there must be what was decided about and perhaps approved; for an undo, what the effect left.
fn compare(authority: &Authority<'_>, plans: &[Plan<'_>]) -> Result<(), Denied> {
    if let Some(inverse) = authority.inverse {
        check_left(inverse, plans)?;
    }
    let decided = authority.ordered.order.facts.as_ref().map(|facts| facts.files.as_slice());
    if plans.iter().map(|plan| &plan.facts).eq(decided.unwrap_or_default()) {
        return Ok(());
    }
    let why = "a file changed after the request was decided; send it again";
    Err(Denied::new(Code::PreconditionFailed, why))
}

fn check_left(inverse: &root::Inverse, plans: &[Plan<'_>]) -> Result<(), Denied> {
    let left = inverse.left.as_ref().map(|left| left.files.as_slice()).unwrap_or_default();
    let is_left = |(plan, left): (&Plan<'_>, _)| is_as_left(&plan.facts, left);
    if left.len() == plans.len() && plans.iter().zip(left).all(is_left) {
        return Ok(());
    }
    Err(Denied::new(Code::UndoConflict, "a file has changed since; nothing is undone"))
}

/// The undo copy that an undo brings back; none where it needs none.
fn kept(state: &State, authority: &Authority<'_>) -> Result<Option<Kept>, Error> {
    let Some(inverse) = authority.inverse.filter(|inverse| !inverse.content_id.is_empty()) else {
        return Ok(None);
    };
    let id = OrderId::from_bytes(&inverse.content_id).ok_or_else(gone)?;
    Ok(Some(state.undo.read(id)?.ok_or_else(gone)?))
}

fn gone() -> Denied {
    Denied::new(Code::UndoGone, "what the files held is no longer kept")
}

/// What the files held that these changes bring back.
fn contents_of(kept: Option<&Kept>, changes: &[Change]) -> Result<Vec<Arc<[u8]>>, Error> {
    let mut contents = Vec::new();
    for change in changes {
        let To::Content(_, sha256) = &change.to else { continue };
        let entry = kept.and_then(|kept| kept.of(change.path().as_str()));
        let (_, content) = entry.ok_or_else(gone)?;
        if Digest::of(&[content]) != *sha256 {
            return Err(Fault::Corrupt { what: "an undo copy" }.into());
        }
        contents.push(content.into());
    }
    Ok(contents)
}
