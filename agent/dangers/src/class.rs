//! Classes of dangers, and how bad each is.

use serde::Serialize;

/// How bad it is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Severity {
    /// The policy is refused whole.
    Error,
    /// An error under `--strict`.
    Warning,
    /// Good to know.
    Note,
}

impl Severity {
    /// The word that is printed.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Error => "error",
            Self::Warning => "warning",
            Self::Note => "note",
        }
    }
}

/// Kind of root-equivalent power that a grant gives.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize)]
pub enum Class {
    /// Code that root runs at a normal event: boot, login, timer, installation, reload.
    #[serde(rename = "R")]
    Code,
    /// Accounts, keys, trust.
    #[serde(rename = "T")]
    Trust,
    /// Root together with another grant, or with a package that may be installed.
    #[serde(rename = "C")]
    Combined,
    /// Disables a protection.
    #[serde(rename = "D")]
    Defence,
}

impl Class {
    /// The letter of the finding's class.
    #[must_use]
    pub const fn letter(self) -> &'static str {
        match self {
            Self::Code => "R",
            Self::Trust => "T",
            Self::Combined => "C",
            Self::Defence => "D",
        }
    }

    /// How bad such a grant is while nobody has accepted it, judged by the policy's text alone.
    #[must_use]
    pub const fn severity(self) -> Severity {
        match self {
            Self::Code | Self::Trust => Severity::Error,
            Self::Combined | Self::Defence => Severity::Warning,
        }
    }

    /// Begins the sentence of a finding, after the client's name.
    #[must_use]
    pub const fn outcome(self) -> &'static str {
        match self {
            Self::Code => "becomes root",
            Self::Trust => "controls accounts, keys or other trusted data",
            Self::Combined => "can become root together with another grant or event",
            Self::Defence => "can disable a protection",
        }
    }
}
