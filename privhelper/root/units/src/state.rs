//! What all orders share, and what one order has.

use crate::host::Host;
use postern_root::{ActivePolicy, Authority, Connection, Fault, Key, store};
use std::os::unix::net::UnixStream;

/// What all orders share.
#[derive(Debug)]
pub struct State {
    pub(crate) host: Host,
    pub(crate) policy: ActivePolicy,
    pub(crate) key: Key,
    pub(crate) validator_key: Option<Key>,
}

/// One order that is carried out.
pub(crate) struct Work<'a> {
    pub state: &'a State,
    pub authority: &'a Authority<'a>,
    pub connection: &'a mut Connection<UnixStream>,
}

impl State {
    /// Loads policy and keys.
    ///
    /// # Errors
    /// They cannot be read.
    pub fn open(host: Host) -> Result<Self, Fault> {
        store::make_directory(&host.root.state.join("jobs"))?;
        let policy = ActivePolicy::load(&host.root)?;
        let key = Key::open(&host.root.state.join("key"))?;
        let validator_key = Key::read(&host.root.validator_key)?;
        Ok(Self { host, policy, key, validator_key })
    }

    /// Whether the policy is still the one that was loaded.
    #[must_use]
    pub fn is_current(&self) -> bool {
        self.policy.is_current()
    }
}
