//! Units as systemd reports them.

use super::text::word;
use crate::error::Invalid;
use crate::types::UnitName;
use crate::verb_id::VerbId;
use postern_proto::root::v1 as root;
use postern_proto::v1 as wire;
use std::collections::BTreeSet;

/// Most names of a unit, and most affected units.
const NAMES_MAX: usize = 64;
const AFFECTED_MAX: usize = 256;

/// What may happen to an affected unit.
const EFFECTS: [&str; 6] = ["start", "stop", "restart", "reload", "enable", "disable"];

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

impl UnitState {
    fn to_wire(&self) -> root::UnitState {
        let state = self.clone();
        root::UnitState {
            id: state.id,
            names: state.names,
            load: state.load,
            active: state.active,
            sub: state.sub,
            enabled: state.enabled,
            result: state.result,
            main_pid: state.main_pid,
            since_unix_us: state.since_unix_us,
            memory_bytes: state.memory_bytes,
            exit_status: state.exit_status,
            invocation: state.invocation,
        }
    }

    fn from_wire(wire: &root::UnitState) -> Result<Self, Invalid> {
        let name = |name: &String| UnitName::new_or_template(name).map(|name| name.to_string());
        let is_hex = wire.invocation.bytes().all(|b| matches!(b, b'0'..=b'9' | b'a'..=b'f'));
        if wire.names.len() > NAMES_MAX || !is_hex || !matches!(wire.invocation.len(), 0 | 32) {
            return Err(Invalid::new("unit", "has too many names or an invocation that is no id"));
        }
        Ok(Self {
            id: name(&wire.id)?,
            names: wire.names.iter().map(name).collect::<Result<_, _>>()?,
            load: word(&wire.load)?,
            active: word(&wire.active)?,
            sub: word(&wire.sub)?,
            enabled: word(&wire.enabled)?,
            result: word(&wire.result)?,
            main_pid: wire.main_pid,
            since_unix_us: wire.since_unix_us,
            memory_bytes: wire.memory_bytes,
            exit_status: wire.exit_status,
            invocation: wire.invocation.clone(),
        })
    }
}

impl UnitFacts {
    /// The facts as orders hold them: without what the request itself says.
    #[must_use]
    pub fn to_wire(&self) -> root::UnitFacts {
        let affected = |other: &AffectedUnit| root::AffectedUnit {
            unit: Some(other.state.to_wire()),
            effect: other.word().to_owned(),
            cause: other.cause.clone(),
        };
        root::UnitFacts {
            unit: Some(self.state.to_wire()),
            affected: self.affected.iter().map(affected).collect(),
        }
    }

    /// Reads facts that another program wrote.
    ///
    /// # Errors
    /// The field that is not what it must be.
    pub fn from_wire(wire: &root::UnitFacts) -> Result<Self, Invalid> {
        let state = |unit: &Option<root::UnitState>| {
            UnitState::from_wire(unit.as_ref().ok_or(Invalid::new("unit", "must be there"))?)
        };
        let affected = |other: &root::AffectedUnit| {
            let known = EFFECTS.into_iter().find(|word| *word == other.effect);
            let verb = known.and_then(|word| VerbId::from_name(&format!("unit.{word}")));
            let verb = verb.ok_or(Invalid::new("effect", "must be known"))?;
            let is_cause = other.cause.len() <= 512 && other.cause.bytes().all(|b| matches!(b, b' '..=b'~'));
            if !is_cause {
                return Err(Invalid::new("cause", "must be at most 512 printable characters"));
            }
            Ok(AffectedUnit { verb, cause: other.cause.clone(), state: state(&other.unit)? })
        };
        if wire.affected.len() > AFFECTED_MAX {
            return Err(Invalid::new("affected", "must be at most 256 units"));
        }
        let affected = wire.affected.iter().map(affected).collect::<Result<_, _>>()?;
        Ok(Self { state: state(&wire.unit)?, affected, ..Self::default() })
    }
}
