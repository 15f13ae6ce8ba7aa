//! How many connections there may be, and how many bytes of orders in memory.

use crate::sys::locked;
use std::collections::HashMap;
use std::sync::{Arc, Mutex};

/// Amounts in use, by user. Used for connections and for bytes.
pub struct Limit {
    used: Mutex<HashMap<u32, usize>>,
    each: usize,
    total: usize,
}

/// An amount in use; given back when dropped.
pub struct Permit {
    limit: Arc<Limit>,
    uid: u32,
    amount: usize,
}

impl Limit {
    /// Permits so much to each user and to all together.
    pub fn new(each: usize, total: usize) -> Arc<Self> {
        Arc::new(Self { used: Mutex::default(), each, total })
    }

    /// Takes an amount for this user; none if there is not enough.
    pub fn take(self: &Arc<Self>, uid: u32, amount: usize) -> Option<Permit> {
        let mut used = locked(&self.used);
        let total = used.values().fold(amount, |sum, used| sum.saturating_add(*used));
        let own = used.entry(uid).or_default();
        let wanted = own.saturating_add(amount);
        let fits = wanted <= self.each && total <= self.total;
        if fits {
            *own = wanted;
        }
        used.retain(|_, used| *used > 0);
        fits.then(|| Permit { limit: Arc::clone(self), uid, amount })
    }

    /// Returns how much is in use.
    pub fn used(&self) -> usize {
        locked(&self.used).values().sum()
    }
}

impl Drop for Permit {
    fn drop(&mut self) {
        if let Some(own) = locked(&self.limit.used).get_mut(&self.uid) {
            *own = own.saturating_sub(self.amount);
        }
    }
}
