//! Where the log and its keys are, and where the log ends.

use std::path::PathBuf;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

/// Where the log and the seal's keys are, and the clocks.
#[derive(Debug, Clone)]
pub struct Location {
    /// The log's directory.
    pub log: PathBuf,
    /// The next epoch's seed, on the disk.
    pub next: PathBuf,
    /// This boot's keys, in memory alone.
    pub running: PathBuf,
    /// The journal's socket.
    pub journal: PathBuf,
    /// This boot's id, as the kernel writes it.
    pub boot_id: String,
    /// The wall clock.
    pub now: fn() -> SystemTime,
    /// Time since boot, sleep included.
    pub since_boot: fn() -> Duration,
}

impl Location {
    /// Returns the time since 1970.
    pub fn unix(&self) -> Duration {
        (self.now)().duration_since(UNIX_EPOCH).unwrap_or_default()
    }

    /// Returns the time since boot, in microseconds.
    pub fn boot_us(&self) -> u64 {
        u64::try_from((self.since_boot)().as_micros()).unwrap_or(u64::MAX)
    }
}
