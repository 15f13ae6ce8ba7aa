//! The record of everything: intent on disk before an effect, outcome after it. `privhelper/AUDIT.md` is the format.
//!
//! Only [`Audit::begin`] mints a [`Ticket`], and every effect takes one, so an
//! effect without a record on disk does not compile:
//!
//! ```compile_fail
//! let forged = postern_helper::audit::Ticket { minted: () };
//! ```

mod budget;
mod chain;
mod journal;
mod json;
mod keeper;
mod limits;
mod log;
mod record;
pub mod seal;
mod time;
mod upkeep;

pub use budget::{Budget, Due, Suppressed};
pub use journal::TIP;
pub use json::Json;
pub use limits::Limits;
pub use record::{Event, Payer, Record, bytes};
pub use time::rfc3339;

use crate::error::Fault;
use crate::sys::locked;
use crate::sys::socket::Journal;
use chain::{Appended, Chain};
use std::path::PathBuf;
use std::sync::{Mutex, MutexGuard};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

/// The proof that the intent of one effect is on disk.
#[derive(Debug)]
pub struct Ticket {
    minted: (),
}

/// The proof that it is on disk that a request waits for a person.
#[derive(Debug)]
pub struct Asked(());

/// Where the log and the seal's keys stand, and whose time they go by.
#[derive(Debug, Clone)]
pub struct Place {
    /// The log's directory.
    pub log: PathBuf,
    /// The next epoch's seed, on the disk.
    pub next: PathBuf,
    /// This boot's keys, in memory alone.
    pub running: PathBuf,
    /// Where the journal takes messages with fields.
    pub journal: PathBuf,
    /// This boot's id.
    pub boot_id: String,
    /// The wall clock.
    pub now: fn() -> SystemTime,
    /// Time since boot, sleep included.
    pub since_boot: fn() -> Duration,
}

/// The audit log of this helper.
#[derive(Debug)]
pub struct Audit {
    chain: Mutex<Chain>,
    budget: Mutex<Budget>,
    limits: Mutex<Limits>,
    /// What was done to the log behind the helper's back, and what keeps it from being kept as it should.
    notes: Mutex<Vec<String>>,
    /// When the tip was last signed, since boot.
    tip: Mutex<Duration>,
    journal: Journal,
    now: fn() -> SystemTime,
    since_boot: fn() -> Duration,
}

impl Audit {
    /// Continues the log, and records what is not as the last helper left it.
    ///
    /// # Errors
    /// The log or the seal's keys can't be read or written.
    pub fn open(place: &Place) -> Result<Self, Fault> {
        let (chain, opened) = Chain::open(place)?;
        let audit = Self {
            chain: Mutex::new(chain),
            budget: Mutex::default(),
            limits: Mutex::default(),
            notes: Mutex::default(),
            tip: Mutex::new((place.since_boot)()),
            journal: Journal::new(&place.journal),
            now: place.now,
            since_boot: place.since_boot,
        };
        if let Some((size, digest)) = opened.torn {
            audit.note(
                Event::Torn,
                &Record { own: record::size_and_digest(size, digest), ..Record::default() },
            )?;
        }
        if let Some(file) = opened.rotated {
            audit.begin_file(&mut locked(&audit.chain), &file, None)?;
        }
        for what in opened.tampered {
            audit.tampered(&mut locked(&audit.chain), &what)?;
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
        let mut chain = self.watched()?;
        let appended = self.append(&mut chain, event, record)?;
        Ok(appended.seq)
    }

    /// Records what counts once it is on disk.
    ///
    /// # Errors
    /// The log can't take it.
    pub fn durable(&self, event: Event, record: &Record) -> Result<u64, Fault> {
        let mut chain = self.watched()?;
        let appended = self.append(&mut chain, event, record)?;
        chain.sync()?;
        Ok(appended.seq)
    }

    /// Makes everything recorded so far durable.
    ///
    /// # Errors
    /// The kernel could not write it out, or there is no file to write.
    pub fn sync(&self) -> Result<(), Fault> {
        self.watched()?.sync()
    }

    /// Whether a request of this client's uid gets a record; if not, it is counted.
    ///
    /// # Errors
    /// It is over its budget; after how many seconds it is not.
    pub fn admit(&self, uid: u32) -> Result<(), u32> {
        let limits = *locked(&self.limits);
        locked(&self.budget).admit(uid, limits, (self.since_boot)(), self.unix())
    }

    /// Goes by these limits from now on.
    pub fn limit(&self, limits: Limits) {
        *locked(&self.limits) = limits;
    }

    /// The number of the last record.
    #[must_use]
    pub fn seq(&self) -> u64 {
        locked(&self.chain).tip().0
    }

    /// What a person must know of log and seal, each one sentence.
    #[must_use]
    pub fn notes(&self) -> Vec<String> {
        [locked(&self.chain).notes(), locked(&self.notes).clone()].concat()
    }

    /// The chain, behind a record of what somebody else did to its file.
    fn watched(&self) -> Result<MutexGuard<'_, Chain>, Fault> {
        let mut chain = locked(&self.chain);
        if let Some(what) = chain.watch()? {
            self.tampered(&mut chain, &what)?;
        }
        Ok(chain)
    }

    fn append(&self, chain: &mut Chain, event: Event, record: &Record) -> Result<Appended, Fault> {
        let appended = chain.append(event, record, self.unix())?;
        if let (Some(peer), Payer::Client) = (record.client, record.origin) {
            locked(&self.budget).charge(peer.uid, appended.line.len(), (self.since_boot)());
        }
        journal::tell(&self.journal, event, record, &appended);
        Ok(appended)
    }

    fn unix(&self) -> Duration {
        (self.now)().duration_since(UNIX_EPOCH).unwrap_or_default()
    }
}
