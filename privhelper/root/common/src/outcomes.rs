//! Outcomes of orders, and those of files by order id until the recorder has acknowledged them.
//!
//! While its order is under way, a file holds a zero and the program's note; then the encoded outcome. It is not synced:
//! after a power loss the program compares the host with its undo copy.

use crate::error::{Error, Fault};
use crate::receive::OrderId;
use crate::store::{self, Durability};
use postern_policy::{Code, Denied};
use postern_proto::root::v1::{Outcome, OutcomesReply};
use postern_proto::v1::{Completed, Status};
use prost::Message;
use std::path::{Path, PathBuf};

/// Longest message for a person, in characters.
const LINE_MAX: usize = 500;
/// Largest file, in bytes.
const MAX: u64 = 4 * 1024 * 1024;

/// No encoded message begins with a zero.
fn is_outcome(bytes: &[u8]) -> bool {
    bytes.first().is_some_and(|first| *first != 0)
}

/// The state of an order that never began, or whose outcome was acknowledged.
#[must_use]
pub fn unknown() -> OutcomesReply {
    OutcomesReply { state: "unknown".to_owned(), outcome: Vec::new() }
}

/// The state of an order that began.
#[must_use]
pub fn running() -> OutcomesReply {
    OutcomesReply { state: "running".to_owned(), outcome: Vec::new() }
}

/// The state of an order that ended with this encoded outcome.
#[must_use]
pub fn ended(outcome: Vec<u8>) -> OutcomesReply {
    OutcomesReply { state: "ended".to_owned(), outcome }
}

/// The directory of outcomes.
#[derive(Debug)]
pub struct Outcomes(PathBuf);

impl Outcomes {
    /// Opens the directory and makes it if it is not there.
    ///
    /// # Errors
    /// It cannot be made.
    pub fn open(directory: &Path) -> Result<Self, Fault> {
        store::make_directory(directory)?;
        Ok(Self(directory.to_owned()))
    }

    /// Notes that the effect of an order begins, with a note for the next process.
    ///
    /// # Errors
    /// `request_id_conflict` if it began before; or it cannot be written.
    pub fn begin(&self, id: OrderId, note: &[u8]) -> Result<(), Error> {
        if store::claim(&self.path(id), &[&[0], note])? {
            return Ok(());
        }
        Err(Denied::new(Code::RequestIdConflict, "this order was begun before").into())
    }

    /// Removes the note of an order that has changed nothing.
    ///
    /// # Errors
    /// It cannot be removed.
    pub fn withdraw(&self, id: OrderId) -> Result<(), Fault> {
        store::remove(&self.path(id))
    }

    /// Keeps the outcome.
    ///
    /// # Errors
    /// It cannot be written.
    pub fn end(&self, id: OrderId, outcome: &Outcome) -> Result<(), Fault> {
        store::replace(&self.path(id), &[&outcome.encode_to_vec()], Durability::Cached)
    }

    /// Returns the state of an order.
    ///
    /// # Errors
    /// Its file cannot be read.
    pub fn state(&self, id: OrderId) -> Result<OutcomesReply, Fault> {
        let bytes = store::read(&self.path(id), MAX)?;
        Ok(bytes.map_or_else(unknown, |bytes| if is_outcome(&bytes) { ended(bytes) } else { running() }))
    }

    /// Forgets an outcome that the recorder has written.
    ///
    /// # Errors
    /// It cannot be removed.
    pub fn acknowledge(&self, id: OrderId) -> Result<(), Fault> {
        // An order that runs keeps its note.
        if self.state(id)?.outcome.is_empty() { Ok(()) } else { self.withdraw(id) }
    }

    /// The orders that an earlier process began and did not end, with its notes. A note may be missing.
    ///
    /// # Errors
    /// The directory cannot be read.
    pub fn running(&self) -> Result<Vec<(OrderId, Vec<u8>)>, Fault> {
        let mut running = Vec::new();
        for path in store::list(&self.0)? {
            let id = path.file_name().and_then(|name| OrderId::from_hex(name.to_str()?));
            match (id, store::read(&path, MAX)?) {
                (Some(id), Some(note)) if !is_outcome(&note) => {
                    running.push((id, note.get(1..).unwrap_or_default().to_vec()));
                }
                (Some(_), _) => {}
                // The temporary file of an outcome.
                (None, _) => store::remove(&path)?,
            }
        }
        Ok(running)
    }

    fn path(&self, id: OrderId) -> PathBuf {
        self.0.join(id.to_string())
    }
}

/// The text as one line of bounded length without control characters.
#[must_use]
pub fn one_line(text: &str) -> String {
    let line: String = text.chars().map(|c| if c.is_control() { ' ' } else { c }).take(LINE_MAX).collect();
    line.trim().to_owned()
}

/// Returns a failed result.
#[must_use]
pub fn failed(code: Code, message: &str) -> Completed {
    let (status, code, message) = (Status::Failed.into(), code.as_str().to_owned(), one_line(message));
    Completed { status, code, message, ..Completed::default() }
}

/// Returns a result without a change, with the reason.
#[must_use]
pub fn unchanged(message: &str) -> Completed {
    let (status, message) = (Status::Unchanged.into(), message.to_owned());
    Completed { status, message, ..Completed::default() }
}
