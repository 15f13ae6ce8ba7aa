//! The state that all orders share, and the state of one order.

use crate::host::Host;
use postern_root::{Authority, Connection, Fault, Key, OrderId, store};
use std::os::unix::net::UnixStream;
use std::sync::{Mutex, MutexGuard, PoisonError};

/// The state that all orders share.
#[derive(Debug)]
pub struct State {
    pub(crate) host: Host,
    pub(crate) key: Key,
    /// The orders under way in this process, also before PID 1 has their units.
    pub(crate) running: Mutex<Vec<OrderId>>,
}

/// One order under way.
pub(crate) struct Work<'a> {
    pub state: &'a State,
    pub authority: &'a Authority<'a>,
    pub connection: &'a mut Connection<UnixStream>,
}

impl State {
    /// Loads the key of inverses. The policy is loaded anew for each order: an order of an hour must not keep the next
    /// policy waiting.
    ///
    /// # Errors
    /// It cannot be read.
    pub fn open(host: Host) -> Result<Self, Fault> {
        store::make_directory(&host.root.state.join("jobs"))?;
        let key = Key::open(&host.root.state.join("key"))?;
        Ok(Self { host, key, running: Mutex::default() })
    }

    pub(crate) fn running(&self) -> MutexGuard<'_, Vec<OrderId>> {
        self.running.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
