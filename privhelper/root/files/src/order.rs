//! The life of one order: parse, decide, open, compare, decide the facts, act.

use crate::change::{self, Change, To};
use crate::confined;
use crate::effect;
use crate::inverse::is_as_left;
use crate::path::Directory;
use crate::plan::{self, Granted, Opened};
use crate::stage;
use crate::state::State;
use postern_policy::types::Digest;
use postern_policy::{Code, Denied, VerbId};
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
    let accounts = state.host.common.accounts()?;
    let (host, policy) = (&state.host.common, &state.active.policy);
    let authority =
        Authority::new(host, policy, &accounts, &state.key, ordered, Purpose::Act(Some(envelope)))?;
    let (verb, mut changes) = parse(&authority)?;
    if authority.inverse.is_none() && step == Step::Whole {
        change::attach(&mut changes, ordered.contents.iter().cloned());
    }
    // Before anything that the order names is opened, and before an undo reads a byte of what it brings back.
    let grant = authority.decide(&change::required_grants(verb, &changes))?;
    let granted = plan::granted(&grant, &changes)?;
    let validators = stage::validators(&grant, &changes, &granted);
    let grant = match step {
        Step::Commit => {
            let contents = stage::commit(state, &authority, envelope, &changes, &granted, &validators)?;
            change::attach(&mut changes, contents);
            authority.decide(&change::required_grants(verb, &changes))?
        }
        Step::Whole if authority.inverse.is_some() => {
            bring_back(state, &authority, &mut changes)?;
            authority.decide(&change::required_grants(verb, &changes))?
        }
        Step::Whole => grant,
        Step::Validate | Step::Unspecified => {
            return Err(Denied::new(Code::Unsupported, "files has no such step").into());
        }
    };
    let _one_at_a_time = state.effect.lock().unwrap_or_else(PoisonError::into_inner);
    let (directories, opened) = open(state, &changes, &granted)?;
    compare(&authority, &opened)?;
    let grant = authority.decide_facts(grant, &plan::facts(&changes, &opened))?;
    let plans = plan::plan(&authority, &changes, opened)?;
    let is_effect = plans.iter().any(|plan| !plan.is_unchanged);
    if step == Step::Whole && is_effect && !validators.is_empty() {
        let staged = stage::stage(state, &authority, &plans, &granted, &directories, validators)?;
        let objects = plans.iter().map(|plan| plan.change.path.to_string()).collect();
        let outcome = authority.outcome(&grant, objects, wire::Completed::default());
        return Ok(Outcome { staged: Some(staged), ..outcome });
    }
    effect::act(state, &authority, &grant, verb, plans)
}

/// Tells the facts of a change: what is at each path, in the order of the changes.
///
/// # Errors
/// The change is refused, or its paths are.
pub fn inspect(state: &State, envelope: Option<&Envelope>, ordered: &Ordered) -> Result<root::Facts, Error> {
    let accounts = state.host.common.accounts()?;
    let (host, policy) = (&state.host.common, &state.active.policy);
    let authority = Authority::new(host, policy, &accounts, &state.key, ordered, Purpose::Facts(envelope))?;
    let (verb, changes) = parse(&authority)?;
    let grant = authority.decide(&change::required_grants(verb, &changes))?;
    let granted = plan::granted(&grant, &changes)?;
    let directories = plan::open_directories(&granted, state.host.root_uid)?;
    let opened = confined::reading(&directories, || {
        plan::open_all(&changes, &granted, &directories, state.host.root_uid)
    })?;
    if let Some(inverse) = authority.inverse {
        check_left(inverse, &opened)?;
    }
    authority.decide_facts(grant, &plan::facts(&changes, &opened))?;
    let files = opened.into_iter().map(|opened| opened.facts).collect();
    Ok(root::Facts { files, ..root::Facts::default() })
}

fn parse(authority: &Authority<'_>) -> Result<(VerbId, Vec<Change>), Error> {
    let (verb, body) = authority.effective()?;
    let changes = match authority.inverse {
        Some(inverse) => change::parse_inverse(verb, inverse)?,
        None => change::parse(verb, body, &authority.ordered.order.contents)?,
    };
    Ok((verb, changes))
}

fn open(
    state: &State,
    changes: &[Change],
    granted: &[Granted],
) -> Result<(Vec<Directory>, Vec<Opened>), Error> {
    let directories = plan::open_directories(granted, state.host.root_uid)?;
    let opened = plan::open_all(changes, granted, &directories, state.host.root_uid)?;
    Ok((directories, opened))
}

/// What is there must be what was decided about and perhaps approved; for an undo, what the effect left.
fn compare(authority: &Authority<'_>, opened: &[Opened]) -> Result<(), Denied> {
    if let Some(inverse) = authority.inverse {
        check_left(inverse, opened)?;
    }
    let decided = authority.ordered.order.facts.as_ref().map(|facts| facts.files.as_slice());
    if opened.iter().map(|opened| &opened.facts).eq(decided.unwrap_or_default()) {
        return Ok(());
    }
    let why = "a file changed after the request was decided; send it again";
    Err(Denied::new(Code::PreconditionFailed, why))
}

fn check_left(inverse: &root::Inverse, opened: &[Opened]) -> Result<(), Denied> {
    let left = inverse.left.as_ref().map(|left| left.files.as_slice()).unwrap_or_default();
    let is_left = |(opened, left): (&Opened, _)| is_as_left(&opened.facts, left);
    if left.len() == opened.len() && opened.iter().zip(left).all(is_left) {
        return Ok(());
    }
    Err(Denied::new(Code::UndoConflict, "a file has changed since; nothing is undone"))
}

/// Adds to an undo's changes what the files held, from the undo store.
fn bring_back(state: &State, authority: &Authority<'_>, changes: &mut [Change]) -> Result<(), Error> {
    let Some(inverse) = authority.inverse.filter(|inverse| !inverse.content_id.is_empty()) else {
        return Ok(());
    };
    let gone = || Denied::new(Code::UndoGone, "what the files held is no longer kept");
    let id = OrderId::from_bytes(&inverse.content_id).ok_or_else(gone)?;
    let kept = state.undo.read(id)?.filter(|kept| kept.journal.has_content).ok_or_else(gone)?;
    for change in changes {
        let entries = kept.journal.entries.iter().enumerate();
        let is_of = |entry: &root::JournalEntry| {
            entry.before.as_ref().is_some_and(|before| before.path == change.path.as_str())
        };
        let (at, entry) = entries.into_iter().find(|(_, entry)| is_of(entry)).ok_or_else(gone)?;
        let attributes = entry.attributes.clone();
        if let To::Content { sha256, content, .. } = &mut change.to {
            let bytes = kept.content_of(at).ok_or_else(gone)?;
            if Digest::of(&[bytes]) != *sha256 {
                return Err(Fault::Corrupt { what: "an undo copy" }.into());
            }
            *content = Some(Arc::from(bytes));
        }
        change.attributes = Some(crate::xattr::ExtendedAttributes::from_journal(attributes));
    }
    Ok(())
}
