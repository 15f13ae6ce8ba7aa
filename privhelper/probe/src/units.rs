//! Facts about a unit from PID 1: its state, and every unit that a change would affect.
//!
//! postern-units gathers the same with systemctl before it acts.

use crate::bus::Bus;
use crate::properties::Properties;
use postern_affected::{Install, UnitProperties, affected_units};
use postern_policy::facts::{UnitFacts, UnitState, is_missing};
use postern_policy::request::UnitRequest;
use postern_policy::types::UnitName;
use postern_policy::{Code, Denied, Facts, Invalid, VerbId};
use postern_root::{Error, Fault};
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

/// Gathers the unit and those that a change affects; none of these for a missing unit.
///
/// # Errors
/// `plan_too_large`; `precondition_failed`: a unit's file changed since systemd read it; or PID 1 cannot be asked.
pub fn affected(bus: &Bus, request: &UnitRequest) -> Result<UnitFacts, Error> {
    let unit = &request.unit;
    let own = known(&bus.properties(unit)?)?;
    if is_missing(&own.state) {
        return Ok(UnitFacts { state: own.state, affected: Vec::new() });
    }
    let mut install = Install::default();
    if request.verb == VerbId::UnitDisable {
        install.read_links(unit, &bus.links(unit)?.join("\n"))?;
    } else if request.verb == VerbId::UnitEnable {
        install = Install::of_enabling(unit, |unit| files(bus, unit))?;
    }
    affected_units(request, own, &install, |units| {
        units.iter().map(|unit| known(&bus.properties(unit)?)).collect()
    })
}

/// Checks every text of the facts, which appear in plans, records and approval texts.
///
/// # Errors
/// PID 1 answered with a text that systemd does not use.
pub fn checked(facts: &UnitFacts) -> Result<Facts, Error> {
    let facts = UnitFacts::from_wire(&facts.to_wire()).map_err(|invalid| unreadable(&invalid))?;
    Ok(Facts::Unit(Box::new(facts)))
}

/// Reads the files of a unit, whose `[Install]` the bus does not have; empty if there is no such unit.
fn files(bus: &Bus, unit: &UnitName) -> Result<String, Error> {
    let properties = bus.properties(unit)?;
    if is_missing(&known(&properties)?.state) {
        return Ok(String::new());
    }
    let (paths, mut all) = (properties.files(), String::new());
    if paths.is_empty() {
        return Err(
            Denied::new(Code::Unsupported, format!("{unit} has no file; it cannot be enabled")).into()
        );
    }
    for path in paths {
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
        all.push_str(&String::from_utf8_lossy(&text));
        all.push('\n');
    }
    Ok(all)
}

fn known(properties: &Properties) -> Result<UnitProperties, Error> {
    properties.unit().map_err(|invalid| unreadable(&invalid))
}

fn unreadable(invalid: &Invalid) -> Error {
    Fault::new(format!("systemd's answer: {invalid}")).into()
}
