//! The keys of this boot, as `/run/postern-audit/seal` holds them: a restarted recorder continues with them.

use crate::keys::{Epoch, Key, Public, Secret, Signer};
use postern_policy::types::Digest;

/// The end of the log and the keys of the records to come.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RunningKeys {
    /// The boot of these keys.
    pub boot_id: String,
    /// Its epoch.
    pub epoch: u64,
    /// Number of the epoch's first record: a record's key is the first one evolved `seq - since` times.
    pub since: u64,
    /// Number of the last record.
    pub seq: u64,
    /// Its hash.
    pub hash: Digest,
    /// Seals the next record.
    pub key: Key,
    /// Signs the next tip.
    pub signer: Signer,
    /// The first signing keys of the next two epochs.
    pub boots: [Public; 2],
}

impl RunningKeys {
    /// Returns the keys at an epoch's beginning, after the record of this number and hash.
    pub fn begin(epoch: &Epoch, boot_id: &str, seq: u64, hash: Digest) -> Self {
        let (next, second) = (epoch.next(), epoch.next().next());
        Self {
            boot_id: boot_id.to_owned(),
            epoch: epoch.number,
            since: seq.saturating_add(1),
            seq,
            hash,
            key: epoch.key(),
            signer: epoch.signer(),
            boots: [next.signer().public(), second.signer().public()],
        }
    }

    /// Encodes the file. Its size is the same for the whole boot, so overwriting it in place leaves nothing of before.
    pub fn encode(&self) -> String {
        let Self { boot_id, epoch, since, seq, hash, key, signer, boots: [first, second] } = self;
        let (key, signer) = (key.0.hex(), signer.0.hex());
        format!(
            "postern seal 1\n{boot_id}\n{epoch:012}\n{since:020}\n{seq:020}\n{hash}\n{key}\n{signer}\n{first}\n{second}\n"
        )
    }

    /// Reads [`Self::encode`]'s form, and no other.
    pub fn decode(bytes: &[u8]) -> Option<Self> {
        let text = std::str::from_utf8(bytes).ok()?;
        let mut lines = text.strip_prefix("postern seal 1\n")?.lines();
        let running = Self {
            boot_id: lines.next()?.to_owned(),
            epoch: lines.next()?.parse().ok()?,
            since: lines.next()?.parse().ok()?,
            seq: lines.next()?.parse().ok()?,
            hash: Digest::from_hex(lines.next()?)?,
            key: Key(Secret::from_hex(lines.next()?)?),
            signer: Signer(Secret::from_hex(lines.next()?)?),
            boots: [Public::from_hex(lines.next()?)?, Public::from_hex(lines.next()?)?],
        };
        (running.encode() == text).then_some(running)
    }
}
