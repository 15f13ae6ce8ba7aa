//! The only calls that reach outside this program: sockets and the broker's own directory.

pub mod socket;
pub mod store;

use crate::error::Fault;
use std::io::Write;
use std::sync::{Mutex, MutexGuard, PoisonError};

/// Locks a mutex. Threads of this program do not panic; if one did, its data is still whole between two statements.
pub fn locked<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Writes one line to the journal.
pub fn log(fault: &Fault) {
    // Without a journal there is nobody to write to.
    drop(writeln!(std::io::stderr(), "postern-broker: {fault}"));
}
