//! What is done for the log once a second and at the end: budgets told, tips signed, files put away.

use super::budget::Due;
use super::chain::{Chain, rotated};
use super::json::Json;
use super::record::{Event, Record};
use super::{Audit, Limits, journal, rfc3339};
use crate::error::Fault;
use crate::sys::{locked, store};
use std::time::SystemTime;

/// What is said in status of things done to the log; the log itself has all.
const NOTES_MAX: usize = 16;

impl Audit {
    /// What a second brings. A failure is said in status, and tried again a second later.
    pub fn tick(&self) {
        let limits = *locked(&self.limits);
        // Whatever fails here also refuses the next effect.
        drop(self.sync());
        drop(self.tell_suppressed(Due::Minutely));
        drop(self.take_up_seal());
        if let Err(fault) = self.rotate(limits) {
            self.remark(format!("the audit log can't be rotated: {fault}"));
        }
        let now = (self.since_boot)();
        let mut last = locked(&self.tip);
        if now.saturating_sub(*last) >= limits.tip_interval {
            *last = now;
            drop(self.sign());
        }
    }

    /// Signs the last record, and tells the journal where the log ends.
    ///
    /// # Errors
    /// The log can't take the signature.
    pub fn sign(&self) -> Result<(), Fault> {
        let mut chain = self.watched()?;
        self.sign_in(&mut chain)?;
        let (seq, hash) = chain.tip();
        journal::tell_tip(&self.journal, seq, hash);
        Ok(())
    }

    /// Records the end, signed.
    ///
    /// # Errors
    /// The log can't take it.
    pub fn stop(&self) -> Result<(), Fault> {
        self.tell_suppressed(Due::All)?;
        self.durable(Event::Stop, &Record::default())?;
        self.sign()
    }

    fn sign_in(&self, chain: &mut Chain) -> Result<(), Fault> {
        if let Some(appended) = chain.sign(self.unix())? {
            journal::tell(&self.journal, Event::Sealed, &Record::default(), &appended);
        }
        Ok(())
    }

    fn tell_suppressed(&self, due: Due) -> Result<(), Fault> {
        let over = locked(&self.budget).over(due, (self.since_boot)());
        for (uid, told) in over {
            let own = Json::new().number("uid", uid).number("count", told.count);
            let own = own.text("first", &rfc3339(told.first)).text("last", &rfc3339(told.last));
            self.note(Event::Suppressed, &Record { own, ..Record::default() })?;
            locked(&self.budget).told(uid, told, (self.since_boot)());
        }
        Ok(())
    }

    /// `audit keygen` was run since: the first epoch begins with a signature of what stands there.
    fn take_up_seal(&self) -> Result<(), Fault> {
        let mut chain = locked(&self.chain);
        if chain.take_up_seal()? { self.sign_in(&mut chain) } else { Ok(()) }
    }

    fn rotate(&self, limits: Limits) -> Result<(), Fault> {
        let now = (self.now)();
        let mut chain = locked(&self.chain);
        let facts = chain.facts();
        let is_old = |made: SystemTime| now.duration_since(made).is_ok_and(|age| age >= limits.max_age);
        if facts.size == 0 || (facts.size < limits.max_bytes && !facts.made.is_some_and(is_old)) {
            return Ok(());
        }
        self.sign_in(&mut chain)?;
        let name = chain.rotate()?;
        let files = rotated(chain.directory())?;
        let surplus = files.len().saturating_sub(limits.keep_files);
        let is_past = |written: SystemTime| now.duration_since(written).is_ok_and(|age| age > limits.keep);
        let past = files.iter().take(surplus).take_while(|file| file.written.is_some_and(is_past)).count();
        // Said only of what goes now: what somebody else removed is not to look as if it had been in order.
        let kept = files.get(past).filter(|_| past > 0).map(|first| first.first);
        self.begin_file(&mut chain, &name, kept)?;
        files.iter().take(past).try_for_each(|file| store::remove_file(&file.path))
    }

    /// The first record of a file: where those before it stand, and from which on they are kept.
    pub(super) fn begin_file(&self, chain: &mut Chain, name: &str, kept: Option<u64>) -> Result<(), Fault> {
        let own = Json::new().text("file", name);
        let own = match kept {
            Some(kept) => own.number("kept", kept),
            None => own,
        };
        self.append(chain, Event::Rotated, &Record { own, ..Record::default() })?;
        chain.sync()
    }

    /// Records that the log is not as the helper left it, and remembers it for status.
    pub(super) fn tampered(&self, chain: &mut Chain, what: &str) -> Result<(), Fault> {
        let outcome = Json::new().text("detail", what);
        let appended = self.append(chain, Event::Tampered, &Record { outcome, ..Record::default() })?;
        self.remark(format!("the audit log was tampered with (record {}): {what}", appended.seq));
        chain.sync()
    }

    fn remark(&self, note: String) {
        let mut notes = locked(&self.notes);
        if notes.len() < NOTES_MAX && !notes.contains(&note) {
            notes.push(note);
        }
    }
}
