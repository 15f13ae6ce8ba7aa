//! `[audit]` of the policy: how long the log is kept, and how much of it is a client's.

use postern_proto::root::v1::AuditLimits;
use std::time::Duration;

const DAY: u64 = 24 * 60 * 60;

/// What holds; what a policy does not say has the defaults of CONTRACTS 5 and 7.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Limits {
    /// A larger file is put away.
    pub max_bytes: u64,
    /// An older file is put away.
    pub max_age: Duration,
    /// So many files that were put away stay.
    pub keep_files: usize,
    /// Whatever their number, none goes that was written within this time.
    pub keep: Duration,
    /// How often the tip is signed and told to the journal.
    pub tip_interval: Duration,
    /// Records of one client's uid within a minute.
    pub per_minute: u32,
    /// And within an hour.
    pub per_hour: u32,
}

impl Default for Limits {
    fn default() -> Self {
        Self::new(&AuditLimits::default())
    }
}

impl Limits {
    /// Those of an accepted policy; 0 = not said.
    #[must_use]
    pub fn new(said: &AuditLimits) -> Self {
        let or = |said: u64, default: u64| if said == 0 { default } else { said };
        let small = |said: u32, default: u32| if said == 0 { default } else { said };
        let days = |said: u32, default| Duration::from_secs(DAY.saturating_mul(small(said, default).into()));
        Self {
            max_bytes: or(said.max_bytes, 64 * 1024 * 1024),
            max_age: days(said.max_days, 30),
            keep_files: usize::try_from(small(said.keep_files, 30)).unwrap_or(usize::MAX),
            keep: days(said.keep_days, 30),
            tip_interval: Duration::from_secs(or(said.tip_interval_s, 600)),
            per_minute: small(said.records_per_minute, 60),
            per_hour: small(said.records_per_hour, 2000),
        }
    }
}
