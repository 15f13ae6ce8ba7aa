//! The log's upkeep, once a second and at the end: `suppressed` records, signed tips, rotation.

use super::chain::{Chain, rotated};
use super::record::{Event, Record};
use super::{AuditLog, Limits, journal};
use crate::fault::Fault;
use postern_peers::locked;
use postern_record::{Json, rfc3339};
use std::time::SystemTime;

/// Most notes in `status`; the log has all.
const NOTES_MAX: usize = 16;

impl AuditLog {
    /// Runs the upkeep that is due. A failed step is tried again a second later.
    pub fn tick(&self) {
        let limits = locked(&self.budget).limits;
        // A failure here also refuses the next effect.
        drop(self.sync());
        drop(self.tell_suppressed(false));
        drop(self.begin_first_epoch());
        if let Err(fault) = self.rotate(limits) {
            self.remark(format!("the audit log cannot be rotated: {fault}"));
        }
        let now = (self.location.since_boot)();
        let mut last = locked(&self.tip);
        if now.saturating_sub(*last) >= limits.tip_interval {
            *last = now;
            drop(self.sign());
        }
    }

    /// Signs the last record, and sends its number and hash to the journal.
    ///
    /// # Errors
    /// The log cannot take the signature.
    pub fn sign(&self) -> Result<(), Fault> {
        let mut chain = self.watched()?;
        self.sign_in(&mut chain)?;
        journal::send_tip(&self.journal, chain.seq, chain.prev);
        Ok(())
    }

    /// Records the end, signed.
    ///
    /// # Errors
    /// The log cannot take it.
    pub fn stop(&self) -> Result<(), Fault> {
        self.tell_suppressed(true)?;
        self.durable(Event::Stop, &Record::default())?;
        self.sign()
    }

    fn sign_in(&self, chain: &mut Chain) -> Result<(), Fault> {
        if let Some(appended) = chain.sign(self.location.unix())? {
            journal::send(&self.journal, Event::Sealed, &Record::default(), &appended);
        }
        Ok(())
    }

    fn tell_suppressed(&self, is_end: bool) -> Result<(), Fault> {
        let over = locked(&self.budget).rates.take_over(is_end, (self.location.since_boot)());
        let noted = over.into_iter().map(|(uid, told)| {
            let own = Json::new().number("uid", uid).number("count", told.count);
            let own = own.text("first", &rfc3339(told.first)).text("last", &rfc3339(told.last));
            let noted = self.note(Event::Suppressed, &Record { own, ..Record::default() });
            noted.inspect_err(|_| locked(&self.budget).rates.put_back(uid, told)).map(drop)
        });
        // Each is tried, also if another fails.
        noted.fold(Ok(()), Result::and)
    }

    /// Begins the first epoch once `audit keygen` was run, with a signature of the log so far.
    fn begin_first_epoch(&self) -> Result<(), Fault> {
        let mut chain = locked(&self.chain);
        let (seq, hash) = (chain.seq, chain.prev);
        if chain.keys.begin_first_epoch(seq, hash)? { self.sign_in(&mut chain) } else { Ok(()) }
    }

    fn rotate(&self, limits: Limits) -> Result<(), Fault> {
        let now = (self.location.now)();
        let mut chain = locked(&self.chain);
        let (size, made) = (chain.log.size, chain.log.made);
        let is_old = |made: SystemTime| now.duration_since(made).is_ok_and(|age| age >= limits.max_age);
        if size == 0 || (size < limits.max_bytes && !made.is_some_and(is_old)) {
            return Ok(());
        }
        self.sign_in(&mut chain)?;
        let name = chain.rotate()?;
        let files = rotated(&self.location.log)?;
        let surplus = files.len().saturating_sub(limits.keep_files);
        let is_past = |written: SystemTime| now.duration_since(written).is_ok_and(|age| age > limits.keep);
        let past = files.iter().take(surplus).take_while(|file| file.written.is_some_and(is_past)).count();
        // Names only what is removed now: a removal by somebody else must not look regular.
        let kept = files.get(past).filter(|_| past > 0).map(|first| first.first);
        self.begin_file(&mut chain, &name, kept)?;
        let removed = files.iter().take(past).try_for_each(|file| std::fs::remove_file(&file.path));
        removed.map_err(Fault::io("remove an old audit log"))
    }

    /// Records the first record of a file: which file has those before it, and from which number on they are kept.
    pub(super) fn begin_file(&self, chain: &mut Chain, name: &str, kept: Option<u64>) -> Result<(), Fault> {
        let own = Json::new().text("file", name);
        let own = kept.iter().fold(own, |own, kept| own.number("kept", *kept));
        self.append(chain, Event::Rotated, &Record { own, ..Record::default() })?;
        chain.log.sync()
    }

    /// Records that others changed the log, and keeps a note for `status`.
    pub(super) fn tampered(&self, chain: &mut Chain, what: &str) -> Result<(), Fault> {
        let outcome = Json::new().text("detail", what);
        let appended = self.append(chain, Event::Tampered, &Record { outcome, ..Record::default() })?;
        self.remark(format!("the audit log was tampered with (record {}): {what}", appended.seq));
        chain.log.sync()
    }

    pub(super) fn remark(&self, note: String) {
        let mut notes = locked(&self.notes);
        if notes.len() < NOTES_MAX && !notes.contains(&note) {
            notes.push(note);
        }
    }
}
