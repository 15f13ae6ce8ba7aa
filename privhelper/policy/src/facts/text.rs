//! Checks text that another program wrote, before it appears in plans, records and approval texts.

use crate::error::Invalid;

/// Whether it is 1 to `most` bytes of a set.
pub(super) fn is_text(text: &str, most: usize, is_fine: fn(u8) -> bool) -> bool {
    (1..=most).contains(&text.len()) && text.bytes().all(is_fine)
}

/// A version as dpkg takes it (deb-version(7)), or empty.
pub(super) fn version(text: &str) -> Result<String, Invalid> {
    let is_fine = |b: u8| b.is_ascii_alphanumeric() || matches!(b, b'.' | b'+' | b':' | b'~' | b'-');
    if text.is_empty() || is_text(text, 256, is_fine) {
        return Ok(text.to_owned());
    }
    Err(Invalid::new("version", "must be up to 256 letters, digits, '.', '+', ':', '~' and '-'"))
}

/// Reads a state or an invocation of systemd's, or an empty text.
///
/// # Errors
/// It is none.
pub fn word(text: &str) -> Result<String, Invalid> {
    if text.is_empty() || is_text(text, 32, |b| matches!(b, b'a'..=b'z' | b'0'..=b'9' | b'-')) {
        return Ok(text.to_owned());
    }
    Err(Invalid::new("unit", "has a state that is not up to 32 of a-z, 0-9 and '-'"))
}
