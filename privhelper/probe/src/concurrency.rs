//! Bounds how many connections ask apt at once: each takes some 80 MB and up to seconds of processor time.

use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

/// Most that run at once.
pub const RUNNING: usize = 4;

/// Most that wait until another has ended.
pub const WAITING: usize = 8;

/// Limits how many threads run at once; a limited number of others wait.
#[derive(Debug, Default)]
pub struct ConcurrencyLimit {
    counts: Mutex<Counts>,
    released: Condvar,
}

#[derive(Debug, Default)]
struct Counts {
    running: usize,
    waiting: usize,
}

/// The right to run, until it is dropped.
#[derive(Debug)]
pub struct Permit<'a>(&'a ConcurrencyLimit);

impl ConcurrencyLimit {
    fn locked(&self) -> MutexGuard<'_, Counts> {
        self.counts.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Waits until it may run. None: too many wait already, or others ran for all of `max_wait`.
    #[must_use]
    pub fn acquire(&self, max_wait: Duration) -> Option<Permit<'_>> {
        let mut counts = self.locked();
        if counts.running >= RUNNING {
            if counts.waiting >= WAITING {
                return None;
            }
            counts.waiting = counts.waiting.saturating_add(1);
            let waited = self.released.wait_timeout_while(counts, max_wait, |now| now.running >= RUNNING);
            (counts, _) = waited.unwrap_or_else(PoisonError::into_inner);
            counts.waiting = counts.waiting.saturating_sub(1);
            if counts.running >= RUNNING {
                return None;
            }
        }
        counts.running = counts.running.saturating_add(1);
        Some(Permit(self))
    }
}

impl Drop for Permit<'_> {
    fn drop(&mut self) {
        let mut counts = self.0.locked();
        counts.running = counts.running.saturating_sub(1);
        drop(counts);
        self.0.released.notify_one();
    }
}
