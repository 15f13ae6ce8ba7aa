//! The runbooks that a task knows.

use crate::runbooks::Runbook;
use std::sync::Arc;

/// Runbooks of this host as a task knows them.
#[derive(Debug, Default)]
pub struct Reviewed {
    /// Those that were read without a fault.
    pub all: Arc<Vec<Runbook>>,
    /// The prompt names some, so that the model gets the tool.
    pub is_offered: bool,
}
