//! The only calls that reach outside this program: each effect takes a ticket,
//! each probe the proof that policy lets it look. Nothing here decides.

mod child;
pub mod confined;
pub mod files;
pub mod log;
pub mod process;
pub mod programs;
pub mod socket;
pub mod staging;
pub mod store;

use std::sync::{Mutex, MutexGuard, PoisonError};

/// Locks a mutex. Our threads do not panic; if one did, its data is still whole between two statements.
pub fn locked<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
