//! Requests about a client's own requests.

use crate::error::Invalid;
use crate::rules::{Decision, Object, RequiredGrant};
use crate::types::RequestId;
use crate::verb_id::VerbId;
use postern_proto::v1 as wire;

pub(super) fn result(wire: &wire::RequestResultRequest) -> Result<RequestId, Invalid> {
    of(&wire.of)
}

pub(super) fn undo(wire: &wire::RequestUndoRequest) -> Result<RequestId, Invalid> {
    of(&wire.of)
}

fn of(text: &str) -> Result<RequestId, Invalid> {
    RequestId::new(text).map_err(|invalid| Invalid { field: "of", ..invalid })
}

/// What an undo needs besides the grants of its inverse: each rule that let the request through must list
/// `request.undo`. `least`: the decision of that request, which its undo does not fall below.
#[must_use]
pub fn undo_grants(rules: &[String], least: Decision) -> Vec<RequiredGrant> {
    let mut rules = rules.to_vec();
    rules.sort_unstable();
    rules.dedup();
    rules.into_iter().map(|rule| (VerbId::RequestUndo, Object::Undo { rule, least })).collect()
}
