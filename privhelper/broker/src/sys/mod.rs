//! The only calls that reach outside this program besides those of `postern_peers`: sockets.

pub mod socket;

use crate::error::Fault;
use std::io::Write;

/// Writes one line to the journal.
pub fn log(fault: &Fault) {
    // Without a journal there is nobody to write to.
    drop(writeln!(std::io::stderr(), "postern-broker: {fault}"));
}
