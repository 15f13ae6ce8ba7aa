//! The life of one order: parse, decide, open, compare, decide the facts, act.

use crate::change::{self, Change, Plan};
use crate::confine;
use crate::effect;
use crate::recover::{is_as_left, path_of};
use crate::stage;
use crate::state::State;
use crate::xattr::ExtendedAttributes;
use postern_proto::root::v1::{self as root, Outcome, Step};
use postern_proto::v1 as wire;
use postern_root::{Authority, Code, Denied, Error, Ordered};
use std::sync::PoisonError;

/// Carries out an `Execute`.
///
/// # Errors
/// Nothing was changed.
pub fn execute(state: &State, ordered: &Ordered) -> Result<Outcome, Error> {
    let step = ordered.step();
    let accounts = state.host.accounts()?;
    let authority = state.authority(&accounts, ordered)?;
    // Before any path of the order is opened, and before an undo reads its copy.
    let (_, changes) = change::decide(&authority, None)?;
    let kept = state.undo.read_for(authority.inverse)?;
    let entry_of = |change: &Change| kept.iter().find(|entry| path_of(entry) == change.path().as_str());
    let (contents, agreed) = match step {
        Step::Commit => state.stages.commit(&authority, &changes)?,
        Step::Whole if authority.inverse.is_none() => (ordered.contents.clone(), None),
        Step::Whole => {
            let old = |change: &Change| entry_of(change).map(|entry| entry.content.clone());
            (change::contents(&changes, |change| Ok(old(change).unwrap_or_default()))?, None)
        }
        Step::Validate | Step::Unspecified => {
            return Err(Denied::new(Code::Unsupported, "postern-files has no such step").into());
        }
    };
    let (grant, mut changes) = change::decide(&authority, Some(contents))?;
    for change in &mut changes {
        let kept = entry_of(change).map(|entry| entry.attributes.clone());
        change.attributes = kept.map(ExtendedAttributes);
    }
    // The rules that decide depend on the content.
    let validators = stage::required(&grant, &changes);
    if agreed.is_some_and(|agreed| agreed != validators) {
        return Err(stage::is_another().into());
    }
    let _one_at_a_time = state.effect.lock().unwrap_or_else(PoisonError::into_inner);
    let directories = change::open_directories(&authority, &changes)?;
    let plans = change::plan_all(&authority, &grant, &changes, &directories)?;
    compare(&authority, &plans)?;
    let grant = authority.decide_facts(grant, &change::facts(&plans))?;
    plans.iter().try_for_each(Plan::check_expected)?;
    let is_effect = plans.iter().any(|plan| !plan.is_unchanged());
    if step == Step::Whole && is_effect && !validators.is_empty() {
        let staged = state.stages.stage(&authority, &plans, validators)?;
        let objects = plans.iter().map(|plan| plan.change.path().to_string()).collect();
        let outcome = authority.outcome(&grant, objects, wire::Completed::default(), None);
        return Ok(Outcome { staged: Some(staged), ..outcome });
    }
    effect::act(state, &authority, &grant, plans)
}

/// Returns the facts of a change: the file at each path, in the order of the changes.
///
/// # Errors
/// The change is refused, or its paths are.
pub fn inspect(state: &State, ordered: &Ordered) -> Result<root::Facts, Error> {
    let accounts = state.host.accounts()?;
    let authority = state.authority(&accounts, ordered)?;
    let (grant, changes) = change::decide(&authority, None)?;
    let directories = change::open_directories(&authority, &changes)?;
    confine::give_up_writing(&directories)?;
    let plans = change::plan_all(&authority, &grant, &changes, &directories)?;
    if let Some(inverse) = authority.inverse {
        check_left(inverse, &plans)?;
    }
    authority.decide_facts(grant, &change::facts(&plans))?;
    let files = plans.into_iter().map(|plan| plan.facts).collect();
    Ok(root::Facts { files, ..root::Facts::default() })
}

/// Checks that the files are those that were decided and perhaps approved; for an undo, as the effect left them.
fn compare(authority: &Authority<'_>, plans: &[Plan<'_>]) -> Result<(), Denied> {
    if let Some(inverse) = authority.inverse {
        check_left(inverse, plans)?;
        // An operator's undo has no facts in its order: the files must be as the effect left them.
        if authority.by_operator {
            return Ok(());
        }
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
