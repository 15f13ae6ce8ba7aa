//! Outcomes of orders, by order id, until the recorder has acknowledged them.
//!
//! A file is empty while its order is under way and then holds the encoded outcome. It is not synced: after a power
//! loss the program compares the host with what it kept.

use crate::error::{Error, Fault};
use crate::receive::OrderId;
use crate::store::{self, Durability};
use postern_policy::{Code, Denied};
use postern_proto::root::v1::Outcome;
use prost::Message;
use std::path::{Path, PathBuf};

/// What is known of an order.
#[derive(Debug, Clone, PartialEq)]
pub enum OutcomeState {
    /// It never began, or its outcome was acknowledged.
    Unknown,
    /// It began.
    Running,
    /// It ended so.
    Ended(Box<Outcome>),
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

    /// Notes that the effect of an order begins.
    ///
    /// # Errors
    /// `request_id_conflict` if it began before; or it cannot be written.
    pub fn begin(&self, id: OrderId) -> Result<(), Error> {
        if store::claim(&self.path(id))? {
            return Ok(());
        }
        Err(Denied::new(Code::RequestIdConflict, "this order was begun before").into())
    }

    /// Keeps the outcome.
    ///
    /// # Errors
    /// It cannot be written.
    pub fn end(&self, id: OrderId, outcome: &Outcome) -> Result<(), Fault> {
        store::replace(&self.path(id), &[&outcome.encode_to_vec()], Durability::Cached)
    }

    /// Tells what is known of an order.
    ///
    /// # Errors
    /// Its file cannot be read or is damaged.
    pub fn state(&self, id: OrderId) -> Result<OutcomeState, Fault> {
        match store::read(&self.path(id), 4 * 1024 * 1024)? {
            None => Ok(OutcomeState::Unknown),
            Some(bytes) if bytes.is_empty() => Ok(OutcomeState::Running),
            Some(bytes) => Outcome::decode(bytes.as_slice())
                .map(|outcome| OutcomeState::Ended(Box::new(outcome)))
                .map_err(|_| Fault::Corrupt { what: "an outcome" }),
        }
    }

    /// Forgets an outcome that the recorder has written.
    ///
    /// # Errors
    /// It cannot be removed.
    pub fn acknowledge(&self, id: OrderId) -> Result<(), Fault> {
        match self.state(id)? {
            OutcomeState::Unknown | OutcomeState::Running => Ok(()),
            OutcomeState::Ended(_) => store::remove(&self.path(id)),
        }
    }

    /// The orders that an earlier process began and did not end.
    ///
    /// # Errors
    /// The directory cannot be read.
    pub fn running(&self) -> Result<Vec<OrderId>, Fault> {
        let mut running = Vec::new();
        for path in store::list(&self.0)? {
            match path.file_name().and_then(|name| OrderId::from_hex(name.to_str()?)) {
                Some(id) if self.state(id)? == OutcomeState::Running => running.push(id),
                Some(_) => {}
                // An outcome that was being written.
                None => store::remove(&path)?,
            }
        }
        Ok(running)
    }

    fn path(&self, id: OrderId) -> PathBuf {
        self.0.join(id.to_string())
    }
}
