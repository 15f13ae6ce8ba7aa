//! A unit that changes along with another.

use crate::facts::UnitState;
use crate::verb_id::VerbId;

/// A unit that is changed along with another.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct AffectedUnit {
    /// What happens to it: `unit.start`, `.stop`, `.restart`, `.reload`; or `.enable`, `.disable` where it gets or loses
    /// links, as itself or as the holder of a name or dependency.
    pub verb: VerbId,
    /// The setting and the unit that lead to it: `Requires= of nginx.service`.
    pub cause: String,
    /// Before the effect.
    pub state: UnitState,
}

impl AffectedUnit {
    /// systemctl's word for what happens.
    #[must_use]
    pub fn word(&self) -> &'static str {
        self.verb.name().trim_start_matches("unit.")
    }

    /// The verbs that a rule may deny it by.
    #[must_use]
    pub fn verbs(&self) -> Vec<VerbId> {
        let parts = [VerbId::UnitTryRestart, VerbId::UnitStop, VerbId::UnitStart];
        let is_restart = self.verb == VerbId::UnitRestart;
        parts.into_iter().filter(|_| is_restart).chain([self.verb]).collect()
    }

    /// Whether a rule must say `allow_cascade`. Starting along needs no leave, nor does a name that no unit has.
    #[must_use]
    pub fn is_cascade(&self) -> bool {
        self.verb != VerbId::UnitStart && !self.state.is_missing()
    }
}
