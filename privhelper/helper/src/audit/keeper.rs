//! The seal's keys on this host: where they stand, and what is done when they and the log do not fit.

use super::Place;
use super::chain::End;
use super::seal::{Epoch, Running, Tip};
use crate::error::Fault;
use crate::sys::log::{Slot, keeps_old};
use crate::sys::store;
use postern_policy::types::Digest;

/// Most bytes of either file.
const FILE_MAX: u64 = 4096;

/// The keys in force; none before `audit keygen`.
#[derive(Debug)]
pub struct Keeper {
    place: Place,
    held: Option<Held>,
}

#[derive(Debug)]
struct Held {
    running: Running,
    slot: Slot,
}

/// Behind which record the log goes on, and what does not fit.
#[derive(Debug)]
pub struct Found {
    /// Number and hash of the last record.
    pub last: (u64, Digest),
    /// Each one sentence.
    pub tampered: Vec<String>,
}

/// A signature of the log's last record, and the keys that it names.
#[derive(Debug)]
pub struct Signed {
    /// What is signed.
    pub tip: Tip,
    /// With which key.
    pub public: super::seal::Public,
    /// The signature.
    pub signature: String,
}

impl Keeper {
    /// Takes up the keys of this boot, or begins an epoch. `end` is the log's last record.
    ///
    /// # Errors
    /// The files can't be read or written.
    pub fn open(place: &Place, end: &End) -> Result<(Self, Found), Fault> {
        let mut keeper = Self { place: place.clone(), held: None };
        let mut found = Found { last: (end.seq, end.hash), tampered: Vec::new() };
        let mut tell = |what: &str| found.tampered.push(what.to_owned());
        if !end.is_whole {
            tell("the last record was changed: its hash is not that of its bytes");
        }
        let running = store::read(&place.running, FILE_MAX)?.as_deref().and_then(Running::decode);
        let next = store::read(&place.next, FILE_MAX)?;
        let epoch = next.as_deref().and_then(Epoch::decode);
        if next.is_some() && epoch.is_none() {
            tell("seal/next is no seed of an epoch");
        }
        match (running.filter(|running| running.boot_id == place.boot_id), epoch) {
            (Some(running), epoch) => {
                let fit = fit(running, end);
                if let Some(what) = &fit.1 {
                    tell(what);
                }
                match epoch {
                    // Killed between the two files: the seed of what runs must not stay.
                    Some(epoch) if epoch.number == fit.0.epoch => keeper.put_next(&epoch.next())?,
                    Some(epoch) if epoch.number == fit.0.epoch.saturating_add(1) => {}
                    Some(_) | None => tell("seal/next is not the seed of the epoch after this one"),
                }
                found.last = (fit.0.seq, fit.0.hash);
                keeper.hold(fit.0)?;
            }
            (None, Some(epoch)) => {
                if end.seal.is_some() && end.boot_id == place.boot_id {
                    tell("the keys of this boot are gone: a new epoch begins");
                }
                if end.seq == 0 && epoch.number > 0 {
                    tell("the log is gone: there were records, and none are left");
                }
                keeper.begin(&epoch, end.seq, end.hash)?;
            }
            (None, None) if end.seal.is_some() => {
                tell("the seal's seed is gone: what follows is unsealed until `postern-admin audit keygen`");
            }
            (None, None) => {}
        }
        Ok((keeper, found))
    }

    /// Begins an epoch behind this record: the keys first, then the seed is moved on, then the first record.
    fn begin(&mut self, epoch: &Epoch, seq: u64, hash: Digest) -> Result<(), Fault> {
        self.hold(Running::begin(epoch, &self.place.boot_id, seq, hash))?;
        self.put_next(&epoch.next())
    }

    fn hold(&mut self, running: Running) -> Result<(), Fault> {
        let slot = Slot::open(&self.place.running).map_err(Fault::Audit)?;
        slot.write(&running.encode()).map_err(Fault::Audit)?;
        self.held = Some(Held { running, slot });
        Ok(())
    }

    fn put_next(&self, epoch: &Epoch) -> Result<(), Fault> {
        let slot = Slot::open(&self.place.next).map_err(Fault::Audit)?;
        slot.write_through(&epoch.encode()).map_err(Fault::Audit)
    }

    /// Begins the first epoch once `audit keygen` has made its seed.
    ///
    /// # Errors
    /// The files can't be read or written.
    pub fn take_up(&mut self, seq: u64, hash: Digest) -> Result<bool, Fault> {
        if self.held.is_some() {
            return Ok(false);
        }
        let next = store::read(&self.place.next, FILE_MAX)?.as_deref().and_then(Epoch::decode);
        next.map_or(Ok(false), |epoch| self.begin(&epoch, seq, hash).map(|()| true))
    }

    /// The epoch and the number of its first record.
    #[must_use]
    pub fn epoch(&self) -> Option<(u64, u64)> {
        self.held.as_ref().map(|held| (held.running.epoch, held.running.since))
    }

    /// The seal of the next record.
    #[must_use]
    pub fn seal(&self, hash: Digest) -> Option<Digest> {
        self.held.as_ref().map(|held| held.running.key.seal(hash))
    }

    /// A signature of the log's last record.
    #[must_use]
    pub fn sign(&self) -> Option<Signed> {
        let Running { epoch, seq, hash, signer, boots, .. } = &self.held.as_ref()?.running;
        let next = signer.next().public();
        let tip = Tip { epoch: *epoch, seq: *seq, hash: *hash, next, boots: *boots };
        Some(Signed { tip, public: signer.public(), signature: signer.sign(&tip) })
    }

    /// Moves the keys on behind the record that was appended: what it lets happen finds no key that sealed it.
    ///
    /// # Errors
    /// They can't be written. In memory they have moved on all the same.
    pub fn move_on(&mut self, seq: u64, hash: Digest, is_signature: bool) -> Result<(), Fault> {
        let Some(Held { running, slot }) = &mut self.held else {
            return Ok(());
        };
        move_on(running, seq, hash, is_signature);
        slot.write(&running.encode()).map_err(Fault::Audit)
    }

    /// What a person must know of the seal.
    #[must_use]
    pub fn notes(&self) -> Vec<String> {
        if self.held.is_none() {
            return vec!["the audit log is unsealed: see `postern-admin audit keygen`".to_owned()];
        }
        let kept = keeps_old(&self.place.next);
        kept.map(|why| format!("the seal's old seeds may be found on the disk: {why}")).into_iter().collect()
    }
}

fn move_on(running: &mut Running, seq: u64, hash: Digest, is_signature: bool) {
    running.key = running.key.next();
    if is_signature {
        running.signer = running.signer.next();
    }
    (running.seq, running.hash) = (seq, hash);
}

/// The keys behind the log's last record, and what does not fit. They remember the end: where the log differs,
/// it is the log that was touched, and the chain goes on from what the keys know.
fn fit(mut running: Running, end: &End) -> (Running, Option<String>) {
    if (end.seq, end.hash) == (running.seq, running.hash) {
        return (running, None);
    }
    // Killed between the append and the keys.
    let is_next = end.seq == running.seq.saturating_add(1) && end.prev == running.hash;
    if is_next && end.seal == Some(running.key.seal(end.hash)) {
        move_on(&mut running, end.seq, end.hash, end.is_signature);
        return (running, None);
    }
    let (seq, last) = (running.seq, end.seq);
    let what = match last.cmp(&seq) {
        std::cmp::Ordering::Less => format!("records {} to {seq} are gone", last.saturating_add(1)),
        std::cmp::Ordering::Equal => format!("record {seq} is not the one that was written"),
        std::cmp::Ordering::Greater => {
            format!("records {} to {last} are not the helper's", seq.saturating_add(1))
        }
    };
    (running, Some(what))
}
