//! The only calls that reach outside this program: sockets and the broker's own directory.

pub mod socket;
pub mod store;

use crate::error::Fault;
use std::io::Write;

/// Writes one line to the journal.
pub fn log(fault: &Fault) {
    // Without a journal there is nobody to write to.
    drop(writeln!(std::io::stderr(), "postern-broker: {fault}"));
}
