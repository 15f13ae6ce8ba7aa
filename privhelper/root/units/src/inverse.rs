//! Inverses of changes of units and of commands, signed by this program.

use crate::state::State;
use postern_policy::facts::UnitState;
use postern_policy::request::UnitRequest;
use postern_policy::types::Arguments;
use postern_policy::{Command, Decision, Grant, VerbId};
use postern_proto::root::v1 as root;
use postern_proto::v1::{
    CommandRunRequest, Completed, Parameter, Status, UnitDisableRequest, UnitEnableRequest, UnitMaskRequest,
    UnitStartRequest, UnitStopRequest, UnitUnmaskRequest,
};
use postern_root::{Authority, Fault};
use prost::Message;

/// The inverse of a change of a unit; none where nothing changed, or one request does not bring the state back.
///
/// # Errors
/// It cannot be signed.
pub fn of_unit(
    state: &State,
    authority: &Authority<'_>,
    grant: &Grant,
    request: &UnitRequest,
    before: &UnitState,
    completed: &Completed,
) -> Result<Option<root::Inverse>, Fault> {
    let Some(after) = completed.unit.as_ref().filter(|_| completed.status() == Status::Done) else {
        return Ok(None);
    };
    let is_up = |active: &str| matches!(active, "active" | "activating" | "reloading" | "refreshing");
    let (was_up, up) = (is_up(&before.active), is_up(&after.active));
    let (unit, now) = (request.unit.to_string(), was_up != up);
    let meta = None;
    let is_changed = before.enabled != after.enabled;
    let (verb, body) = if request.verb == VerbId::UnitStart && now {
        (VerbId::UnitStop, UnitStopRequest { meta, unit }.encode_to_vec())
    } else if request.verb == VerbId::UnitStop && now {
        (VerbId::UnitStart, UnitStartRequest { meta, unit }.encode_to_vec())
    } else if request.verb == VerbId::UnitEnable && is_changed {
        (VerbId::UnitDisable, UnitDisableRequest { meta, unit, now }.encode_to_vec())
    } else if request.verb == VerbId::UnitDisable && is_changed {
        (VerbId::UnitEnable, UnitEnableRequest { meta, unit, now }.encode_to_vec())
    } else if request.verb == VerbId::UnitMask && !now {
        // Unmasking starts nothing: one request does not bring back what masking stopped.
        (VerbId::UnitUnmask, UnitUnmaskRequest { meta, unit }.encode_to_vec())
    } else if request.verb == VerbId::UnitUnmask {
        (VerbId::UnitMask, UnitMaskRequest { meta, unit, now: false }.encode_to_vec())
    } else {
        return Ok(None);
    };
    let left = root::UnitState {
        id: after.id.clone(),
        active: after.active.clone(),
        enabled: after.enabled.clone(),
        ..root::UnitState::default()
    };
    let left = root::UnitFacts { unit: Some(left), affected: Vec::new() };
    let left = Some(root::Facts { unit: Some(left), ..root::Facts::default() });
    let unsigned = root::Inverse { verb: verb.name().to_owned(), body, left, ..unsigned(authority, grant) };
    state.key.sign(unsigned).map(Some)
}

/// The inverse of a command: the one that its row names, with the same values but secrets; none where it names none.
///
/// # Errors
/// It cannot be signed.
pub fn of_command(
    state: &State,
    authority: &Authority<'_>,
    grant: &Grant,
    row: &Command,
    arguments: &Arguments,
) -> Result<Option<root::Inverse>, Fault> {
    let Some(reverse) = authority.policy.reverse(row.name.as_str()) else { return Ok(None) };
    let is_taken =
        |name: &str| reverse.parameters.iter().any(|(known, _)| known == name) && !row.is_secret(name);
    let taken = arguments.iter().filter(|(name, _)| is_taken(name));
    let parameters = taken.map(|(name, value)| Parameter { name: name.to_owned(), value: value.to_owned() });
    let body =
        CommandRunRequest { meta: None, name: reverse.name.to_string(), parameters: parameters.collect() };
    let (verb, body) = (VerbId::CommandRun.name().to_owned(), body.encode_to_vec());
    state.key.sign(root::Inverse { verb, body, ..unsigned(authority, grant) }).map(Some)
}

fn unsigned(authority: &Authority<'_>, grant: &Grant) -> root::Inverse {
    let order = &authority.ordered.order;
    root::Inverse {
        family: "units".to_owned(),
        order_id: order.order_id.clone(),
        uid: order.uid,
        rules: Authority::rules(grant),
        needs_person: grant.decision() == Decision::Ask,
        ..root::Inverse::default()
    }
}
