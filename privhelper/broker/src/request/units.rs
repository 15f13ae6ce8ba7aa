//! `unit.*`.

use super::{Parsed, Request};
use postern_policy::types::UnitName;
use postern_policy::{Invalid, Object, RequiredGrant, VerbId};
use postern_proto::v1 as wire;

/// A unit, and whether enabling, disabling or masking acts on it at once.
#[derive(Debug)]
pub struct UnitRequest {
    /// The unit.
    pub unit: UnitName,
    /// Starts it with `enable`, stops it with `disable` and `mask`.
    pub now: bool,
}

/// A unit's state, and the last lines of its journal.
#[derive(Debug)]
pub struct StatusRequest {
    /// The unit.
    pub unit: UnitName,
    /// Lines of its journal.
    pub journal_lines: u32,
    /// None older than this, in seconds since 1970.
    pub since_unix_s: u64,
}

fn change(meta: Option<wire::Meta>, unit: &str, now: bool) -> Parsed {
    (meta, UnitName::new(unit).map(|unit| Request::Unit(UnitRequest { unit, now })))
}

pub(super) fn start(wire: wire::UnitStartRequest) -> Parsed {
    change(wire.meta, &wire.unit, false)
}

pub(super) fn stop(wire: wire::UnitStopRequest) -> Parsed {
    change(wire.meta, &wire.unit, false)
}

pub(super) fn restart(wire: wire::UnitRestartRequest) -> Parsed {
    change(wire.meta, &wire.unit, false)
}

pub(super) fn reload(wire: wire::UnitReloadRequest) -> Parsed {
    change(wire.meta, &wire.unit, false)
}

pub(super) fn try_restart(wire: wire::UnitTryRestartRequest) -> Parsed {
    change(wire.meta, &wire.unit, false)
}

pub(super) fn reset_failed(wire: wire::UnitResetFailedRequest) -> Parsed {
    change(wire.meta, &wire.unit, false)
}

pub(super) fn enable(wire: wire::UnitEnableRequest) -> Parsed {
    change(wire.meta, &wire.unit, wire.now)
}

pub(super) fn disable(wire: wire::UnitDisableRequest) -> Parsed {
    change(wire.meta, &wire.unit, wire.now)
}

pub(super) fn mask(wire: wire::UnitMaskRequest) -> Parsed {
    change(wire.meta, &wire.unit, wire.now)
}

pub(super) fn unmask(wire: wire::UnitUnmaskRequest) -> Parsed {
    change(wire.meta, &wire.unit, false)
}

pub(super) fn daemon_reload(wire: wire::UnitDaemonReloadRequest) -> Parsed {
    (wire.meta, Ok(Request::DaemonReload))
}

pub(super) fn status(wire: wire::UnitStatusRequest) -> Parsed {
    let (journal_lines, since_unix_s) = (wire.journal_lines, wire.since_unix_s);
    let status = UnitName::new(&wire.unit).and_then(|unit| {
        if journal_lines > 0 && unit.as_str().ends_with(".slice") {
            let why = "must be 0 for a slice: its journal is that of all its units";
            return Err(Invalid::new("journal_lines", why));
        }
        if journal_lines == 0 && since_unix_s > 0 {
            return Err(Invalid::new("since_unix_s", "must be 0 where no journal lines are asked for"));
        }
        Ok(Request::Status(StatusRequest { unit, journal_lines, since_unix_s }))
    });
    (wire.meta, status)
}

impl UnitRequest {
    /// With `now` what is done at once must be granted too.
    pub(super) fn required_grants(&self, verb: VerbId) -> Vec<RequiredGrant> {
        let at_once = if verb == VerbId::UnitEnable { VerbId::UnitStart } else { VerbId::UnitStop };
        let verbs = [verb].into_iter().chain(self.now.then_some(at_once));
        verbs.map(|verb| (verb, Object::Unit(self.unit.clone()))).collect()
    }
}
