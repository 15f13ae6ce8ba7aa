//! How many connections there may be, of one uid and of all.

use crate::sys::locked;
use std::collections::HashMap;
use std::sync::{Arc, Mutex};

/// Most connections of one uid.
const PER_UID: usize = 8;
/// Most connections of all.
const TOTAL: usize = 32;

/// How many connections each uid has.
#[derive(Debug, Default)]
pub struct Places(Mutex<HashMap<u32, usize>>);

/// A connection's place; given back when dropped.
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
        let total: usize = counts.values().sum();
        let own = counts.entry(uid).or_default();
        if *own >= PER_UID || total >= TOTAL {
            return None;
        }
        *own = own.saturating_add(1);
        drop(counts);
        Some(Place { places: Arc::clone(self), uid })
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
