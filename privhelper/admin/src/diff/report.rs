//! The result of a comparison.

use super::effect::Effect;
use super::side::{Identity, Which};
use super::written::Difference;
use postern_policy::VerbId;

/// A verb for which nothing is proven.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Unproven {
    /// The verb.
    pub verb: VerbId,
    /// Why, in words.
    pub why: &'static str,
}

/// Everything that differs.
#[derive(Debug, Default)]
pub struct Report {
    /// Clients that are new or gone.
    pub clients: Vec<(Which, Identity)>,
    /// The requests that are decided otherwise.
    pub effects: Vec<Effect>,
    /// Changes that no single request shows: shared rates, and tables other than rules.
    pub general: Vec<String>,
    /// Differences of the text, with or without an effect.
    pub written: Vec<Difference>,
    /// Verbs for which there may be more.
    pub unproven: Vec<Unproven>,
}

impl Report {
    /// Whether anything differs but words.
    #[must_use]
    pub fn is_change(&self) -> bool {
        !self.clients.is_empty() || !self.effects.is_empty() || !self.general.is_empty()
    }
}
