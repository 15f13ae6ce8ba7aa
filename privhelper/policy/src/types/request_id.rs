//! Ids of requests.

use crate::error::Invalid;
use std::time::Duration;

/// A version 7 UUID (RFC 9562) as 36 lower-case characters. Holds its own time, so that an old id can be told.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct RequestId(String);

impl RequestId {
    /// Checks form, version 7 and variant.
    ///
    /// # Errors
    /// Anything else, upper case included.
    pub fn new(text: &str) -> Result<Self, Invalid> {
        let form = text.len() == 36
            && text.bytes().enumerate().all(|(at, b)| match at {
                8 | 13 | 18 | 23 => b == b'-',
                14 => b == b'7',
                19 => matches!(b, b'8' | b'9' | b'a' | b'b'),
                _ => matches!(b, b'0'..=b'9' | b'a'..=b'f'),
            });
        let invalid = Invalid::new("request_id", "must be a UUIDv7 in 36 lower-case characters");
        form.then(|| Self(text.to_owned())).ok_or(invalid)
    }

    /// A new id, of 32 random hex digits.
    ///
    /// # Errors
    /// They are none.
    pub fn made(unix: Duration, random: &str) -> Result<Self, Invalid> {
        let time = format!("{:012x}", unix.as_millis() & 0xffff_ffff_ffff);
        let part =
            |text: &str, from: usize, len: usize| text.chars().skip(from).take(len).collect::<String>();
        let (high, low) = (part(&time, 0, 8), part(&time, 8, 4));
        let (a, b, c) = (part(random, 0, 3), part(random, 3, 3), part(random, 6, 12));
        Self::new(&format!("{high}-{low}-7{a}-8{b}-{c}"))
    }

    /// When the id was made, in milliseconds since 1970, as the id says.
    pub fn unix_ms(&self) -> u64 {
        self.0.bytes().filter(|b| *b != b'-').take(12).fold(0, |time, b| {
            let digit = char::from(b).to_digit(16).unwrap_or(0);
            time.wrapping_mul(16).wrapping_add(u64::from(digit))
        })
    }
}

readers!(RequestId, 0);
