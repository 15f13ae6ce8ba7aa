//! The forms of configuration files.

use super::entry::{Change, Entry};
use super::{json, toml, yaml};
use serde_json::Value;

/// The form of a file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Format {
    Json,
    Toml,
    Yaml,
}

impl Format {
    /// Parses a file; null where it is empty.
    ///
    /// # Errors
    /// It is not of this format.
    pub fn value(self, text: &str) -> Result<Value, String> {
        match self {
            Self::Json => json::value(text),
            Self::Toml => toml::value(text),
            Self::Yaml => yaml::value(text),
        }
    }

    /// The file with the entry added or removed.
    ///
    /// # Errors
    /// It is written in a way that has no place for the entry.
    pub fn edit(self, text: &str, entry: &Entry, change: Change) -> Result<String, String> {
        match self {
            Self::Json => json::edit(text, entry, change),
            Self::Toml => toml::edit(text, entry, change),
            Self::Yaml => yaml::edit(text, entry, change),
        }
    }
}
