//! Turns: effects on the same object run one after the other. Operators first, then the uids in rotation.

use postern_peers::locked;
use std::collections::HashMap;
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
    /// Those that have a turn or wait for one, in the order in which they came.
    all: Vec<Queued>,
    /// When each uid last had a turn.
    served: HashMap<u32, u64>,
    /// Arrivals and turns, counted: the time of both.
    count: u64,
}

struct Queued {
    number: u64,
    uid: u32,
    is_operator: bool,
    objects: Vec<String>,
    has_turn: bool,
}

/// A turn; given back when dropped.
pub struct Turn<'a> {
    turns: &'a Turns,
    number: u64,
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
        inner.all.push(Queued { number, uid, is_operator, objects: objects.to_vec(), has_turn: false });
        loop {
            if inner.is_next(number) {
                inner.count = inner.count.saturating_add(1);
                let count = inner.count;
                inner.served.insert(uid, count);
                inner.all.iter_mut().filter(|one| one.number == number).for_each(|one| one.has_turn = true);
                return Some(Turn { turns: self, number });
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
    /// Whether no order that has a turn, or comes before it, has one of its objects.
    fn is_next(&self, number: u64) -> bool {
        let rank =
            |one: &Queued| (!one.is_operator, self.served.get(&one.uid).copied().unwrap_or(0), one.number);
        let Some(own) = self.all.iter().find(|one| one.number == number) else {
            return false;
        };
        let shares = |other: &Queued| other.objects.iter().any(|object| own.objects.contains(object));
        !self.all.iter().any(|other| (other.has_turn || rank(other) < rank(own)) && shares(other))
    }

    fn leave(&mut self, number: u64) {
        self.all.retain(|one| one.number != number);
        if self.all.is_empty() {
            self.served.clear();
        }
    }
}

impl Drop for Turn<'_> {
    fn drop(&mut self) {
        locked(&self.turns.inner).leave(self.number);
        self.turns.changed.notify_all();
    }
}
