//! Mutexes of programs that do not panic.

use std::sync::{Mutex, MutexGuard, PoisonError};

/// Locks a mutex. Threads of these programs do not panic (`panic = "abort"`), so a poisoned lock holds whole data.
pub fn locked<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
