//! When root verified the installed log last, as `audit verify` notes it for `doctor`.

use crate::own;
use crate::text::now;
use serde::{Deserialize, Serialize};
use std::io;
use std::path::Path;

const FILE: &str = "verified.json";

/// The last verification that found nothing wrong.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct LastVerification {
    /// When, in seconds since 1970.
    pub unix_s: u64,
    /// The last record that was proven.
    pub seq: u64,
    /// Whether the seals were checked with the key that is kept elsewhere.
    pub with_key: bool,
}

impl LastVerification {
    /// One of now.
    #[must_use]
    pub fn new(seq: u64, with_key: bool) -> Self {
        Self { unix_s: now(), seq, with_key }
    }

    /// Replaces the note of the verification before.
    ///
    /// # Errors
    /// It cannot be written.
    pub fn write(&self, directory: &Path) -> io::Result<()> {
        own::replace(directory, FILE, &serde_json::to_vec(self).map_err(io::Error::other)?)
    }

    /// Reads the note; none if there was no verification.
    ///
    /// # Errors
    /// It cannot be read, or is none.
    pub fn read(directory: &Path) -> io::Result<Option<Self>> {
        match std::fs::read(directory.join(FILE)) {
            Ok(bytes) => serde_json::from_slice(&bytes).map(Some).map_err(io::Error::other),
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
            Err(error) => Err(error),
        }
    }
}
