//! `audit export`: records as other systems read them, one a line.

mod cef;
mod event;
mod rfc5424;

use clap::ValueEnum;
use serde_json::Value;

/// For what a record is exported.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum Format {
    /// `ArcSight` Common Event Format, version 0
    Cef,
    /// Syslog messages with structured data, after RFC 5424
    Rfc5424,
}

impl Format {
    /// The record as a line; `host` is what it is of.
    pub fn line(self, record: &Value, host: &str) -> String {
        match self {
            Self::Cef => cef::line(record, host),
            Self::Rfc5424 => rfc5424::line(record, host),
        }
    }
}
