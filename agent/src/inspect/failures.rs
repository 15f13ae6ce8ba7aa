//! Whether units have failed, and when: what schedules watch.

use super::bus::{Bus, Unit};
use super::read_error::ReadError;
use super::units::BUS;
use std::path::Path;

/// A unit, as schedules see it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct UnitState {
    /// Its own name, where it was asked for by an alias.
    pub name: String,
    /// Whether systemd has it.
    pub exists: bool,
    /// Systemd's time of its failure in microseconds, while it is failed.
    pub failed_us: Option<u64>,
}

/// Reads the states of these units, in their order, each with its own error: one unit hides no other. `root` is the
/// directory that /run is in.
///
/// # Errors
/// The system bus does not answer.
pub fn unit_states(root: &Path, names: &[String]) -> Result<Vec<Result<UnitState, String>>, String> {
    let bus = Bus::connect(&root.join(BUS)).map_err(why)?;
    Ok(names.iter().map(|name| state(&bus, name).map_err(why)).collect())
}

fn why(error: ReadError) -> String {
    match error {
        ReadError::Denied(why) | ReadError::Failed(why) => why,
        ReadError::Elsewhere => "units are not read here".to_owned(),
    }
}

fn state(bus: &Bus, name: &str) -> Result<UnitState, ReadError> {
    let Unit { name, load, active, object, .. } = bus.unit(name)?;
    let failed_us = if active == "failed" { Some(bus.state_change(&object)?) } else { None };
    Ok(UnitState { name, exists: load == "loaded" || load == "masked", failed_us })
}
