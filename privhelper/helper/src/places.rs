//! How many connections and running requests there may be, of one uid and of all, and how much of bodies in memory.

use crate::sys::locked;
use std::collections::HashMap;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};

/// Most connections, and most running requests, of one uid.
const PER_UID: usize = 8;
/// Most connections, and most running requests, of all.
const TOTAL: usize = 32;

/// How many each uid has.
#[derive(Debug, Default)]
pub struct Places(Mutex<HashMap<u32, usize>>);

/// One's place; given back when dropped.
#[derive(Debug)]
pub struct Place {
    places: Arc<Places>,
    uid: u32,
}

impl Places {
    /// A place for this uid, if there is one.
    #[must_use]
    pub fn take(self: &Arc<Self>, uid: u32) -> Option<Place> {
        let mut counts = locked(&self.0);
        let (own, total) = (counts.get(&uid).copied().unwrap_or(0), counts.values().sum::<usize>());
        (own < PER_UID && total < TOTAL).then(|| self.put(&mut counts, uid))
    }

    /// A place for this uid even if there is none: for what was let through already.
    #[must_use]
    pub fn add(self: &Arc<Self>, uid: u32) -> Place {
        self.put(&mut locked(&self.0), uid)
    }

    fn put(self: &Arc<Self>, counts: &mut HashMap<u32, usize>, uid: u32) -> Place {
        let own = counts.entry(uid).or_default();
        *own = own.saturating_add(1);
        Place { places: Arc::clone(self), uid }
    }

    /// How many there are.
    #[must_use]
    pub fn count(&self) -> usize {
        locked(&self.0).values().sum()
    }
}

impl Drop for Place {
    fn drop(&mut self) {
        let mut counts = locked(&self.places.0);
        if let Some(own) = counts.get_mut(&self.uid) {
            *own = own.saturating_sub(1);
        }
        counts.retain(|_, count| *count > 0);
    }
}

/// Most bytes of request bodies in memory, over all connections.
const BODIES_MAX: usize = 64 * 1024 * 1024;

/// Bytes of request bodies in memory.
#[derive(Debug, Default)]
pub struct Bodies(Arc<AtomicUsize>);

/// A request's share; given back when dropped.
#[derive(Debug)]
pub struct Share {
    bodies: Arc<AtomicUsize>,
    bytes: usize,
}

impl Bodies {
    /// Room for this many bytes, if there is.
    #[must_use]
    pub fn take(&self, bytes: usize) -> Option<Share> {
        let share = Share { bodies: Arc::clone(&self.0), bytes };
        let before = self.0.fetch_add(bytes, Ordering::Relaxed);
        (before.saturating_add(bytes) <= BODIES_MAX).then_some(share)
    }
}

impl Drop for Share {
    fn drop(&mut self) {
        self.bodies.fetch_sub(self.bytes, Ordering::Relaxed);
    }
}
