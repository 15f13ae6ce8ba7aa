//! Results of calls that were sent before their turn.

use crate::client::pending_request::Outcome;
use crate::protocol::request::Request;

/// Result of a call that was run before its turn.
#[derive(Debug)]
pub struct EarlyResult {
    /// The step that it is.
    pub number: usize,
    /// The request.
    pub request: Request,
    /// How it ended.
    pub outcome: Outcome,
}
