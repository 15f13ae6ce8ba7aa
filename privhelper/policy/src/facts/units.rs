//! Units as systemd reports them.

use super::affected::AffectedUnit;
use crate::verb_id::VerbId;
use postern_proto::v1 as wire;
use std::collections::BTreeSet;

/// The state of a unit as systemd reports it.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct UnitState {
    /// The canonical id.
    pub id: String,
    /// Id and aliases.
    pub names: Vec<String>,
    /// `loaded`, `not-found`, `masked`, ...
    pub load: String,
    /// `active`, `inactive`, `failed`, ...
    pub active: String,
    /// `running`, `dead`, ...
    pub sub: String,
    /// `enabled`, `disabled`, `static`, ...
    pub enabled: String,
    /// `success`, `exit-code`, `start-limit-hit`, ...
    pub result: String,
    /// 0 = none.
    pub main_pid: u32,
    /// When the state last changed, in microseconds since 1970.
    pub since_unix_us: u64,
    /// 0 = not known.
    pub memory_bytes: u64,
    /// Of the main process.
    pub exit_status: i32,
    /// Which start of the unit this is; empty = it has none.
    pub invocation: String,
}

impl UnitState {
    /// The canonical id and the aliases, each once.
    #[must_use]
    pub fn all_names(&self) -> BTreeSet<&str> {
        self.names.iter().chain([&self.id]).map(String::as_str).collect()
    }

    /// Whether it is up, or coming up.
    #[must_use]
    pub fn is_up(&self) -> bool {
        matches!(self.active.as_str(), "active" | "activating" | "reloading" | "refreshing")
    }

    /// Whether systemd knows nothing of it: no file, and no trace of a run.
    #[must_use]
    pub fn is_missing(&self) -> bool {
        self.load == "not-found" && self.active == "inactive"
    }
}

/// A unit, what is done to it, and which others change with it.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct UnitFacts {
    /// Before the effect.
    pub state: UnitState,
    /// `start`, `stop`, ...
    pub action: &'static str,
    /// What is done at once besides: `start` with `enable`, `stop` with `disable`.
    pub now: Option<&'static str>,
    /// Other units that would be changed too.
    pub affected: Vec<AffectedUnit>,
    /// Lines of its journal that are asked for.
    pub journal_lines: u32,
}

impl UnitFacts {
    /// What happens to which unit along: what must not have changed before the request acts.
    #[must_use]
    pub fn effects(&self) -> BTreeSet<(VerbId, &str)> {
        self.affected.iter().map(|other| (other.verb, other.state.id.as_str())).collect()
    }
}

impl UnitState {
    /// The state as messages hold it.
    #[must_use]
    pub fn wire(&self) -> wire::UnitInfo {
        wire::UnitInfo {
            id: self.id.clone(),
            load: self.load.clone(),
            active: self.active.clone(),
            sub: self.sub.clone(),
            enabled: self.enabled.clone(),
            result: self.result.clone(),
            main_pid: self.main_pid,
            since_unix_us: self.since_unix_us,
            memory_bytes: self.memory_bytes,
            was_active: String::new(),
            was_enabled: String::new(),
            exit_status: self.exit_status,
        }
    }
}
