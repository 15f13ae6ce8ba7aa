//! How the operator's commands end, and the call that each of them makes.

use crate::host::Host;
use crate::io::Exit;
use crate::operator::{self, CallError};
use prost::Message;
use std::io;

/// Why a command ends early.
#[derive(Debug)]
pub enum CommandError {
    /// With this exit and these words, which drive no terminal.
    Message(Exit, String),
    /// Its own output cannot be written.
    Output(io::Error),
}

impl From<CallError> for CommandError {
    fn from(error: CallError) -> Self {
        Self::Message(error.exit(), error.to_string())
    }
}

impl From<io::Error> for CommandError {
    fn from(error: io::Error) -> Self {
        Self::Output(error)
    }
}

/// How a command ends.
pub type CommandResult = Result<Exit, CommandError>;

/// How it went with each of several.
#[derive(Debug, Default)]
pub(super) struct Tally {
    pub(super) done: usize,
    pub(super) failed: Option<Exit>,
}

impl Tally {
    pub(super) fn add(&mut self, one: Result<(), Exit>) {
        match one {
            Ok(()) => self.done += 1,
            Err(exit) => self.failed = Some(exit),
        }
    }

    pub(super) fn is_empty(&self) -> bool {
        self.done == 0 && self.failed.is_none()
    }

    pub(super) fn exit(&self) -> Exit {
        match (self.failed, self.done) {
            (None, _) => Exit::Done,
            (Some(exit), 0) => exit,
            (Some(_), _) => Exit::Partly,
        }
    }
}

/// Asks the recorder for one answer.
pub(super) fn call<Q: Message, R: Message + Default>(
    host: &Host,
    method: &str,
    request: &Q,
) -> Result<R, CallError> {
    operator::call(&host.operator_socket, host.owner_uid, method, request)
}
