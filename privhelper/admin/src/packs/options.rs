//! Options of every command that changes packs.

use crate::policy::apply::Confirmation;
use clap::Args;

/// Options of every change of packs.
#[derive(Debug, Clone, Default, Args)]
pub struct With {
    /// A variable's value; several with commas between them. With several packs: PACK.NAME=VALUE
    #[arg(long = "set", value_name = "NAME=VALUE")]
    pub set: Vec<String>,
    /// Do not ask: defaults for what --set does not give, and the policy is applied
    #[arg(long)]
    pub yes: bool,
    /// Write over a pack's file that was edited; it stays beside it as FILE.before
    #[arg(long)]
    pub discard_edits: bool,
}

impl With {
    /// Whether a person must agree to the policy.
    #[must_use]
    pub const fn confirmation(&self) -> Confirmation {
        if self.yes { Confirmation::Given } else { Confirmation::Ask }
    }
}
