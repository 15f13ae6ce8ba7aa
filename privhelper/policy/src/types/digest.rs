//! SHA-256 digests.

use sha2::{Digest as _, Sha256};
use std::fmt;

/// A SHA-256 digest; shown as 64 lower-case hex digits.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Hash)]
pub struct Digest([u8; 32]);

impl Digest {
    /// 32 zeros: what stands before the first record.
    pub const ZERO: Self = Self([0; 32]);

    /// The digest of these parts, one after the other.
    pub fn of(parts: &[&[u8]]) -> Self {
        let mut hasher = Sha256::new();
        for part in parts {
            hasher.update(part);
        }
        Self(hasher.finalize().into())
    }

    /// The digest whose 32 bytes these are.
    pub fn from_bytes(bytes: &[u8]) -> Option<Self> {
        bytes.try_into().ok().map(Self)
    }

    /// The digest that 64 lower-case hex digits say.
    pub fn from_hex(text: &str) -> Option<Self> {
        Self::from_bytes(&unhex(text)?)
    }

    /// The 32 bytes.
    pub fn as_bytes(&self) -> &[u8] {
        &self.0
    }

    /// The same, their number known.
    pub fn array(&self) -> [u8; 32] {
        self.0
    }
}

impl fmt::Display for Digest {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&hex(&self.0))
    }
}

/// Bytes as lower-case hex digits.
pub fn hex(bytes: &[u8]) -> String {
    let halves = bytes.iter().flat_map(|byte| [byte >> 4, byte & 15]);
    halves.filter_map(|half| char::from_digit(half.into(), 16)).collect()
}

/// The bytes that lower-case hex digits say, two a byte.
pub fn unhex(text: &str) -> Option<Vec<u8>> {
    let digit = |digit: u8| char::from(digit).to_digit(16).filter(|_| !digit.is_ascii_uppercase());
    let byte = |pair: &[u8]| match *pair {
        [high, low] => u8::try_from(digit(high)? << 4 | digit(low)?).ok(),
        _ => None,
    };
    text.as_bytes().chunks(2).map(byte).collect()
}
