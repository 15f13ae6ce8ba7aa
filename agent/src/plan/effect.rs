//! Steps that make running programs take in what is new.

use super::argv;
use crate::protocol::plan::Step;
use crate::protocol::tool::{Action, Tool};

impl Step {
    /// It makes something that runs take in what is new, such as a restart.
    #[must_use]
    pub fn takes_effect_again(&self) -> bool {
        match self {
            Self::Call(call) => matches!(
                call.tool,
                Tool::Service { action: Action::Restart | Action::Reload | Action::TryRestart, .. }
                    | Tool::UnitsReload {}
            ),
            Self::Command(command) => {
                let words = argv::split(&command.command).unwrap_or_default();
                let has = |names: &[&str]| words.iter().any(|word| names.contains(&word.as_str()));
                has(&["systemctl", "service"]) && has(&["restart", "reload", "try-restart", "daemon-reload"])
            }
        }
    }
}
