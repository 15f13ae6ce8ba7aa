//! Facts about a unit from PID 1: its state, and every unit that a change would affect.
//!
//! postern-units gathers the same with systemctl before it acts.

use crate::bus::Bus;
use crate::properties::Properties;
use postern_affected::{
    Closure, Install, KnownUnits, LOOKUPS_MAX, UnitChange, UnitProperties, affected_units,
};
use postern_policy::facts::{AffectedUnit, UnitFacts, UnitState, is_missing};
use postern_policy::request::UnitRequest;
use postern_policy::types::UnitName;
use postern_policy::{Code, Denied, Facts, Invalid, VerbId};
use postern_root::{Error, Fault};
use std::collections::BTreeSet;
use std::fs::File;
use std::io::Read;

/// Most bytes of one file of a unit.
const FILE_MAX: u64 = 1024 * 1024;

/// Reads the state of a unit.
///
/// # Errors
/// PID 1 cannot be asked.
pub fn state(bus: &Bus, unit: &UnitName) -> Result<UnitState, Error> {
    Ok(known(&bus.properties(unit)?)?.state)
}

/// Gathers the units that a change affects; none for a missing unit.
///
/// # Errors
/// `plan_too_large`; `precondition_failed`: a unit's file changed since systemd read it; or PID 1 cannot be asked.
pub fn affected(bus: &Bus, request: &UnitRequest) -> Result<(UnitState, Vec<AffectedUnit>), Error> {
    let properties = bus.properties(&request.unit)?;
    let own = known(&properties)?;
    if is_missing(&own.state) {
        return Ok((own.state, Vec::new()));
    }
    let install = install(bus, request, &properties)?;
    let change = UnitChange { unit: &request.unit, verb: request.verb, now: request.now, install: &install };
    let state = own.state.clone();
    let mut all = KnownUnits::from([(request.unit.clone(), own)]);
    loop {
        match affected_units(change, &all)? {
            Closure::Affected(affected) => return Ok((state, affected)),
            Closure::LookUp(names) => {
                for name in names {
                    let unit = known(&bus.properties(&name)?)?;
                    all.insert(name, unit);
                }
            }
        }
    }
}

/// Checks every text of the facts, which appear in plans, records and approval texts.
///
/// # Errors
/// PID 1 answered with a text that systemd does not use.
pub fn checked(state: UnitState, affected: Vec<AffectedUnit>) -> Result<Facts, Error> {
    let facts = UnitFacts { state, affected };
    let facts = UnitFacts::from_wire(&facts.to_wire()).map_err(|invalid| unreadable(&invalid))?;
    Ok(Facts::Unit(Box::new(facts)))
}

/// The links that the change makes or removes, and the units that it enables or disables along.
fn install(bus: &Bus, request: &UnitRequest, properties: &Properties) -> Result<Install, Error> {
    let mut install = Install::default();
    let unit = &request.unit;
    if request.verb == VerbId::UnitDisable {
        install.read_links(unit, &bus.links(unit)?.join("\n"))?;
    }
    if request.verb == VerbId::UnitEnable {
        read_files(&mut install, unit, properties)?;
        let mut seen = BTreeSet::from([unit.clone()]);
        while let Some(name) = install.also.difference(&seen).next().cloned() {
            let properties = bus.properties(&name)?;
            // systemctl goes on without one that does not exist.
            if !is_missing(&known(&properties)?.state) {
                read_files(&mut install, &name, &properties)?;
            }
            seen.insert(name);
            if seen.len() > LOOKUPS_MAX {
                return Err(Denied::new(Code::PlanTooLarge, "`Also=` names too many units").into());
            }
        }
    }
    Ok(install)
}

/// Reads `[Install]` of a unit's files, which the bus does not have.
fn read_files(install: &mut Install, unit: &UnitName, properties: &Properties) -> Result<(), Error> {
    let files = properties.files();
    if files.is_empty() {
        return Err(
            Denied::new(Code::Unsupported, format!("{unit} has no file; it cannot be enabled")).into()
        );
    }
    for path in files {
        let unreadable = |why: &str| {
            let why = format!(
                "{path} of {unit} cannot be read without privilege ({why}); make it readable for all"
            );
            Denied::new(Code::Unsupported, why)
        };
        let mut text = Vec::new();
        let file = File::open(&path).map_err(|error| unreadable(&error.to_string()))?;
        let read = file.take(FILE_MAX.saturating_add(1)).read_to_end(&mut text);
        read.map_err(|error| unreadable(&error.to_string()))?;
        if u64::try_from(text.len()).is_ok_and(|len| len > FILE_MAX) {
            return Err(unreadable("it is larger than 1 MiB").into());
        }
        install.read_files(unit, &String::from_utf8_lossy(&text))?;
    }
    Ok(())
}

fn known(properties: &Properties) -> Result<UnitProperties, Error> {
    properties.unit().map_err(|invalid| unreadable(&invalid))
}

fn unreadable(invalid: &Invalid) -> Error {
    Fault::new(format!("systemd's answer: {invalid}")).into()
}
