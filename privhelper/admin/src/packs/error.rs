//! Why a command about packs ends early.

use crate::io::Exit;
use std::io;

/// Why a command ends early.
#[derive(Debug)]
pub enum CommandError {
    /// Output cannot be written.
    Output(io::Error),
    /// A message for the person, and the exit status.
    Message(Exit, String),
}

impl From<io::Error> for CommandError {
    fn from(error: io::Error) -> Self {
        Self::Output(error)
    }
}

/// A failure in one line.
pub(super) fn failed(why: impl Into<String>) -> CommandError {
    CommandError::Message(Exit::Failed, why.into())
}

/// The command line is not one that can be done.
pub(super) fn usage(why: impl Into<String>) -> CommandError {
    CommandError::Message(Exit::Usage, why.into())
}
