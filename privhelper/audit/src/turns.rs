//! Turns: effects on the same object run one after the other. Operators first, then the uids in rotation.

use postern_peers::locked;
use std::collections::{HashMap, HashSet};
use std::sync::{Condvar, Mutex, PoisonError};
use std::time::{Duration, Instant};

/// How often a waiting request checks whether it is still wanted.
const CHECK: Duration = Duration::from_millis(250);

/// The turns of effects.
#[derive(Default)]
pub struct Turns {
    inner: Mutex<Inner>,
    changed: Condvar,
}

#[derive(Default)]
struct Inner {
    held: HashSet<String>,
    /// In the order in which they came.
    waiting: Vec<Waiting>,
    /// When each uid last had a turn.
    served: HashMap<u32, u64>,
    /// Arrivals and turns, counted: the time of both.
    count: u64,
}

struct Waiting {
    number: u64,
    uid: u32,
    is_operator: bool,
    objects: Vec<String>,
}

/// A turn; given back when dropped.
pub struct Turn<'a> {
    turns: &'a Turns,
    objects: Vec<String>,
}

impl Turns {
    /// Waits for a turn with all these objects, for at most `limit` and while `is_wanted`. None: it was not had.
    pub fn take(
        &self,
        (uid, is_operator): (u32, bool),
        objects: &[String],
        limit: Duration,
        is_wanted: impl Fn() -> bool,
    ) -> Option<Turn<'_>> {
        let deadline = Instant::now().checked_add(limit);
        let mut inner = locked(&self.inner);
        inner.count = inner.count.saturating_add(1);
        let number = inner.count;
        inner.waiting.push(Waiting { number, uid, is_operator, objects: objects.to_vec() });
        loop {
            if inner.next(number) {
                inner.count = inner.count.saturating_add(1);
                let count = inner.count;
                inner.served.insert(uid, count);
                inner.held.extend(objects.iter().cloned());
                inner.leave(number);
                return Some(Turn { turns: self, objects: objects.to_vec() });
            }
            let left = deadline.map_or(CHECK, |at| at.saturating_duration_since(Instant::now()));
            if left.is_zero() || !is_wanted() {
                inner.leave(number);
                self.changed.notify_all();
                return None;
            }
            let waited = self.changed.wait_timeout(inner, left.min(CHECK));
            inner = waited.unwrap_or_else(PoisonError::into_inner).0;
        }
    }
}

impl Inner {
    /// Whether its objects are free and no request before it waits for one of them.
    fn next(&self, number: u64) -> bool {
        let rank =
            |one: &Waiting| (!one.is_operator, self.served.get(&one.uid).copied().unwrap_or(0), one.number);
        let Some(own) = self.waiting.iter().find(|one| one.number == number) else {
            return false;
        };
        let shares = |other: &Waiting| other.objects.iter().any(|object| own.objects.contains(object));
        let is_first = !self.waiting.iter().any(|other| rank(other) < rank(own) && shares(other));
        is_first && !own.objects.iter().any(|object| self.held.contains(object))
    }

    fn leave(&mut self, number: u64) {
        self.waiting.retain(|one| one.number != number);
        if self.waiting.is_empty() {
            self.served.clear();
        }
    }
}

impl Drop for Turn<'_> {
    fn drop(&mut self) {
        let mut inner = locked(&self.turns.inner);
        for object in &self.objects {
            inner.held.remove(object);
        }
        self.turns.changed.notify_all();
    }
}
