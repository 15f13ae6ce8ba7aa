//! `[audit]` of the policy: size and age of the log, and budgets of records.

use postern_proto::root::v1::AuditLimits;
use std::time::Duration;

const DAY: u64 = 24 * 60 * 60;
/// Least bytes a day, also with a smaller configured log.
const DAY_BYTES_MIN: u64 = 16 * 1024 * 1024;
/// Retention of request ids, which the log holds: 24 h and 5 min of clock skew, rounded up.
pub const IDS: Duration = Duration::from_secs(25 * 60 * 60);

/// The limits, with the defaults of `privhelper/audit/AUDIT.md` for those that the policy does not set.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Limits {
    /// A larger file is rotated.
    pub max_bytes: u64,
    /// An older file is rotated.
    pub max_age: Duration,
    /// The number of rotated files that are kept.
    pub keep_files: usize,
    /// No file that was written within this time is removed, whatever their number.
    pub keep: Duration,
    /// How often the tip is signed and sent to the journal.
    pub tip_interval: Duration,
    /// Effects of one uid within a minute; ten times as many reads and checks.
    pub per_minute: u32,
    /// And within an hour.
    pub per_hour: u32,
    /// Bytes that all clients together, or all operators, may add within a day: what the kept files hold, by their days.
    pub day_bytes: u64,
}

impl Default for Limits {
    fn default() -> Self {
        Self::new(&AuditLimits::default())
    }
}

impl Limits {
    /// Reads those of an accepted policy; 0 = the default.
    pub fn new(set: &AuditLimits) -> Self {
        let or = |set: u64, default: u64| if set == 0 { default } else { set };
        let small = |set: u32, default: u32| if set == 0 { default } else { set };
        let days = |set: u32| Duration::from_secs(DAY.saturating_mul(small(set, 30).into()));
        let max_bytes = or(set.max_bytes, 64 * 1024 * 1024);
        let (files, kept_days) = (small(set.keep_files, 30), small(set.keep_days, 30));
        let capacity = max_bytes.saturating_mul(files.into());
        Self {
            max_bytes,
            max_age: days(set.max_days),
            keep_files: usize::try_from(files).unwrap_or(usize::MAX),
            keep: days(set.keep_days).max(IDS),
            tip_interval: Duration::from_secs(or(set.tip_interval_s, 600)),
            per_minute: small(set.records_per_minute, 60),
            per_hour: small(set.records_per_hour, 2000),
            day_bytes: capacity.checked_div(kept_days.into()).unwrap_or(0).max(DAY_BYTES_MIN),
        }
    }
}
