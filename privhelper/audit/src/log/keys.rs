//! The seal's keys on this host, and their comparison with the log.

use super::location::Location;
use super::record::Event;
use crate::fault::Fault;
use crate::sys::files::open_slot;
use postern_peers::files;
use postern_policy::types::Digest;
use postern_record::Json;
use postern_record::chain::End;
use postern_seal::{Epoch, RunningKeys, Tip};
use std::fs::File;
use std::os::unix::fs::FileExt;
use std::path::Path;

/// Most bytes of either file.
const FILE_MAX: u64 = 4096;

/// The active keys; none before `audit keygen`.
pub struct KeyStore {
    location: Location,
    active: Option<(RunningKeys, File)>,
}

impl KeyStore {
    /// Goes on with the keys of this boot, or begins an epoch. `end` is the log's last record; its number and hash become
    /// those after which the log goes on. Returns what does not match, each one sentence.
    ///
    /// # Errors
    /// The files cannot be read or written.
    pub fn open(location: &Location, end: &mut End) -> Result<(Self, Vec<String>), Fault> {
        let mut store = Self { location: location.clone(), active: None };
        let mut tampered = Vec::new();
        let mut tell = |what: &str| tampered.push(what.to_owned());
        if end.is_changed {
            tell("the last record was changed: its hash is not that of its bytes");
        }
        let running = read(&location.running)?.as_deref().and_then(RunningKeys::decode);
        let next = read(&location.next)?;
        let epoch = next.as_deref().and_then(Epoch::decode);
        if next.is_some() && epoch.is_none() {
            tell("seal/next is no seed of an epoch");
        }
        match (running.filter(|running| running.boot_id == location.boot_id), epoch) {
            (Some(running), epoch) => {
                let (running, mismatch) = matched(running, end);
                if let Some(what) = &mismatch {
                    tell(what);
                }
                match epoch {
                    // Killed between the two files: the seed of the running epoch must not stay.
                    Some(epoch) if epoch.number == running.epoch => store.put_next(&epoch.next())?,
                    Some(epoch) if epoch.number == running.epoch.saturating_add(1) => {}
                    Some(_) | None => tell("seal/next is not the seed of the epoch after this one"),
                }
                (end.seq, end.hash) = (running.seq, running.hash);
                store.activate(running)?;
            }
            (None, Some(epoch)) => {
                if end.seal.is_some() && end.boot_id == location.boot_id {
                    tell("the keys of this boot are gone: a new epoch begins");
                }
                if end.seq == 0 && epoch.number > 0 {
                    tell("the log is gone: there were records, and none are left");
                }
                store.begin(&epoch, end.seq, end.hash)?;
            }
            (None, None) if end.seal.is_some() => {
                tell("the seal's seed is gone: what follows is unsealed until `postern-admin audit keygen`");
            }
            (None, None) => {}
        }
        Ok((store, tampered))
    }

    /// Begins an epoch after this record: the keys first, then the seed moves on, then the first record.
    fn begin(&mut self, epoch: &Epoch, seq: u64, hash: Digest) -> Result<(), Fault> {
        self.activate(RunningKeys::begin(epoch, &self.location.boot_id, seq, hash))?;
        self.put_next(&epoch.next())
    }

    fn activate(&mut self, running: RunningKeys) -> Result<(), Fault> {
        let slot = open_slot(&self.location.running).map_err(Fault::audit)?;
        write(&slot, &running.encode())?;
        self.active = Some((running, slot));
        Ok(())
    }

    fn put_next(&self, epoch: &Epoch) -> Result<(), Fault> {
        let slot = open_slot(&self.location.next).map_err(Fault::audit)?;
        write(&slot, &epoch.encode())?;
        slot.sync_data().map_err(Fault::audit)
    }

    /// Begins the first epoch once `audit keygen` has made its seed.
    ///
    /// # Errors
    /// The files cannot be read or written.
    pub fn begin_first_epoch(&mut self, seq: u64, hash: Digest) -> Result<bool, Fault> {
        if self.active.is_some() {
            return Ok(false);
        }
        let next = read(&self.location.next)?.as_deref().and_then(Epoch::decode);
        next.map_or(Ok(false), |epoch| self.begin(&epoch, seq, hash).map(|()| true))
    }

    /// Returns the epoch and the number of its first record.
    pub fn epoch(&self) -> Option<(u64, u64)> {
        self.active.as_ref().map(|(running, _)| (running.epoch, running.since))
    }

    /// Returns the seal of the next record.
    pub fn seal(&self, hash: Digest) -> Option<Digest> {
        self.active.as_ref().map(|(running, _)| running.key.seal(hash))
    }

    /// Signs the log's last record; returns the members of the record with the signature.
    pub fn sign(&self) -> Option<Json> {
        let RunningKeys { epoch, seq, hash, signer, boots, .. } = &self.active.as_ref()?.0;
        let next = signer.next().public();
        let tip = Tip { epoch: *epoch, seq: *seq, hash: *hash, next, boots: *boots };
        let boots = boots.map(|key| key.to_string());
        let own = Json::new().text("public", &signer.public().to_string()).text("next", &next.to_string());
        Some(own.texts("boots", boots).text("signature", &signer.sign(&tip)))
    }

    /// Evolves the keys after a record was appended, so that no effect of it finds the key that sealed it.
    ///
    /// # Errors
    /// They cannot be written. In memory they have evolved all the same.
    pub fn evolve(&mut self, seq: u64, hash: Digest, is_signature: bool) -> Result<(), Fault> {
        let Some((running, slot)) = &mut self.active else {
            return Ok(());
        };
        evolve(running, seq, hash, is_signature);
        write(slot, &running.encode())
    }
}

fn read(path: &Path) -> Result<Option<Vec<u8>>, Fault> {
    files::read(path, FILE_MAX).map_err(Fault::io("read the seal's keys"))
}

/// Overwrites a file. The content always has the same size, so nothing of before stays.
fn write(slot: &File, content: &str) -> Result<(), Fault> {
    slot.write_all_at(content.as_bytes(), 0).map_err(Fault::audit)
}

fn evolve(running: &mut RunningKeys, seq: u64, hash: Digest, is_signature: bool) {
    running.key = running.key.next();
    if is_signature {
        running.signer = running.signer.next();
    }
    (running.seq, running.hash) = (seq, hash);
}

/// Returns the keys after the log's last record, and the mismatch. The keys name the end: a log that differs was changed,
/// and the chain continues from the record that the keys name.
fn matched(mut running: RunningKeys, end: &End) -> (RunningKeys, Option<String>) {
    if (end.seq, end.hash) == (running.seq, running.hash) {
        return (running, None);
    }
    // Killed between the append and the keys.
    let is_next = end.seq == running.seq.saturating_add(1) && end.prev == running.hash;
    if is_next && end.seal == Some(running.key.seal(end.hash)) {
        evolve(&mut running, end.seq, end.hash, end.event == Event::Sealed.as_str());
        return (running, None);
    }
    let (seq, last) = (running.seq, end.seq);
    let what = match last.cmp(&seq) {
        std::cmp::Ordering::Less => format!("records {} to {seq} are gone", last.saturating_add(1)),
        std::cmp::Ordering::Equal => format!("record {seq} is not the one that was written"),
        std::cmp::Ordering::Greater => {
            format!("records {} to {last} are not the recorder's", seq.saturating_add(1))
        }
    };
    (running, Some(what))
}
