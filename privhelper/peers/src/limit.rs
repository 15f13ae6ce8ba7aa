//! Amounts per user and in all: connections, requests under way, bytes in memory.

use crate::lock::locked;
use std::collections::HashMap;
use std::sync::{Arc, Mutex};

/// How much of something each user has, and how much it may have.
#[derive(Debug)]
pub struct Limit {
    used: Mutex<HashMap<u32, usize>>,
    each: usize,
    total: usize,
}

/// An amount in use; given back when dropped.
#[derive(Debug)]
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

    /// Takes an amount for this user; none if the user or all would then have too much.
    pub fn take(self: &Arc<Self>, uid: u32, amount: usize) -> Option<Permit> {
        let mut used = locked(&self.used);
        let own = used.get(&uid).copied().unwrap_or(0).saturating_add(amount);
        let total = used.values().fold(amount, |sum, used| sum.saturating_add(*used));
        (own <= self.each && total <= self.total).then(|| self.add(&mut used, uid, amount))
    }

    /// Takes an amount even if it is too much: for a request that was let through already.
    pub fn force(self: &Arc<Self>, uid: u32, amount: usize) -> Permit {
        self.add(&mut locked(&self.used), uid, amount)
    }

    fn add(self: &Arc<Self>, used: &mut HashMap<u32, usize>, uid: u32, amount: usize) -> Permit {
        let own = used.entry(uid).or_default();
        *own = own.saturating_add(amount);
        Permit { limit: Arc::clone(self), uid, amount }
    }

    /// Returns how much is in use.
    pub fn used(&self) -> usize {
        locked(&self.used).values().sum()
    }
}

impl Drop for Permit {
    fn drop(&mut self) {
        let mut used = locked(&self.limit.used);
        if let Some(own) = used.get_mut(&self.uid) {
            *own = own.saturating_sub(self.amount);
        }
        used.retain(|_, amount| *amount > 0);
    }
}
