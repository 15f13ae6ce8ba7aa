//! Inverses of changes of units and of commands, signed by this program.

use crate::state::State;
use postern_policy::facts::UnitState;
use postern_policy::request::UnitRequest;
use postern_policy::types::Arguments;
use postern_policy::{Command, Grant, VerbId};
use postern_proto::root::v1 as root;
use postern_proto::v1::{
    CommandRunRequest, Completed, Parameter, Status, UnitDisableRequest, UnitEnableRequest, UnitMaskRequest,
    UnitStartRequest, UnitStopRequest, UnitUnmaskRequest,
};
use postern_root::Authority;
use prost::Message;

/// Returns the inverse of a change of a unit; none if nothing changed, or one request does not restore the state.
pub fn of_unit(
    state: &State,
    authority: &Authority<'_>,
    grant: &Grant,
    request: &UnitRequest,
    before: &UnitState,
    completed: &Completed,
) -> Option<root::Inverse> {
    let after = completed.unit.as_ref().filter(|_| completed.status() == Status::Done)?;
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
        // Unmasking starts nothing: one request does not restart the unit that masking stopped.
        (VerbId::UnitUnmask, UnitUnmaskRequest { meta, unit }.encode_to_vec())
    } else if request.verb == VerbId::UnitUnmask {
        (VerbId::UnitMask, UnitMaskRequest { meta, unit, now: false }.encode_to_vec())
    } else {
        return None;
    };
    let left = root::UnitState {
        id: after.id.clone(),
        active: after.active.clone(),
        enabled: after.enabled.clone(),
        ..root::UnitState::default()
    };
    let left = root::UnitFacts { unit: Some(left), affected: Vec::new() };
    let left = Some(root::Facts { unit: Some(left), ..root::Facts::default() });
    let inverse = authority.inverse_of(grant, verb, body);
    Some(state.key.sign(root::Inverse { left, ..inverse }))
}

/// Returns the inverse of a command: the `reverse` of its row, with the same values except secrets; none if the row has
/// none, or it needs other values.
pub fn of_command(
    state: &State,
    authority: &Authority<'_>,
    grant: &Grant,
    row: &Command,
    arguments: &Arguments,
) -> Option<root::Inverse> {
    let reverse = authority.policy.command(&row.wire.reverse)?;
    let is_taken =
        |name: &str| reverse.parameters.iter().any(|(known, _)| known == name) && !row.is_secret(name);
    let taken = arguments.iter().filter(|(name, _)| is_taken(name));
    let parameters = taken.map(|(name, value)| Parameter { name: name.to_owned(), value: value.to_owned() });
    let parameters = parameters.collect::<Vec<_>>();
    if parameters.len() != reverse.parameters.len() {
        return None;
    }
    let body = CommandRunRequest { meta: None, name: reverse.name.to_string(), parameters };
    let inverse = authority.inverse_of(grant, VerbId::CommandRun, body.encode_to_vec());
    Some(state.key.sign(inverse))
}

/// Whether a unit of this state is up, or coming up.
pub fn is_up(active: &str) -> bool {
    matches!(active, "active" | "activating" | "reloading" | "refreshing")
}
