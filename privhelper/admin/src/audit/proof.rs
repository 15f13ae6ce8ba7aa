//! Proofs besides the hash chain: seals, signatures, and records whose hashes are known from elsewhere.
//!
//! Hashes alone prove little: a rewritten log can have correct ones. A seal needs a key that was overwritten after its record; a
//! signature likewise, and is checked without a secret; a tip kept elsewhere is out of the writer's reach.

use super::chain_error::{Kind, LineError};
use super::delays::Anchors;
use super::record::{Hex, Record};
use postern_seal::{Epoch, Key, Public};

/// Knowledge of the log from outside the log.
#[derive(Debug, Clone, Default)]
pub struct Proof {
    /// From `--key`: seals of this epoch and of those after it can be checked.
    pub epoch: Option<Epoch>,
    /// From `--public`: the signature of this key, and those after it, can be checked.
    pub public: Option<Public>,
    /// Records that are known from elsewhere, by their numbers.
    pub known: Vec<KnownRecord>,
    /// When the recorder knew records of the agent's log.
    pub anchors: Anchors,
}

/// A record as it is known from elsewhere.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct KnownRecord {
    /// Its number.
    pub seq: u64,
    /// Its hash.
    pub hash: Hex,
    /// The key of the record after it: nobody who cut the log there could have it.
    pub key: Option<Key>,
    /// Its source.
    pub source: Source,
}

/// The source of knowledge about a record.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Source {
    /// `--tip`.
    Argument,
    /// The journal, whose word for who wrote it is its own.
    Journal,
    /// The running recorder's key file.
    Recorder,
    /// The recorder's log, of the agent's.
    Anchor,
}

impl Source {
    const fn words(self) -> &'static str {
        match self {
            Self::Argument => "the tip that was given",
            Self::Journal => "the journal",
            Self::Recorder => "the running recorder",
            Self::Anchor => "the recorder's log",
        }
    }
}

/// The proofs besides the hashes.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct ProofState {
    /// The first record with a seal.
    pub sealed_from: Option<u64>,
    /// The first record whose seal was checked.
    pub checked_from: Option<u64>,
    /// The epoch of the last record.
    pub epoch: Option<u64>,
    /// Signatures that were checked.
    pub signatures: u64,
    /// The last record under one.
    pub signed_to: Option<u64>,
    /// Records that are as they are known from elsewhere.
    pub matched: u64,
    /// The last of those that an attacker who cut the log could not have forged.
    pub known_to: Option<u64>,
    /// Last records of boots that ended without `stop`: what came after them is not proven.
    pub open_ends: Vec<u64>,
    /// Records by which the recorder says that it found the log changed.
    pub tampered: Vec<u64>,
    /// Records before this number were removed by retention, as the log says.
    pub kept: Option<u64>,
    /// The key of the next signature.
    pub next_public: Option<String>,
}

impl Proof {
    /// Compares a record with what is known of it from elsewhere. `key`: the key of the record after it, if it is known.
    pub(super) fn compare(
        &self,
        key: Option<&Key>,
        state: &mut ProofState,
        record: &Record<'_>,
    ) -> Result<(), LineError> {
        let seq = record.seq;
        let first = self.known.partition_point(|known| known.seq < seq);
        for known in self.known[first..].iter().take_while(|known| known.seq == seq) {
            let source = known.source.words();
            if known.hash != *record.hash {
                return Err(LineError::Known(format!("record {seq} is not the one that {source} knows")));
            }
            let is_proof = match (&known.key, key) {
                (Some(known), Some(key)) if known != key => {
                    return Err(LineError::Known(format!(
                        "the key behind record {seq} is not the one of {source}"
                    )));
                }
                // A writer of the recorder's key file can also cut the log, but cannot have the key of that record.
                (Some(_), key) => key.is_some(),
                (None, _) => true,
            };
            state.matched += 1;
            if is_proof {
                state.known_to = Some(seq);
            }
        }
        Ok(())
    }

    /// Returns a truncation or modification that a consistent chain does not show: a known record behind its end, a
    /// given key that no record was made with, or a `tampered` record.
    pub(super) fn missing(&self, last: Option<u64>, state: &ProofState) -> Option<(Kind, String)> {
        if let Some(known) = self.known.last().filter(|known| last.is_none_or(|last| known.seq > last)) {
            let end =
                last.map_or("the log is empty".to_owned(), |last| format!("the log ends with record {last}"));
            return Some((
                Kind::Truncation,
                format!("{end}, and {} knows record {}", known.source.words(), known.seq),
            ));
        }
        if self.epoch.is_some() && state.checked_from.is_none() {
            return Some((Kind::Modification, "no record is sealed by the key that was given".to_owned()));
        }
        if self.public.is_some() && state.signatures == 0 {
            return Some((
                Kind::Modification,
                "no record is signed by the public key that was given".to_owned(),
            ));
        }
        if let [first, ..] = state.tampered[..] {
            let why = format!(
                "record {first} says that its writer found the log changed; `audit show --event tampered` shows those of the recorder"
            );
            return Some((Kind::Modification, why));
        }
        None
    }
}
