//! Facts about a unit from PID 1: its state, and every unit that a change would affect.

use crate::state::Host;
use crate::systemctl::{self, text};
use postern_affected::{
    Closure, Install, KnownUnits, LOOKUPS_MAX, UnitChange, UnitProperties, affected_units,
};
use postern_policy::VerbId;
use postern_policy::facts::{UnitFacts, UnitState, is_missing};
use postern_policy::request::UnitRequest;
use postern_policy::types::UnitName;
use postern_root::{Code, Denied, Error, Fault};
use std::collections::BTreeSet;

/// Gathers the facts of a change.
///
/// # Errors
/// `not_found`; `precondition_failed`: a unit's file changed since systemd read it; or systemd cannot be asked.
pub fn gather(host: &Host, request: &UnitRequest) -> Result<UnitFacts, Error> {
    let state = state(host, &request.unit)?;
    if is_missing(&state) {
        let why = format!("{} does not exist on this host", request.unit);
        return Err(Denied::new(Code::NotFound, why).into());
    }
    let install = install(host, request)?;
    let change = UnitChange { unit: &request.unit, verb: request.verb, now: request.now, install: &install };
    let mut known = KnownUnits::new();
    let affected = loop {
        match affected_units(change, &known)? {
            Closure::Affected(affected) => break affected,
            Closure::LookUp(names) => {
                let units = properties(host, &names)?;
                known.extend(names.into_iter().zip(units));
            }
        }
    };
    let state = known.remove(&request.unit).map_or(state, |unit| unit.state);
    Ok(UnitFacts { state, affected })
}

/// The state of one unit.
pub fn state(host: &Host, unit: &UnitName) -> Result<UnitState, Error> {
    let shown = properties(host, std::slice::from_ref(unit))?.into_iter().next();
    let nothing = || Fault::new("systemctl show printed nothing");
    Ok(shown.ok_or_else(nothing)?.state)
}

fn properties(host: &Host, units: &[UnitName]) -> Result<Vec<UnitProperties>, Error> {
    let properties = UnitProperties::argument();
    let mut arguments = vec!["show", "--timestamp=unix", &properties, "--"];
    arguments.extend(units.iter().map(UnitName::as_str));
    let finished = systemctl::run(host, &arguments)?;
    let shown = UnitProperties::parse(&text(&finished.stdout))?;
    if !finished.status.success() || shown.len() != units.len() {
        return Err(Fault::new(format!("systemctl show: {}", text(&finished.stderr).trim())).into());
    }
    Ok(shown)
}

/// The links that the change makes or removes, and the units that it enables or disables along.
fn install(host: &Host, request: &UnitRequest) -> Result<Install, Error> {
    let mut install = Install::default();
    let unit = &request.unit;
    if request.verb == VerbId::UnitDisable {
        install.read_links(unit, &files(host, &["is-enabled", "--full"], unit)?)?;
    }
    if request.verb == VerbId::UnitEnable {
        install.read_files(unit, &files(host, &["cat"], unit)?)?;
        let mut seen = BTreeSet::from([unit.clone()]);
        while let Some(name) = install.also.difference(&seen).next().cloned() {
            // systemctl goes on without one that does not exist.
            if !is_missing(&state(host, &name)?) {
                install.read_files(&name, &files(host, &["cat"], &name)?)?;
            }
            seen.insert(name);
            if seen.len() > LOOKUPS_MAX {
                return Err(Denied::new(Code::PlanTooLarge, "`Also=` names too many units").into());
            }
        }
    }
    Ok(install)
}

/// Returns systemctl's output about a unit's files. `is-enabled` fails for a unit that is not enabled, and still prints.
fn files(host: &Host, words: &[&str], unit: &UnitName) -> Result<String, Error> {
    let arguments = [words, &["--no-pager", "--", unit.as_str()]].concat();
    let finished = systemctl::run(host, &arguments)?;
    if finished.stdout.is_empty() {
        let what = format!("systemctl on the files of {unit}: {}", text(&finished.stderr).trim());
        return Err(Fault::new(what).into());
    }
    Ok(text(&finished.stdout))
}
