//! The audit log: intent on disk before an effect, outcome after it. `privhelper/audit/AUDIT.md` is the format.

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

pub use budget::Budget;
pub use journal::{RECORD, TIP};
pub use limits::{IDS, Limits};
pub use location::Location;
pub use record::{Asker, Event, Mark, Payer, Record, size_and_digest};

use crate::fault::Fault;
use crate::sys::{files, sockets::Journal};
use chain::{Appended, Chain, rotated};
use postern_peers::{Class, locked};
use std::sync::{Mutex, MutexGuard};
use std::time::{Duration, SystemTime};

/// The audit log of this host.
pub struct AuditLog {
    chain: Mutex<Chain>,
    budget: Mutex<Budget>,
    /// Notes for `status`: changes by other processes, and failures of the upkeep.
    notes: Mutex<Vec<String>>,
    /// When the tip was last signed, since boot.
    tip: Mutex<Duration>,
    location: Location,
    /// The boot that wrote the last record before this recorder's first.
    pub previous_boot: String,
    /// When that was written; the start, if there is none.
    left: SystemTime,
    /// The journal.
    pub journal: Journal,
}

impl AuditLog {
    /// Continues the log, and records what differs from how it was left.
    ///
    /// # Errors
    /// The log or the seal's keys cannot be read or written.
    pub fn open(location: &Location) -> Result<Self, Fault> {
        let last = files::metadata(&location.log.join("audit.jsonl")).map_err(Fault::audit)?;
        let last = last.filter(|facts| facts.len() > 0).and_then(|facts| facts.modified().ok());
        let last = last.or(rotated(&location.log)?.pop().and_then(|file| file.written));
        let left = last.map_or((location.now)(), |last| last.min((location.now)()));
        let (chain, opened) = Chain::open(location)?;
        let log = Self {
            left,
            chain: Mutex::new(chain),
            budget: Mutex::default(),
            notes: Mutex::default(),
            tip: Mutex::new((location.since_boot)()),
            journal: Journal::new(&location.journal).map_err(Fault::audit)?,
            location: location.clone(),
            previous_boot: opened.boot_id,
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
        begun.inspect_err(|_| self.reserve_ends(|ends| ends.saturating_sub(1)))
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
        let ends = &mut locked(&self.chain).log.ends;
        *ends = change(*ends);
    }

    /// Records an event without an effect. Synced with the next synced record or within a second.
    ///
    /// # Errors
    /// The log cannot take it.
    pub fn note(&self, event: Event, record: &Record) -> Result<u64, Fault> {
        Ok(self.append(&mut *self.watched()?, event, record)?.seq)
    }

    /// Records and waits for the disk.
    ///
    /// # Errors
    /// The log cannot take it.
    pub fn durable(&self, event: Event, record: &Record) -> Result<u64, Fault> {
        let mut chain = self.watched()?;
        let appended = self.append(&mut chain, event, record)?;
        chain.log.sync()?;
        Ok(appended.seq)
    }

    /// Makes everything recorded so far durable.
    ///
    /// # Errors
    /// The kernel could not write it, or there is no file to write.
    pub fn sync(&self) -> Result<(), Fault> {
        self.watched()?.log.sync()
    }

    /// Counts a request that is about to be recorded.
    ///
    /// # Errors
    /// It is over the budget; after how many seconds another try makes sense.
    pub fn admit(&self, uid: u32, class: Class) -> Result<(), u32> {
        let times = ((self.location.since_boot)(), self.location.unix());
        locked(&self.budget).admit(uid, class, times)
    }

    /// Sets the limits of the accepted policy.
    pub fn limit(&self, limits: Limits) {
        locked(&self.budget).limits = limits;
    }

    /// Returns the number of the last record.
    pub fn seq(&self) -> u64 {
        locked(&self.chain).seq
    }

    /// Returns notes about log and seal for `status`, one sentence each.
    pub fn notes(&self) -> Vec<String> {
        let unsealed = "the audit log is unsealed: see `postern-admin audit keygen`".to_owned();
        let unsealed = locked(&self.chain).keys.epoch().is_none().then_some(unsealed);
        unsealed.into_iter().chain(locked(&self.notes).iter().cloned()).collect()
    }

    /// Locks the chain, after it has recorded changes of the file by other processes.
    fn watched(&self) -> Result<MutexGuard<'_, Chain>, Fault> {
        let mut chain = locked(&self.chain);
        if let Some(what) = chain.watch()? {
            self.tampered(&mut chain, &what)?;
        }
        Ok(chain)
    }

    fn append(&self, chain: &mut Chain, event: Event, record: &Record) -> Result<Appended, Fault> {
        let appended = chain.append(event, record, self.location.unix())?;
        if let Some(peer) = record.client {
            let boot = (self.location.since_boot)();
            locked(&self.budget).charge(peer.uid, record.origin, appended.line.len(), boot);
        }
        journal::send(&self.journal, event, record, &appended);
        Ok(appended)
    }
}
