//! The state that all connections share.

use crate::bus::Bus;
use crate::concurrency::{ConcurrencyLimit, Permit};
use crate::host::Host;
use postern_policy::{Code, Denied};
use postern_root::{ActivePolicy, Fault};
use std::time::Duration;

/// Longest wait for one of the connections that use apt.
const APT_WAIT_MAX: Duration = Duration::from_secs(60);

/// The state that all connections share.
#[derive(Debug)]
pub struct State {
    pub(crate) host: Host,
    pub(crate) policy: ActivePolicy,
    pub(crate) bus: Bus,
    apt: ConcurrencyLimit,
}

impl State {
    /// Loads the accepted policy.
    ///
    /// # Errors
    /// It cannot be read.
    pub fn open(host: Host) -> Result<Self, Fault> {
        let policy = ActivePolicy::load(&host.root)?;
        let bus = Bus::new(&host.bus)?;
        Ok(Self { host, policy, bus, apt: ConcurrencyLimit::default() })
    }

    /// Whether the policy is still the one that was loaded.
    #[must_use]
    pub fn is_current(&self) -> bool {
        self.policy.is_current()
    }

    /// Checks that PID 1 is systemd.
    pub(crate) fn need_systemd(&self) -> Result<(), Denied> {
        if self.host.systemd.exists() {
            return Ok(());
        }
        let why = "this host does not run systemd; packages and units need it";
        Err(Denied::new(Code::Unsupported, why))
    }

    /// Waits for a permit to run programs of apt.
    pub(crate) fn acquire_apt(&self) -> Result<Permit<'_>, Denied> {
        let busy =
            || Denied::new(Code::Busy, "too many requests about packages are under way; ask again later");
        self.apt.acquire(APT_WAIT_MAX).ok_or_else(busy)
    }
}
