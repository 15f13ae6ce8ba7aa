//! The wall clock.

use jiff::Timestamp;
use std::sync::Arc;
use std::sync::atomic::{AtomicI64, Ordering};

/// The host's clock; tests set theirs ahead or back.
#[derive(Clone, Debug, Default)]
pub struct Clock(Arc<AtomicI64>);

impl Clock {
    /// Returns the seconds since 1970.
    #[must_use]
    pub fn now(&self) -> i64 {
        Timestamp::now().as_second().saturating_add(self.0.load(Ordering::Relaxed))
    }

    /// Sets this clock and its clones ahead, or back where the seconds are negative.
    pub fn shift(&self, seconds: i64) {
        self.0.fetch_add(seconds, Ordering::Relaxed);
    }
}
