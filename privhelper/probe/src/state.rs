//! The state that all connections share.

use crate::bus::Bus;
use crate::gate::{Gate, Pass};
use crate::host::Host;
use postern_policy::{Code, Denied};
use postern_root::{ActivePolicy, Fault};
use std::time::Duration;

/// Longest wait until fewer ask apt.
const PATIENCE: Duration = Duration::from_secs(60);

/// The state that all connections share.
#[derive(Debug)]
pub struct State {
    pub(crate) host: Host,
    pub(crate) policy: ActivePolicy,
    pub(crate) bus: Bus,
    apt: Gate,
}

impl State {
    /// Loads the accepted policy.
    ///
    /// # Errors
    /// It cannot be read.
    pub fn open(host: Host) -> Result<Self, Fault> {
        let policy = ActivePolicy::load(&host.root)?;
        let bus = Bus::new(&host.bus)?;
        Ok(Self { host, policy, bus, apt: Gate::default() })
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

    /// Waits until apt may be asked.
    pub(crate) fn enter_apt(&self) -> Result<Pass<'_>, Denied> {
        let busy =
            || Denied::new(Code::Busy, "too many requests about packages are under way; ask again later");
        self.apt.enter(PATIENCE).ok_or_else(busy)
    }
}
