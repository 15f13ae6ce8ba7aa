//! The audit log: intent on disk before an effect, outcome after it. `privhelper/AUDIT.md` is the format.

mod budget;
mod chain;
mod file;
mod journal;
mod keys;
mod limits;
mod location;
mod record;
mod states;
mod upkeep;

pub use budget::{Budget, Class, Due, Suppressed};
pub use journal::{RECORD, TIP};
pub use limits::{IDS, Limits};
pub use location::Location;
pub use record::{Event, Payer, Record, size_and_digest};

use crate::fault::Fault;
use crate::sys::locked;
use crate::sys::sockets::Journal;
use chain::{Appended, Chain};
use std::sync::{Mutex, MutexGuard};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

/// The audit log of this host.
pub struct AuditLog {
    chain: Mutex<Chain>,
    budget: Mutex<Budget>,
    limits: Mutex<Limits>,
    /// What others did to the log, and why it cannot be kept as configured.
    notes: Mutex<Vec<String>>,
    /// When the tip was last signed, since boot.
    tip: Mutex<Duration>,
    journal: Journal,
    now: fn() -> SystemTime,
    since_boot: fn() -> Duration,
}

impl AuditLog {
    /// Continues the log, and records what differs from how it was left.
    ///
    /// # Errors
    /// The log or the seal's keys cannot be read or written.
    pub fn open(location: &Location) -> Result<Self, Fault> {
        let (chain, opened) = Chain::open(location)?;
        let log = Self {
            chain: Mutex::new(chain),
            budget: Mutex::default(),
            limits: Mutex::default(),
            notes: Mutex::default(),
            tip: Mutex::new((location.since_boot)()),
            journal: Journal::new(&location.journal),
            now: location.now,
            since_boot: location.since_boot,
        };
        if let Some((size, digest)) = opened.torn {
            let own = size_and_digest(size, digest);
            log.note(Event::Torn, &Record { own, ..Record::default() })?;
        }
        if let Some(file) = opened.rotated {
            log.begin_file(&mut locked(&log.chain), &file, None)?;
        }
        for what in opened.tampered {
            log.tampered(&mut locked(&log.chain), &what)?;
        }
        Ok(log)
    }

    /// Records the intent of an effect, waits for the disk, and reserves the space of its end.
    ///
    /// # Errors
    /// The log cannot take it: the effect must not happen.
    pub fn begin(&self, record: &Record) -> Result<u64, Fault> {
        self.reserve_ends(|ends| ends.saturating_add(1));
        let begun = self.durable(Event::Begin, record);
        if begun.is_err() {
            self.reserve_ends(|ends| ends.saturating_sub(1));
        }
        begun
    }

    /// Records the outcome of an effect, waits for the disk, and gives back the space of its end.
    ///
    /// # Errors
    /// The log cannot take it; the space stays reserved.
    pub fn end(&self, event: Event, record: &Record) -> Result<(), Fault> {
        self.durable(event, record)?;
        self.reserve_ends(|ends| ends.saturating_sub(1));
        Ok(())
    }

    /// Changes how many effects have space for their end.
    pub fn reserve_ends(&self, change: impl FnOnce(u64) -> u64) {
        locked(&self.chain).reserve_ends(change);
    }

    /// Records what had no effect. Synced with the next synced record or within a second.
    ///
    /// # Errors
    /// The log cannot take it.
    pub fn note(&self, event: Event, record: &Record) -> Result<u64, Fault> {
        let mut chain = self.watched()?;
        Ok(self.append(&mut chain, event, record)?.seq)
    }

    /// Records and waits for the disk.
    ///
    /// # Errors
    /// The log cannot take it.
    pub fn durable(&self, event: Event, record: &Record) -> Result<u64, Fault> {
        let mut chain = self.watched()?;
        let appended = self.append(&mut chain, event, record)?;
        chain.sync()?;
        Ok(appended.seq)
    }

    /// Makes everything recorded so far durable.
    ///
    /// # Errors
    /// The kernel could not write it, or there is no file to write.
    pub fn sync(&self) -> Result<(), Fault> {
        self.watched()?.sync()
    }

    /// Counts a request that is about to be recorded.
    ///
    /// # Errors
    /// It is over the budget; after how many seconds another try makes sense.
    pub fn admit(&self, uid: u32, class: Class) -> Result<(), u32> {
        let limits = *locked(&self.limits);
        locked(&self.budget).admit(uid, class, limits, (self.since_boot)(), self.unix())
    }

    /// Sets the limits of the accepted policy.
    pub fn limit(&self, limits: Limits) {
        *locked(&self.limits) = limits;
    }

    /// Returns the number of the last record.
    pub fn seq(&self) -> u64 {
        locked(&self.chain).tip().0
    }

    /// Says what a person must know of log and seal, one sentence each.
    pub fn notes(&self) -> Vec<String> {
        [locked(&self.chain).notes(), locked(&self.notes).clone()].concat()
    }

    /// Locks the chain, after a record of what others did to its file.
    fn watched(&self) -> Result<MutexGuard<'_, Chain>, Fault> {
        let mut chain = locked(&self.chain);
        if let Some(what) = chain.watch()? {
            self.tampered(&mut chain, &what)?;
        }
        Ok(chain)
    }

    fn append(&self, chain: &mut Chain, event: Event, record: &Record) -> Result<Appended, Fault> {
        let appended = chain.append(event, record, self.unix())?;
        if let Some(peer) = record.client {
            let boot = (self.since_boot)();
            locked(&self.budget).charge(peer.uid, record.origin, appended.line.len(), boot);
        }
        journal::send(&self.journal, event, record, &appended);
        Ok(appended)
    }

    fn unix(&self) -> Duration {
        (self.now)().duration_since(UNIX_EPOCH).unwrap_or_default()
    }
}
