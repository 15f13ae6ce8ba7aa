//! Limits of connections, requests under way and bytes of bodies: for all people together, and for each of them. A use
//! beyond a limit is refused at once, so that one person's use is never another person's wait.

use crate::protocol::owner::Owner;
use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// A bounded quantity.
#[derive(Debug)]
pub struct Limit {
    all: usize,
    each: usize,
    held: Mutex<HashMap<Owner, usize>>,
}

/// A part of it, given back when it is dropped.
#[derive(Debug)]
pub struct Permit {
    limit: Arc<Limit>,
    owner: Owner,
    amount: usize,
}

impl Limit {
    /// So much for all together, and for each.
    #[must_use]
    pub fn new(all: usize, each: usize) -> Arc<Self> {
        Arc::new(Self { all, each, held: Mutex::default() })
    }

    /// A part for one person; nothing where they hold theirs, or all is held.
    #[must_use]
    pub fn take(self: &Arc<Self>, owner: Owner, amount: usize) -> Option<Permit> {
        let mut permit = Permit { limit: Arc::clone(self), owner, amount: 0 };
        permit.grow(amount).then_some(permit)
    }

    /// Returns the limit for each person.
    #[must_use]
    pub fn each(&self) -> usize {
        self.each
    }

    fn held(&self) -> MutexGuard<'_, HashMap<Owner, usize>> {
        self.held.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Permit {
    /// Takes so much more; false where that is not free.
    #[must_use]
    pub fn grow(&mut self, amount: usize) -> bool {
        let mut held = self.limit.held();
        let all: usize = held.values().sum();
        let own = held.get(&self.owner).copied().unwrap_or_default();
        let fits =
            own.saturating_add(amount) <= self.limit.each && all.saturating_add(amount) <= self.limit.all;
        if fits {
            *held.entry(self.owner).or_default() += amount;
            self.amount += amount;
        }
        fits
    }
}

impl Drop for Permit {
    fn drop(&mut self) {
        let mut held = self.limit.held();
        if let Some(own) = held.get_mut(&self.owner) {
            *own = own.saturating_sub(self.amount);
            if *own == 0 {
                held.remove(&self.owner);
            }
        }
    }
}
