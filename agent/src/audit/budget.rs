//! How much the log may grow within a day. Records beyond it are counted, not written.

use std::time::{Duration, Instant, SystemTime};

const DAY: Duration = Duration::from_secs(24 * 60 * 60);

/// Records that were counted instead of written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Suppressed {
    /// How many.
    pub count: u64,
    /// When the first and the last came.
    pub times: (SystemTime, SystemTime),
}

/// The bytes of this day.
#[derive(Debug)]
pub struct Budget {
    most: u64,
    began: Instant,
    bytes: u64,
    suppressed: Option<Suppressed>,
}

impl Budget {
    /// A budget of so many bytes a day.
    pub fn new(most: u64) -> Self {
        Self { most, began: Instant::now(), bytes: 0, suppressed: None }
    }

    /// Whether a line of so many bytes may be written; if not, it is counted.
    pub fn admit(&mut self, bytes: usize, now: SystemTime) -> bool {
        if self.began.elapsed() >= DAY {
            (self.began, self.bytes) = (Instant::now(), 0);
        }
        let bytes = self.bytes.saturating_add(u64::try_from(bytes).unwrap_or(u64::MAX));
        if bytes <= self.most {
            self.bytes = bytes;
            return true;
        }
        self.count(now);
        false
    }

    /// Counts a record that is not written.
    pub fn count(&mut self, now: SystemTime) {
        let before = self.suppressed.unwrap_or(Suppressed { count: 0, times: (now, now) });
        let count = before.count.saturating_add(1);
        self.suppressed = Some(Suppressed { count, times: (before.times.0, now) });
    }

    /// Returns what was counted since the last call.
    pub fn take(&mut self) -> Option<Suppressed> {
        self.suppressed.take()
    }

    /// Puts it back: its record could not be written.
    pub fn put_back(&mut self, over: Suppressed) {
        let since = self.suppressed.map_or(0, |now| now.count);
        let last = self.suppressed.map_or(over.times.1, |now| now.times.1);
        self.suppressed =
            Some(Suppressed { count: over.count.saturating_add(since), times: (over.times.0, last) });
    }
}
