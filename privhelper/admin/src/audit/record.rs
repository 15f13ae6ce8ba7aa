//! A line of the log as a record, by its bytes alone: JSON is parsed only where a record says something of the log itself.

use sha2::{Digest as _, Sha256};

/// A SHA-256 as the log has it: lower-case hex.
pub type Hex = [u8; 64];

/// The `prev` of the first record.
pub const FIRST_PREV: Hex = [b'0'; 64];

/// One whole line that says of itself what it must.
#[derive(Debug, Clone, Copy)]
pub struct Record<'a> {
    /// Its number.
    pub seq: u64,
    /// Its time, as its writer says.
    pub time: &'a [u8],
    /// The event.
    pub event: &'a [u8],
    /// The hash of the record before it.
    pub prev: &'a Hex,
    /// Its own, which was computed.
    pub hash: &'a Hex,
    /// The same, as bytes.
    pub digest: [u8; 32],
    /// Its seal, which was not looked at.
    pub seal: Option<&'a Hex>,
    /// The whole line without LF.
    pub line: &'a [u8],
}

/// Why a line is none.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum NoRecord {
    /// Its form is not that of one.
    Form,
    /// It is not what its hash was made of.
    Hash(u64),
}

impl<'a> Record<'a> {
    /// Reads a line without its LF.
    ///
    /// # Errors
    /// Why it is no record.
    pub fn read(line: &'a [u8]) -> Result<Self, NoRecord> {
        let form = || Self::form(line).ok_or(NoRecord::Form);
        let (signed, record) = form()?;
        let digest: [u8; 32] = Sha256::digest(signed).into();
        if hex(&digest) != *record.hash {
            return Err(NoRecord::Hash(record.seq));
        }
        Ok(Self { digest, ..record })
    }

    /// The bytes that the hash is of, and what the line says.
    fn form(line: &'a [u8]) -> Option<(&'a [u8], Self)> {
        let body = line.strip_suffix(b"}")?;
        let (body, last, digits) = ending(body)?;
        let (signed, hash, seal) = match last {
            b"hash" => (body, digits, None),
            b"seal" => match ending(body)? {
                (body, b"hash", hash) => (body, hash, Some(digits)),
                _ => return None,
            },
            _ => return None,
        };
        let (members, b"prev", prev) = ending(signed)? else { return None };
        let (seq, rest) = number(members.strip_prefix(b"{\"v\":1,\"seq\":")?)?;
        let (time, rest) = text(rest, b",\"time\":\"")?;
        let rest = text(rest, b",\"boot_id\":\"").map_or(rest, |(_, rest)| rest);
        let (event, _) = text(rest, b",\"event\":\"")?;
        Some((signed, Self { seq, time, event, prev, hash, digest: [0; 32], seal, line }))
    }
}

/// Splits `…,"name":"<64 bytes>"`, whose name has four letters.
fn ending(bytes: &[u8]) -> Option<(&[u8], &[u8], &Hex)> {
    const LEN: usize = 9 + 64 + 1;
    let (before, end) = bytes.split_at(bytes.len().checked_sub(LEN)?);
    let name = end.strip_prefix(b",\"")?.get(..4)?;
    let digits = end.get(6..)?.strip_prefix(b"\":\"")?.strip_suffix(b"\"")?;
    Some((before, name, digits.try_into().ok()?))
}

/// The text of a member that the recorder writes without escapes, and what follows it.
fn text<'a>(bytes: &'a [u8], before: &[u8]) -> Option<(&'a [u8], &'a [u8])> {
    let value = bytes.strip_prefix(before)?;
    let len = memchr::memchr(b'"', value.get(..value.len().min(64))?)?;
    Some((&value[..len], &value[len + 1..]))
}

/// A number in its one canonical form, and what follows it.
fn number(bytes: &[u8]) -> Option<(u64, &[u8])> {
    let len = bytes.iter().take_while(|b| b.is_ascii_digit()).count();
    let (digits, rest) = bytes.split_at(len);
    let is_canonical = digits.first() != Some(&b'0') || digits.len() == 1;
    let number = std::str::from_utf8(digits).ok()?.parse().ok()?;
    is_canonical.then_some((number, rest))
}

/// 32 bytes as the log writes them.
#[must_use]
pub fn hex(bytes: &[u8; 32]) -> Hex {
    const DIGITS: &[u8; 16] = b"0123456789abcdef";
    let mut text = [0; 64];
    for (pair, byte) in text.chunks_exact_mut(2).zip(bytes) {
        pair[0] = DIGITS[usize::from(byte >> 4)];
        pair[1] = DIGITS[usize::from(byte & 15)];
    }
    text
}

/// The text of one of ours.
#[must_use]
pub fn words(hex: &Hex) -> String {
    String::from_utf8_lossy(hex).into_owned()
}

/// The number that a line says it has.
pub fn seq(line: &[u8]) -> Option<u64> {
    number(line.strip_prefix(b"{\"v\":1,\"seq\":")?).map(|(seq, _)| seq)
}
