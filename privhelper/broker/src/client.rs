//! The client of a request, and the policy that decides it from the first step to the last.

use postern_policy::types::TargetPath;
use postern_policy::{Identity, Object, Policy, VerbId};
use std::sync::Arc;

/// A client of the accepted policy.
#[derive(Debug)]
pub struct Client {
    /// The accepted policy.
    pub policy: Arc<Policy>,
    /// The names of the client's uid.
    pub identity: Identity,
}

impl Client {
    /// Whether the client may read a file without asking anybody.
    #[must_use]
    pub fn may_read(&self, path: &TargetPath) -> bool {
        self.policy.grants(&self.identity, VerbId::FileRead, &Object::read(path.clone()))
    }
}
