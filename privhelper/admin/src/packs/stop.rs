//! Why a command about packs ends early.

use crate::io::Exit;
use std::io;

/// Why a command ends early.
#[derive(Debug)]
pub enum Stop {
    /// Output cannot be written.
    Output(io::Error),
    /// The person is told so.
    Told(Exit, String),
}

impl From<io::Error> for Stop {
    fn from(error: io::Error) -> Self {
        Self::Output(error)
    }
}

/// A failure in one line.
pub(super) fn failed(why: impl Into<String>) -> Stop {
    Stop::Told(Exit::Failed, why.into())
}

/// The command line is not one that can be done.
pub(super) fn usage(why: impl Into<String>) -> Stop {
    Stop::Told(Exit::Usage, why.into())
}
