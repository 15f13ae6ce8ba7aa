//! Results of calls that were sent before their turn.

use crate::client::pending_request::Outcome;
use crate::protocol::request::Request;

/// What came of a call before its turn.
#[derive(Debug)]
pub struct EarlyResult {
    /// The step that it is.
    pub number: usize,
    /// What was asked for.
    pub request: Request,
    /// How it ended.
    pub outcome: Outcome,
}
