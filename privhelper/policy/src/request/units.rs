//! Requests about units.

use crate::error::Invalid;
use crate::rules::{Object, RequiredGrant};
use crate::types::UnitName;
use crate::verb_id::VerbId;
use postern_proto::v1 as wire;
use std::time::Duration;

/// A change of one unit.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct UnitRequest {
    /// Any `unit.*` but `unit.status` and `unit.daemon-reload`.
    pub verb: VerbId,
    /// As the request names it: also an alias.
    pub unit: UnitName,
    /// Enabling starts it too, disabling and masking stop it.
    pub now: bool,
}

impl UnitRequest {
    pub(super) fn new(verb: VerbId, unit: &str, now: bool) -> Result<Self, Invalid> {
        Ok(Self { verb, unit: UnitName::new(unit)?, now })
    }

    /// With `now` the start or stop must be granted too.
    pub(super) fn required_grants(&self) -> Vec<RequiredGrant> {
        let at_once = if self.verb == VerbId::UnitEnable { VerbId::UnitStart } else { VerbId::UnitStop };
        let verbs = [Some(self.verb), self.now.then_some(at_once)];
        verbs.into_iter().flatten().map(|verb| (verb, Object::unit(self.unit.clone()))).collect()
    }
}

/// `unit.status`
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct UnitStatusRequest {
    /// The unit.
    pub unit: UnitName,
    /// The last lines of its journal; 0 = none.
    pub journal_lines: u32,
    /// None that are older, since 1970.
    pub since: Duration,
}

impl UnitStatusRequest {
    pub(super) fn new(wire: &wire::UnitStatusRequest) -> Result<Self, Invalid> {
        let (unit, journal_lines) = (UnitName::new(&wire.unit)?, wire.journal_lines);
        if journal_lines > 0 && unit.as_str().rsplit('.').next() == Some("slice") {
            let why = "must be 0 for a slice: its journal is that of all its units";
            return Err(Invalid::new("journal_lines", why));
        }
        if journal_lines == 0 && wire.since_unix_s > 0 {
            return Err(Invalid::new("since_unix_s", "must be 0 where no journal lines are asked for"));
        }
        Ok(Self { unit, journal_lines, since: Duration::from_secs(wire.since_unix_s) })
    }

    pub(super) fn required_grants(&self) -> Vec<RequiredGrant> {
        let (name, journal_lines) = (self.unit.clone(), self.journal_lines);
        vec![(VerbId::UnitStatus, Object::Unit { name, journal_lines })]
    }
}

/// The minutes until a reboot; none = cancel the one that is scheduled.
pub(super) fn delay(wire: &wire::HostRebootRequest) -> Result<Option<u32>, Invalid> {
    match (wire.cancel, wire.delay_s) {
        (true, 0) => Ok(None),
        (false, delay @ 60..=86_400) if delay % 60 == 0 => Ok(Some(delay / 60)),
        _ => {
            Err(Invalid::new("delay_s", "must be whole minutes from 60 to 86400 seconds, or 0 with `cancel`"))
        }
    }
}
