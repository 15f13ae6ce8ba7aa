//! Output of `systemctl` for a unit. No sandbox reaches systemd, but the helper tells.

use crate::protocol::event::UnitInfo;
use serde::{Deserialize, Serialize};

/// A query of a unit's state.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum UnitQuery {
    /// `is-active`
    Active,
    /// `is-enabled`
    Enabled,
    /// `is-failed`
    Failed,
    /// `status`
    Status,
}

/// A unit, as far as a script hears of it.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct State {
    /// Its whole name.
    pub id: String,
    /// Whether there is one.
    pub load: String,
    /// `active`, `inactive`, `failed` and some more.
    pub active: String,
    /// The same, in the words of its kind.
    pub sub: String,
    /// Whether it starts at boot.
    pub enabled: String,
}

impl From<&UnitInfo> for State {
    fn from(unit: &UnitInfo) -> Self {
        let [id, load, active, sub, enabled] =
            [&unit.id, &unit.load, &unit.active, &unit.sub, &unit.enabled].map(Clone::clone);
        Self { id, load, active, sub, enabled }
    }
}

impl UnitQuery {
    /// Returns the query of an action of `systemctl`.
    #[must_use]
    pub fn of(action: &str) -> Option<Self> {
        match action {
            "is-active" => Some(Self::Active),
            "is-enabled" => Some(Self::Enabled),
            "is-failed" => Some(Self::Failed),
            "status" => Some(Self::Status),
            _ => None,
        }
    }

    /// Returns the output of `systemctl`, and its exit code.
    #[must_use]
    pub fn output(self, state: &State) -> (String, u8) {
        let State { id, load, active, sub, enabled } = state;
        let is_active = matches!(active.as_str(), "active" | "reloading");
        let none = if load == "not-found" { 4 } else { 3 };
        match self {
            Self::Active => (format!("{active}\n"), if is_active { 0 } else { none }),
            Self::Enabled if enabled.is_empty() => ("not-found\n".to_owned(), if none == 4 { 4 } else { 1 }),
            Self::Enabled => {
                let counts = ["enabled", "static", "alias", "indirect", "generated"];
                let is_enabled = counts.iter().any(|word| enabled.starts_with(word));
                (format!("{enabled}\n"), u8::from(!is_enabled))
            }
            Self::Failed => (format!("{active}\n"), u8::from(active != "failed")),
            Self::Status => {
                let text = format!("{id}\n     Loaded: {load} ({enabled})\n     Active: {active} ({sub})\n");
                (text, if is_active { 0 } else { none })
            }
        }
    }
}
