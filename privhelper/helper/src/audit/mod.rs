//! The record of everything: intent on disk before an effect, outcome after it.
//!
//! Only [`Audit::begin`] mints a [`Ticket`], and every effect takes one, so an
//! effect without a record on disk does not compile:
//!
//! ```compile_fail
//! let forged = postern_helper::audit::Ticket { minted: () };
//! ```

mod chain;
mod json;
mod record;
pub mod seal;
mod time;

pub use chain::{Chain, Tail};
pub use json::Json;
pub use record::{Event, Record};
pub use time::rfc3339;

use crate::error::Fault;
use crate::sys::locked;
use std::fs::File;
use std::sync::Mutex;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

/// The proof that the intent of one effect is on disk.
#[derive(Debug)]
pub struct Ticket {
    minted: (),
}

/// The proof that it is on disk that a request waits for a person.
#[derive(Debug)]
pub struct Asked(());

/// The audit log of this helper.
#[derive(Debug)]
pub struct Audit {
    chain: Mutex<Chain>,
    now: fn() -> SystemTime,
}

impl Audit {
    /// Continues the log, and records a torn last line.
    ///
    /// # Errors
    /// The log can't be read or written.
    pub fn open(file: File, boot_id: &str, now: fn() -> SystemTime) -> Result<Self, Fault> {
        let (chain, tail) = Chain::open(file, boot_id)?;
        let audit = Self { chain: Mutex::new(chain), now };
        match tail {
            Tail::Whole => {}
            Tail::Torn(size, digest) => {
                audit.note(Event::Torn, &Record { bytes: Some((size, digest)), ..Record::default() })?;
            }
        }
        Ok(audit)
    }

    /// Records the intent of an effect and waits until it is on disk.
    ///
    /// # Errors
    /// The log can't take it: the effect must not happen.
    pub fn begin(&self, record: &Record) -> Result<Ticket, Fault> {
        self.durable(Event::Begin, record).map(|_| Ticket { minted: () })
    }

    /// Records that a request waits for a person, and waits until that is on disk.
    ///
    /// # Errors
    /// The log can't take it: nobody must be asked.
    pub fn ask(&self, record: &Record) -> Result<Asked, Fault> {
        self.durable(Event::Pending, record).map(|_| Asked(()))
    }

    /// Takes up an effect whose intent an earlier helper recorded, to learn and record its outcome.
    #[must_use]
    pub(crate) fn resume() -> Ticket {
        Ticket { minted: () }
    }

    /// Records the outcome of an effect and waits until it is on disk. Consumes the ticket: one effect, one end.
    ///
    /// # Errors
    /// The log can't take it.
    #[expect(clippy::needless_pass_by_value, reason = "consuming the ticket is the point")]
    pub fn end(&self, ticket: Ticket, event: Event, record: &Record) -> Result<(), Fault> {
        let Ticket { minted: () } = ticket;
        self.durable(event, record).map(drop)
    }

    /// Records what had no effect. Synced with the next synced record or within a second.
    ///
    /// # Errors
    /// The log can't take it.
    pub fn note(&self, event: Event, record: &Record) -> Result<u64, Fault> {
        locked(&self.chain).append(event, record, self.unix())
    }

    /// Makes everything recorded so far durable.
    ///
    /// # Errors
    /// The kernel could not write it out.
    pub fn sync(&self) -> Result<(), Fault> {
        locked(&self.chain).sync()
    }

    /// The number of the last record.
    #[must_use]
    pub fn seq(&self) -> u64 {
        locked(&self.chain).seq()
    }

    fn durable(&self, event: Event, record: &Record) -> Result<u64, Fault> {
        let mut chain = locked(&self.chain);
        let seq = chain.append(event, record, self.unix())?;
        chain.sync()?;
        // The seal's key moves on here, after the record is on disk and before its effect, once there is a seal.
        Ok(seq)
    }

    fn unix(&self) -> Duration {
        (self.now)().duration_since(UNIX_EPOCH).unwrap_or_default()
    }
}
