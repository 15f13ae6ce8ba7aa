//! Translates a planned command's words: to requests of the helper, or a program in the sandbox.

use super::argv;
use crate::shims::{self, Nowhere, Translation};

/// Translation of a command.
#[derive(Clone, Debug, PartialEq)]
pub enum Meaning {
    /// Requests, in this order.
    Requests(Vec<shims::Step>),
    /// A program in the sandbox.
    Program,
    /// Neither; why, and what to use.
    Nothing(String),
}

impl Meaning {
    /// Of a command's text.
    ///
    /// # Errors
    /// The text is more than plain words.
    pub fn of(command: &str) -> Result<Self, String> {
        let words = argv::split(command)?;
        Ok(match shims::translate(&words, &mut Nowhere(USE_A_CALL)) {
            Translation::Steps(steps) => Self::Requests(steps),
            Translation::Local(_) => Self::Program,
            Translation::Advice(why, _) => Self::Nothing(why),
        })
    }

    /// Whether the policy is asked for a change.
    #[must_use]
    pub fn is_effect(&self) -> bool {
        match self {
            Self::Requests(steps) => steps.iter().any(|step| step.request.is_effect()),
            Self::Program | Self::Nothing(_) => false,
        }
    }
}

const USE_A_CALL: &str = "a plan's command reads no file; use the call write_file, apply_patch or read_file";
