//! Requests about a client's own requests.

use crate::error::Invalid;
use crate::rules::{Decision, Object, RequiredGrant};
use crate::types::RequestId;
use crate::verb_id::VerbId;

/// The id of the request that another one is about.
pub(super) fn of(text: &str) -> Result<RequestId, Invalid> {
    RequestId::new(text).map_err(|invalid| Invalid { field: "of", ..invalid })
}

/// Returns the grants of an undo besides those of its inverse: each rule that granted the request must list
/// `request.undo`. `least`: the decision of that request, which its undo does not fall below.
pub fn undo_grants(rules: &[String], least: Decision) -> Vec<RequiredGrant> {
    let mut rules = rules.to_vec();
    rules.sort_unstable();
    rules.dedup();
    rules.into_iter().map(|rule| (VerbId::RequestUndo, Object::Undo { rule, least })).collect()
}
