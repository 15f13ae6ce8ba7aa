//! Paths and clocks of the host, as values that tests replace.

use nix::time::{ClockId, clock_gettime};
use std::path::PathBuf;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

/// Paths and clocks of this host.
#[derive(Debug, Clone)]
pub struct Host {
    /// The accepted policy.
    pub accepted: PathBuf,
    /// passwd(5).
    pub passwd: PathBuf,
    /// group(5).
    pub group: PathBuf,
    /// The broker's own directory.
    pub directory: PathBuf,
    /// The socket that starts a gateway per connection.
    pub gateway_socket: PathBuf,
    /// The recorder.
    pub recorder_socket: PathBuf,
    /// The probe.
    pub probe_socket: PathBuf,
    /// The wall clock.
    pub now: fn() -> SystemTime,
    /// Time since boot, sleep included.
    pub since_boot: fn() -> Duration,
}

impl Host {
    /// The host as an installed Postern finds it.
    #[must_use]
    pub fn real() -> Self {
        let internal = PathBuf::from("/run/postern/internal");
        Self {
            accepted: "/var/lib/postern-policy/accepted.pb".into(),
            passwd: "/etc/passwd".into(),
            group: "/etc/group".into(),
            directory: "/var/lib/postern-broker".into(),
            gateway_socket: internal.join("gateway.sock"),
            recorder_socket: internal.join("recorder.sock"),
            probe_socket: internal.join("probe.sock"),
            now: SystemTime::now,
            since_boot,
        }
    }

    /// Returns the time since 1970.
    #[must_use]
    pub fn unix(&self) -> Duration {
        (self.now)().duration_since(UNIX_EPOCH).unwrap_or_default()
    }
}

/// Returns the time since boot; 0 if the clock cannot be read, so that budgets do not refill.
fn since_boot() -> Duration {
    clock_gettime(ClockId::CLOCK_BOOTTIME).map(Duration::from).unwrap_or_default()
}
