//! Facts about a unit from PID 1: its state, and every unit that a change would affect.

use crate::state::Host;
use crate::systemctl::{self, text};
use postern_affected::{Install, UnitProperties, affected_units};
use postern_policy::VerbId;
use postern_policy::facts::{UnitFacts, UnitState, is_missing};
use postern_policy::request::UnitRequest;
use postern_policy::types::UnitName;
use postern_root::{Code, Denied, Error, Fault};

/// Gathers the facts of a change.
///
/// # Errors
/// `not_found`; `precondition_failed`: a unit's file changed since systemd read it; or systemd cannot be asked.
pub fn gather(host: &Host, request: &UnitRequest) -> Result<UnitFacts, Error> {
    let unit = &request.unit;
    let mut own = properties_of(host, unit)?;
    if is_missing(&own.state) {
        return Err(Denied::new(Code::NotFound, format!("{unit} does not exist on this host")).into());
    }
    let mut install = Install::default();
    if request.verb == VerbId::UnitDisable {
        install.read_links(unit, &files(host, &["is-enabled", "--full"], unit)?)?;
    } else if request.verb == VerbId::UnitEnable {
        install = Install::of_enabling(unit, |unit| {
            let is_missing = is_missing(&state(host, unit)?);
            if is_missing { Ok(String::new()) } else { files(host, &["cat"], unit) }
        })?;
        // Again: they must not be older than the files that were read, also those of `Also=`.
        own = properties_of(host, unit)?;
    }
    affected_units(request, own, &install, |units| properties(host, units))
}

/// The state of one unit.
pub fn state(host: &Host, unit: &UnitName) -> Result<UnitState, Error> {
    Ok(properties_of(host, unit)?.state)
}

fn properties_of(host: &Host, unit: &UnitName) -> Result<UnitProperties, Error> {
    let shown = properties(host, std::slice::from_ref(unit))?.into_iter().next();
    Ok(shown.ok_or_else(|| Fault::new("systemctl show printed nothing"))?)
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
