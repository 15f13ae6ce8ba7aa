//! Bounds how many connections ask apt at once: each takes some 80 MB and up to seconds of processor time.

use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

/// Most that run at once.
pub const RUNNING: usize = 4;

/// Most that wait until another has ended.
pub const WAITING: usize = 8;

/// Limits how many threads run at once; a limited number of others wait.
#[derive(Debug, Default)]
pub struct Gate {
    counts: Mutex<Counts>,
    left: Condvar,
}

#[derive(Debug, Default)]
struct Counts {
    running: usize,
    waiting: usize,
}

/// The right to run, until it is dropped.
#[derive(Debug)]
pub struct Pass<'a>(&'a Gate);

impl Gate {
    fn locked(&self) -> MutexGuard<'_, Counts> {
        self.counts.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Waits until it may run. None: too many wait already, or others ran for all of `patience`.
    #[must_use]
    pub fn enter(&self, patience: Duration) -> Option<Pass<'_>> {
        let mut counts = self.locked();
        if counts.running >= RUNNING {
            if counts.waiting >= WAITING {
                return None;
            }
            counts.waiting = counts.waiting.saturating_add(1);
            let waited = self.left.wait_timeout_while(counts, patience, |counts| counts.running >= RUNNING);
            (counts, _) = waited.unwrap_or_else(PoisonError::into_inner);
            counts.waiting = counts.waiting.saturating_sub(1);
            if counts.running >= RUNNING {
                return None;
            }
        }
        counts.running = counts.running.saturating_add(1);
        Some(Pass(self))
    }
}

impl Drop for Pass<'_> {
    fn drop(&mut self) {
        let mut counts = self.0.locked();
        counts.running = counts.running.saturating_sub(1);
        drop(counts);
        self.0.left.notify_one();
    }
}
