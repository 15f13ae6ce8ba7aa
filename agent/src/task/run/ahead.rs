//! What came of a call before its turn.

use crate::ask::Outcome;
use crate::request::Request;

/// What came of a call before its turn.
#[derive(Debug)]
pub struct Ahead {
    /// The step that it is.
    pub number: usize,
    /// What was asked for.
    pub request: Request,
    /// How it ended.
    pub outcome: Outcome,
}
