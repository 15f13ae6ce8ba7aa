//! Units as systemd reports them.

use super::text::word;
use crate::error::Invalid;
use crate::types::UnitName;
use crate::verb_id::VerbId;
use postern_proto::root::v1 as root;
pub use postern_proto::root::v1::UnitState;
use postern_proto::v1 as wire;
use std::collections::BTreeSet;

/// Most names of a unit, and most affected units.
const NAMES_MAX: usize = 64;
const AFFECTED_MAX: usize = 256;

/// The changes that an affected unit may have.
const EFFECTS: [&str; 6] = ["start", "stop", "restart", "reload", "enable", "disable"];

/// The canonical id and the aliases, each once.
pub fn all_names(unit: &UnitState) -> BTreeSet<&str> {
    unit.names.iter().chain([&unit.id]).map(String::as_str).collect()
}

/// Whether systemd knows nothing of it: no file, and no trace of a run.
pub fn is_missing(unit: &UnitState) -> bool {
    unit.load == "not-found" && unit.active == "inactive"
}

/// The state as clients are told.
pub fn unit_info(unit: &UnitState) -> wire::UnitInfo {
    wire::UnitInfo {
        id: unit.id.clone(),
        load: unit.load.clone(),
        active: unit.active.clone(),
        sub: unit.sub.clone(),
        enabled: unit.enabled.clone(),
        result: unit.result.clone(),
        main_pid: unit.main_pid,
        since_unix_us: unit.since_unix_us,
        memory_bytes: unit.memory_bytes,
        exit_status: unit.exit_status,
        ..wire::UnitInfo::default()
    }
}

/// A unit that is changed along with another.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct AffectedUnit {
    /// Its change: `unit.start`, `.stop`, `.restart`, `.reload`; or `.enable`, `.disable` where it gets or loses
    /// links, as itself or as the holder of a name or dependency.
    pub verb: VerbId,
    /// The setting and the unit that lead to it: `Requires= of nginx.service`.
    pub cause: String,
    /// Before the effect.
    pub state: UnitState,
}

impl AffectedUnit {
    /// systemctl's word for what happens.
    pub fn word(&self) -> &'static str {
        self.verb.name().trim_start_matches("unit.")
    }

    /// The verbs that a rule may deny it by.
    pub fn verbs(&self) -> Vec<VerbId> {
        let parts = [VerbId::UnitTryRestart, VerbId::UnitStop, VerbId::UnitStart];
        let is_restart = self.verb == VerbId::UnitRestart;
        parts.into_iter().filter(|_| is_restart).chain([self.verb]).collect()
    }

    /// Whether a rule must have `allow_cascade`. A start of another unit does not need it, nor does a name that no unit has.
    pub fn is_cascade(&self) -> bool {
        self.verb != VerbId::UnitStart && !is_missing(&self.state)
    }
}

/// A unit, what is done to it, and which others change with it.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct UnitFacts {
    /// Before the effect.
    pub state: UnitState,
    /// Other units that would be changed too.
    pub affected: Vec<AffectedUnit>,
}

impl UnitFacts {
    /// The changes of affected units, which must be the same right before the effect.
    pub fn effects(&self) -> BTreeSet<(VerbId, &str)> {
        self.affected.iter().map(|other| (other.verb, other.state.id.as_str())).collect()
    }
}

/// Checks each text of a state that another program wrote.
fn checked(unit: Option<&UnitState>) -> Result<UnitState, Invalid> {
    let unit = unit.ok_or(Invalid::new("unit", "must be there"))?;
    let is_hex = unit.invocation.bytes().all(|b| matches!(b, b'0'..=b'9' | b'a'..=b'f'));
    if unit.names.len() > NAMES_MAX || !is_hex || !matches!(unit.invocation.len(), 0 | 32) {
        return Err(Invalid::new("unit", "has too many names or an invocation that is no id"));
    }
    for name in unit.names.iter().chain([&unit.id]) {
        // An affected unit may be a template: its links change.
        UnitName::new_or_template(name)?;
    }
    for state in [&unit.load, &unit.active, &unit.sub, &unit.enabled, &unit.result] {
        word(state)?;
    }
    Ok(unit.clone())
}

impl UnitFacts {
    /// The facts as orders hold them: without what the request itself says.
    pub fn to_wire(&self) -> root::UnitFacts {
        let affected = |other: &AffectedUnit| root::AffectedUnit {
            unit: Some(other.state.clone()),
            effect: other.word().to_owned(),
            cause: other.cause.clone(),
        };
        root::UnitFacts {
            unit: Some(self.state.clone()),
            affected: self.affected.iter().map(affected).collect(),
        }
    }

    /// Reads facts that another program wrote.
    ///
    /// # Errors
    /// The field that is not what it must be.
    pub fn from_wire(wire: &root::UnitFacts) -> Result<Self, Invalid> {
        let affected = |other: &root::AffectedUnit| {
            let known = EFFECTS.into_iter().find(|word| *word == other.effect);
            let verb = known.and_then(|word| VerbId::from_name(&format!("unit.{word}")));
            let verb = verb.ok_or(Invalid::new("effect", "must be known"))?;
            let is_cause = other.cause.len() <= 512 && other.cause.bytes().all(|b| matches!(b, b' '..=b'~'));
            if !is_cause {
                return Err(Invalid::new("cause", "must be at most 512 printable characters"));
            }
            Ok(AffectedUnit { verb, cause: other.cause.clone(), state: checked(other.unit.as_ref())? })
        };
        if wire.affected.len() > AFFECTED_MAX {
            return Err(Invalid::new("affected", "must be at most 256 units"));
        }
        let affected = wire.affected.iter().map(affected).collect::<Result<_, _>>()?;
        Ok(Self { state: checked(wire.unit.as_ref())?, affected })
    }
}
