//! Requests about a client's own requests.

use crate::error::Invalid;
use crate::rules::{Decision, Object, RequiredGrant};
use crate::types::{Digest, RequestId};
use crate::verb_id::VerbId;
use postern_proto::v1::AgentNoteRequest;

/// The id of the request that another one is about.
pub(super) fn of(text: &str) -> Result<RequestId, Invalid> {
    RequestId::new(text).map_err(|invalid| Invalid { field: "of", ..invalid })
}

/// A statement of a client about what is its own.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Statement {
    /// `request.keep` of this id.
    Keep(RequestId),
    /// `agent.note`: number and hash at the end of a record that it keeps of itself.
    Note(u64, Digest),
}

impl Statement {
    pub(super) fn note(wire: &AgentNoteRequest) -> Result<Self, Invalid> {
        let tip = Digest::from_bytes(&wire.tip).ok_or(Invalid::new("tip", "must be 32 bytes"))?;
        Ok(Self::Note(wire.seq, tip))
    }
}

/// Returns the grants of an undo besides those of its inverse: each rule that granted the request must list
/// `request.undo`. `least`: the decision of that request, which its undo does not fall below.
pub fn undo_grants(rules: &[String], least: Decision) -> Vec<RequiredGrant> {
    let mut rules = rules.to_vec();
    rules.sort_unstable();
    rules.dedup();
    rules.into_iter().map(|rule| (VerbId::RequestUndo, Object::Undo { rule, least })).collect()
}
