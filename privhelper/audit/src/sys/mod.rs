//! The only calls that touch files and sockets. Nothing here decides.

pub mod files;
pub mod sockets;

use std::sync::{Mutex, MutexGuard, PoisonError};

/// Locks a mutex. Threads of this program do not panic (`panic = "abort"`), so a poisoned lock holds whole data.
pub fn locked<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
