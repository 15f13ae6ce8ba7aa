//! Limits each person's requests to the helper in a minute.
//!
//! To the helper all of them are the agent's, and beyond a number of requests a minute it refuses the agent's: one
//! person's loop would be everybody's refusal. So the number is shared here by those who ask, and whoever has used
//! their part waits until it is free again. A quarter is kept for those who have not asked yet.

use std::collections::{HashSet, VecDeque};
use std::sync::{Mutex, PoisonError};
use std::time::Duration;
use tokio::time::Instant;

/// The span over which the helper counts.
const WINDOW: Duration = Duration::from_secs(60);
/// Requests that it takes of one uid in this span: those that may change something, and all others.
const EFFECTS: usize = 60;
const READS: usize = 600;

/// The budget that a request is counted in.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// It may change something.
    Effect,
    /// It looks, or shows what would be.
    Read,
}

/// The requests of the last minute.
#[derive(Debug, Default)]
pub struct Rates {
    effects: Mutex<VecDeque<(Instant, u32)>>,
    reads: Mutex<VecDeque<(Instant, u32)>>,
}

impl Rates {
    /// Counts a request of a person's, if their part is not used up.
    ///
    /// # Errors
    /// It is: how long until a part of it is free.
    pub fn take(&self, uid: u32, kind: Kind) -> Result<(), Duration> {
        let (sent, limit) = match kind {
            Kind::Effect => (&self.effects, EFFECTS),
            Kind::Read => (&self.reads, READS),
        };
        let now = Instant::now();
        let mut sent = sent.lock().unwrap_or_else(PoisonError::into_inner);
        while sent.front().is_some_and(|(at, _)| now.duration_since(*at) >= WINDOW) {
            sent.pop_front();
        }
        let people: HashSet<u32> = sent.iter().map(|(_, other)| *other).chain([uid]).collect();
        let share = (limit * 3 / 4 / people.len()).max(1);
        let own: Vec<Instant> = sent.iter().filter(|(_, other)| *other == uid).map(|(at, _)| *at).collect();
        let is_used_up = own.len() >= share;
        if !is_used_up && sent.len() < limit {
            sent.push_back((now, uid));
            return Ok(());
        }
        // The helper also counts requests that others sent while they were fewer.
        let oldest = if is_used_up { own.first().copied() } else { sent.front().map(|(at, _)| *at) };
        Err((oldest.unwrap_or(now) + WINDOW).saturating_duration_since(now))
    }
}
