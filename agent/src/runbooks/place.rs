//! The lists of a runbook.

/// The place of a part in a plan.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Place {
    /// Before the steps.
    Preflight,
    /// A step.
    Step,
    /// After the steps.
    Verification,
    /// A step back.
    Rollback,
}

impl Place {
    /// Its name in a file.
    pub fn word(self) -> &'static str {
        match self {
            Self::Preflight => "preflight",
            Self::Step => "step",
            Self::Verification => "verification",
            Self::Rollback => "rollback",
        }
    }
}
