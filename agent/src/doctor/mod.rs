//! The checks of `postern doctor` on this host, with nothing but what any user may read.

pub mod groups;
pub mod host;

use serde::Serialize;

/// One line of the doctor's.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Check {
    /// What was looked at.
    pub check: &'static str,
    /// What came of it.
    pub state: State,
    /// In words.
    pub detail: String,
    /// The command that mends it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub mend: Option<String>,
}

/// What came of a check.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
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
    pub fn ok(check: &'static str, detail: impl Into<String>) -> Self {
        Self { check, state: State::Ok, detail: detail.into(), mend: None }
    }

    /// Not as it should be, and how to mend it.
    pub fn wrong(check: &'static str, detail: impl Into<String>, mend: impl Into<String>) -> Self {
        Self { check, state: State::Wrong, detail: detail.into(), mend: Some(mend.into()) }
    }

    /// Not to be seen from here.
    pub fn unknown(check: &'static str, detail: impl Into<String>) -> Self {
        Self { check, state: State::Unknown, detail: detail.into(), mend: None }
    }
}
