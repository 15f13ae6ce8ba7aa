//! Limits per uid and in all: connections, requests under way, bytes of request bodies.

use crate::sys::locked;
use std::collections::HashMap;
use std::sync::{Arc, Mutex};

/// How much of something each uid has, and how much it may have.
#[derive(Debug)]
pub struct Limit {
    per_uid: usize,
    total: usize,
    used: Mutex<HashMap<u32, usize>>,
}

/// A part of a [`Limit`]; given back when dropped.
#[derive(Debug)]
pub struct Permit {
    limit: Arc<Limit>,
    uid: u32,
    amount: usize,
}

impl Limit {
    /// A limit of which nothing is used.
    #[must_use]
    pub fn new(per_uid: usize, total: usize) -> Arc<Self> {
        Arc::new(Self { per_uid, total, used: Mutex::default() })
    }

    /// Takes this much for the uid, or none if the uid or all would then have too much.
    #[must_use]
    pub fn take(self: &Arc<Self>, uid: u32, amount: usize) -> Option<Permit> {
        let mut used = locked(&self.used);
        let own = used.get(&uid).copied().unwrap_or(0).saturating_add(amount);
        let total = used.values().sum::<usize>().saturating_add(amount);
        (own <= self.per_uid && total <= self.total).then(|| self.add(&mut used, uid, amount))
    }

    /// Takes this much even if it is too much: for a request that was let through already.
    #[must_use]
    pub fn force(self: &Arc<Self>, uid: u32, amount: usize) -> Permit {
        self.add(&mut locked(&self.used), uid, amount)
    }

    fn add(self: &Arc<Self>, used: &mut HashMap<u32, usize>, uid: u32, amount: usize) -> Permit {
        let own = used.entry(uid).or_default();
        *own = own.saturating_add(amount);
        Permit { limit: Arc::clone(self), uid, amount }
    }

    /// Returns how much all have.
    #[must_use]
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
