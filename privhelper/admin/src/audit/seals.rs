//! Seals and signatures, record by record: `privhelper/audit/AUDIT.md`, "Seal".

use super::chain_error::LineError;
use super::proof::{Proof, ProofState};
use super::record::{Record, hex};
use postern_policy::types::Digest;
use postern_seal::{Key, Public, Tip};
use serde::Deserialize;

/// Epochs that may lie between two that left records; more are no log of ours.
const EPOCHS_MAX: u64 = 1_000_000;
/// Records that a key is moved on over where the beginning of an epoch is not here.
const STEPS_MAX: u64 = 1 << 30;

/// Most numbers that a list of them holds.
const LIST_MAX: usize = 100;

/// The state of seals and signatures after a record.
#[derive(Debug, Clone, Default)]
pub struct Seals {
    /// Number of the epoch and of its first record, as the log says.
    epoch: Option<(u64, u64)>,
    /// The key of the next record, where the key is known.
    key: Option<Key>,
    /// The keys that may sign next, as the last signature names them: of which epoch, and which are trusted.
    signers: Option<Signers>,
    /// The record is a recorder's last, or the signature after it.
    is_stopped: bool,
}

#[derive(Debug, Clone)]
struct Signers {
    epoch: u64,
    next: Public,
    boots: [Public; 2],
    is_trusted: bool,
}

/// Statements of a record about the log itself.
#[derive(Deserialize)]
struct Own<'a> {
    epoch: Option<u64>,
    since: Option<u64>,
    kept: Option<u64>,
    #[serde(borrow)]
    public: Option<&'a str>,
    #[serde(borrow)]
    next: Option<&'a str>,
    #[serde(borrow, default)]
    boots: Vec<&'a str>,
    #[serde(borrow)]
    signature: Option<&'a str>,
}

impl Proof {
    /// Checks a record that the chain has taken, and moves on.
    pub(super) fn check(
        &self,
        seals: &mut Seals,
        state: &mut ProofState,
        record: &Record<'_>,
    ) -> Result<(), LineError> {
        let own = own(record)?;
        self.seal(seals, state, record, own.as_ref()).map_err(LineError::Seal)?;
        if let Some(own) = own {
            state.kept = state.kept.max(own.kept);
            if record.event == b"sealed" {
                self.signature(seals, state, record, &own).map_err(LineError::Seal)?;
            }
        }
        match record.event {
            b"tampered" if state.tampered.len() < LIST_MAX => state.tampered.push(record.seq),
            _ => {}
        }
        seals.is_stopped = record.event == b"stop" || seals.is_stopped && record.event == b"sealed";
        self.compare(seals.key.as_ref(), state, record)
    }

    fn seal(
        &self,
        seals: &mut Seals,
        state: &mut ProofState,
        record: &Record<'_>,
        own: Option<&Own<'_>>,
    ) -> Result<(), String> {
        let seq = record.seq;
        let Some(seal) = record.seal else {
            return match seals.epoch {
                None => Ok(()),
                Some(_) => Err(format!("record {seq} has no seal, and the record before it has one")),
            };
        };
        if let Some((epoch, since)) = own.and_then(|own| own.epoch.zip(own.since)) {
            self.enter(seals, state, seq, epoch, since)?;
        }
        let Some((epoch, _)) = seals.epoch else {
            return Err(format!("record {seq} has a seal, and nothing says of which epoch"));
        };
        state.sealed_from = state.sealed_from.or(Some(seq));
        state.epoch = Some(epoch);
        if let Some(key) = seals.key.take() {
            let digest = Digest::from_bytes(&record.digest).unwrap_or(Digest::ZERO);
            if hex(&key.seal(digest).array()) != *seal {
                return Err(format!(
                    "the seal of record {seq} is not what the key of epoch {epoch} makes: it was rewritten"
                ));
            }
            seals.key = Some(key.next());
            state.checked_from = state.checked_from.or(Some(seq));
        }
        Ok(())
    }

    /// An epoch begins, or a record names its epoch.
    fn enter(
        &self,
        seals: &mut Seals,
        state: &mut ProofState,
        seq: u64,
        epoch: u64,
        since: u64,
    ) -> Result<(), String> {
        match seals.epoch {
            Some(now) if now == (epoch, since) => return Ok(()),
            Some((now, _)) if epoch <= now || since != seq => {
                return Err(format!(
                    "record {seq} says that epoch {epoch} began with record {since}, in epoch {now}"
                ));
            }
            None if since > seq => {
                return Err(format!("record {seq} says that its epoch began with record {since}"));
            }
            Some(_) | None => {}
        }
        let is_cut = seals.epoch.is_some() && !seals.is_stopped;
        if is_cut && state.open_ends.len() < LIST_MAX {
            state.open_ends.push(seq.saturating_sub(1));
        }
        seals.epoch = Some((epoch, since));
        seals.key = self.key(epoch, seq - since)?;
        Ok(())
    }

    /// The key of the record that is `steps` records after the first of an epoch.
    fn key(&self, epoch: u64, steps: u64) -> Result<Option<Key>, String> {
        let Some(first) = &self.epoch else { return Ok(None) };
        let Some(epochs) = epoch.checked_sub(first.number) else { return Ok(None) };
        if epochs > EPOCHS_MAX || steps > STEPS_MAX {
            return Err(format!("epoch {epoch} is too far from epoch {} of the key", first.number));
        }
        let seed = (0..epochs).fold(first.clone(), |seed, _| seed.next());
        Ok(Some((0..steps).fold(seed.key(), |key, _| key.next())))
    }

    /// A signature of the record before this one.
    fn signature(
        &self,
        seals: &mut Seals,
        state: &mut ProofState,
        record: &Record<'_>,
        own: &Own<'_>,
    ) -> Result<(), String> {
        let seq = record.seq;
        let form = || format!("record {seq} is not a signature of this log");
        let public = own.public.and_then(Public::from_hex).ok_or_else(form)?;
        let next = own.next.and_then(Public::from_hex).ok_or_else(form)?;
        let boots = own.boots.iter().map(|key| Public::from_hex(key)).collect::<Option<Vec<_>>>();
        let boots = boots.and_then(|boots| <[Public; 2]>::try_from(boots).ok()).ok_or_else(form)?;
        let (epoch, _) = seals.epoch.or_else(|| own.epoch.zip(own.since)).ok_or_else(form)?;
        let named = seals.signers.as_ref().and_then(|signers| signers.of(epoch).map(|key| (key, signers)));
        // After a gap of several epochs nothing names the key; the chain of trust then ends.
        if named.is_some_and(|(key, _)| key != public) {
            return Err(format!("record {seq} is signed by another key than the signature before it names"));
        }
        let is_trusted = self.public == Some(public) || named.is_some_and(|(_, signers)| signers.is_trusted);
        if is_trusted {
            let hash = std::str::from_utf8(record.prev).ok().and_then(Digest::from_hex).ok_or_else(form)?;
            let tip = Tip { epoch, seq: seq - 1, hash, next, boots };
            if !public.verify(&tip, own.signature.unwrap_or_default()) {
                return Err(format!(
                    "the signature in record {seq} is not that of its key: it was rewritten"
                ));
            }
            state.signatures += 1;
            state.signed_to = Some(seq - 1);
        }
        state.next_public = Some(next.to_string());
        seals.signers = Some(Signers { epoch, next, boots, is_trusted });
        Ok(())
    }
}

impl Signers {
    /// The key that the next signature must be by, if it is in this epoch.
    fn of(&self, epoch: u64) -> Option<Public> {
        match epoch.checked_sub(self.epoch)? {
            0 => Some(self.next),
            1 => Some(self.boots[0]),
            2 => Some(self.boots[1]),
            _ => None,
        }
    }
}

/// Returns the record's statement about the log itself, if it has one.
fn own<'a>(record: &Record<'a>) -> Result<Option<Own<'a>>, LineError> {
    match record.event {
        b"start" | b"torn" | b"rotated" | b"sealed" | b"tampered" => serde_json::from_slice(record.line)
            .map(Some)
            .map_err(|error| LineError::Seal(format!("record {} is not readable: {error}", record.seq))),
        _ => Ok(None),
    }
}
