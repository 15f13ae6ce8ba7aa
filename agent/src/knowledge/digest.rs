//! Digests of texts.

use sha2::{Digest, Sha256};
use std::fmt::Write;

/// The SHA-256 of a text in hexadecimal digits.
pub fn digest(text: &str) -> String {
    let mut hex = String::new();
    for byte in Sha256::digest(text.as_bytes()) {
        let _ = write!(hex, "{byte:02x}");
    }
    hex
}
