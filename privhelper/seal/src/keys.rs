//! Seeds, keys and signatures, and how one yields the next.

use ed25519_compact::{KeyPair, PublicKey, Seed as SigningSeed, Signature};
use postern_policy::types::{Digest, hex, unhex};
use std::fmt;

const SEAL: &[u8] = b"postern seal 1\n";
const BOOT: &[u8] = b"postern boot 1\n";
const EPOCH: &[u8] = b"postern epoch 1\n";
const SIGN: &[u8] = b"postern sign 1\n";
const TIP: &[u8] = b"postern tip 1\n";

/// SHA-256's block, in bytes.
const BLOCK: usize = 64;

/// Computes HMAC-SHA-256 (RFC 2104).
pub fn hmac(key: &[u8], message: &[u8]) -> Digest {
    let hashed = (key.len() > BLOCK).then(|| Digest::of(&[key]));
    let key = hashed.as_ref().map_or(key, Digest::as_bytes);
    let pad = |with: u8| {
        let mut block = [with; BLOCK];
        for (byte, of_key) in block.iter_mut().zip(key) {
            *byte ^= of_key;
        }
        block
    };
    let inner = Digest::of(&[&pad(0x36), message]);
    Digest::of(&[&pad(0x5c), inner.as_bytes()])
}

/// 32 secret bytes. Never shown, and overwritten when dropped.
#[derive(Clone, PartialEq, Eq)]
pub(crate) struct Secret([u8; 32]);

impl Secret {
    fn of(label: &[u8], from: &Self) -> Self {
        Self(Digest::of(&[label, &from.0]).array())
    }

    pub(crate) fn from_hex(text: &str) -> Option<Self> {
        Digest::from_hex(text).map(|digest| Self(digest.array()))
    }

    pub(crate) fn hex(&self) -> String {
        hex(&self.0)
    }
}

impl fmt::Debug for Secret {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("secret")
    }
}

impl Drop for Secret {
    fn drop(&mut self) {
        self.0 = [0; 32];
        // Keeps the compiler from removing a write that nothing reads.
        std::hint::black_box(&self.0);
    }
}

/// `E`: the seed of an epoch's keys and of all later epochs.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Epoch {
    /// 0 for the one that `audit keygen` made.
    pub number: u64,
    seed: Secret,
}

impl Epoch {
    /// Reads the seed of an epoch from 64 lower-case hex digits.
    pub fn new(number: u64, seed: &str) -> Option<Self> {
        Some(Self { number, seed: Secret::from_hex(seed)? })
    }

    /// Returns the seed as 64 hex digits: what `audit keygen` prints of epoch 0.
    pub fn seed_hex(&self) -> String {
        self.seed.hex()
    }

    /// Returns the next boot's epoch: SHA-256("postern epoch 1\n" ‖ E).
    pub fn next(&self) -> Self {
        Self { number: self.number.saturating_add(1), seed: Secret::of(EPOCH, &self.seed) }
    }

    /// Returns the key of its first record: SHA-256("postern boot 1\n" ‖ E).
    pub fn key(&self) -> Key {
        Key(Secret::of(BOOT, &self.seed))
    }

    /// Returns the key of its first signature: the seed SHA-256("postern sign 1\n" ‖ E).
    pub fn signer(&self) -> Signer {
        Signer(Secret::of(SIGN, &self.seed))
    }

    /// Encodes the 94 bytes of `seal/next`: `postern epoch 1`, the number in 12 digits, the seed; an LF after each.
    pub fn encode(&self) -> String {
        format!("postern epoch 1\n{:012}\n{}\n", self.number, self.seed.hex())
    }

    /// Reads [`Self::encode`]'s form, and no other.
    pub fn decode(bytes: &[u8]) -> Option<Self> {
        let text = std::str::from_utf8(bytes).ok()?;
        let mut lines = text.strip_prefix("postern epoch 1\n")?.lines();
        let epoch = Self::new(lines.next()?.parse().ok()?, lines.next()?)?;
        (epoch.encode() == text).then_some(epoch)
    }
}

/// `K`: the key that seals one record.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Key(pub(crate) Secret);

impl Key {
    /// Returns the seal of the record with this hash: HMAC-SHA-256(K, hash).
    pub fn seal(&self, hash: Digest) -> Digest {
        hmac(&self.0.0, hash.as_bytes())
    }

    /// Returns the next record's key: SHA-256("postern seal 1\n" ‖ K).
    pub fn next(&self) -> Self {
        Self(Secret::of(SEAL, &self.0))
    }
}

/// The key that signs one tip.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Signer(pub(crate) Secret);

impl Signer {
    /// Returns the public key that checks its signature.
    pub fn public(&self) -> Public {
        Public(*self.pair().pk)
    }

    /// Returns the next signature's key: the seed SHA-256("postern sign 1\n" ‖ seed).
    pub fn next(&self) -> Self {
        Self(Secret::of(SIGN, &self.0))
    }

    /// Signs a tip; 128 hex digits.
    pub fn sign(&self, tip: &Tip) -> String {
        hex(self.pair().sk.sign(tip.signed(), None).as_ref())
    }

    fn pair(&self) -> KeyPair {
        KeyPair::from_seed(SigningSeed::new(self.0.0))
    }
}

/// An Ed25519 public key (RFC 8032); shown as 64 hex digits.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Public([u8; 32]);

impl Public {
    /// Reads 64 lower-case hex digits.
    pub fn from_hex(text: &str) -> Option<Self> {
        Digest::from_hex(text).map(|digest| Self(digest.array()))
    }

    /// Checks the signature, 128 hex digits, of a tip.
    pub fn verify(&self, tip: &Tip, signature: &str) -> bool {
        let signature = unhex(signature).and_then(|bytes| Signature::from_slice(&bytes).ok());
        let key = PublicKey::new(self.0);
        signature.is_some_and(|signature| key.verify(tip.signed(), &signature).is_ok())
    }
}

impl fmt::Display for Public {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&hex(&self.0))
    }
}

/// The content that a `sealed` record signs.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Tip {
    /// The epoch of the record.
    pub epoch: u64,
    /// Number of the record before the `sealed` record.
    pub seq: u64,
    /// Its hash: the `sealed` record's `prev`.
    pub hash: Digest,
    /// The key of the next signature in this epoch.
    pub next: Public,
    /// The first keys of the next two epochs: a boot may end before its first record.
    pub boots: [Public; 2],
}

impl Tip {
    /// Encodes the 158 bytes under the signature: "postern tip 1\n", epoch and number as 8 bytes each, least
    /// significant first, then hash and the three keys.
    pub fn signed(&self) -> Vec<u8> {
        let [first, second] = &self.boots;
        let numbers = [self.epoch.to_le_bytes(), self.seq.to_le_bytes()].concat();
        [TIP, &numbers, self.hash.as_bytes(), &self.next.0, &first.0, &second.0].concat()
    }
}
