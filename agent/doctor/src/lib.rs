//! One line of `postern doctor` and `postern-admin doctor`, and the state of dpkg that both look at.

mod dpkg;

pub use dpkg::{Dpkg, dpkg};

use serde::Serialize;

/// One line: a part of the host.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Check {
    /// The part.
    pub check: &'static str,
    /// Its state.
    pub state: State,
    /// In words.
    pub detail: String,
    /// The command that mends it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub mend: Option<String>,
}

/// The state of a part.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum State {
    /// As it should be.
    Ok,
    /// Not as it should be.
    Wrong,
    /// This user cannot see it, or not now.
    Unknown,
}

impl Check {
    /// As it should be.
    #[must_use]
    pub fn ok(check: &'static str, detail: impl Into<String>) -> Self {
        Self { check, state: State::Ok, detail: detail.into(), mend: None }
    }

    /// Not as it should be, and the command that mends it.
    #[must_use]
    pub fn wrong(check: &'static str, detail: impl Into<String>, mend: impl Into<String>) -> Self {
        Self { check, state: State::Wrong, detail: detail.into(), mend: Some(mend.into()) }
    }

    /// Not to be seen by this user.
    #[must_use]
    pub fn unknown(check: &'static str, detail: impl Into<String>) -> Self {
        Self { check, state: State::Unknown, detail: detail.into(), mend: None }
    }
}
