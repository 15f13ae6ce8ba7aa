//! The packs of this host: those that are installed, and the files of those that were added.

use super::added::{self, Added};
use super::error::{CommandError, failed, usage};
use super::pack::{self, Pack};
use crate::host::Host;
use crate::io::Io;
use crate::lint::gather;
use postern_policy::types::UnitName;
use std::collections::BTreeSet;

/// The installed packs; what is no pack is said.
pub(super) fn installed(host: &Host, io: &mut Io<'_>) -> Result<Vec<Pack>, CommandError> {
    let (packs, wrong) =
        pack::all(host).map_err(|error| failed(format!("{}: {error}", host.packs.display())))?;
    for why in wrong {
        writeln!(io.err, "{}", crate::text::escape(&why))?;
    }
    Ok(packs)
}

/// The pack of this name.
pub(super) fn find<'a>(packs: &'a [Pack], name: &str) -> Result<&'a Pack, CommandError> {
    let names = packs.iter().map(|pack| pack.about.name.as_str());
    let found = packs.iter().find(|pack| pack.about.name == name);
    found.ok_or_else(|| usage(crate::text::unknown("pack", name, names)))
}

/// Names of the packs that are added, or made for a package or unit of this host: those of running units first, those of units
/// that do not run last.
///
/// # Errors
/// The packs cannot be read.
pub fn fitting(host: &Host, io: &mut Io<'_>) -> Result<Vec<String>, CommandError> {
    let added = added::all(host).map_err(|error| failed(error.to_string()))?;
    let fits = |pack: &Pack| {
        let is_for_something = !pack.about.offers.packages.is_empty() || !pack.about.offers.units.is_empty();
        added.iter().any(|added| added.name == pack.about.name) || (is_for_something && pack.is_offered(host))
    };
    let packs = installed(host, io)?.into_iter().filter(fits).collect::<Vec<_>>();
    let active = active(host, packs.iter().flat_map(|pack| &pack.about.offers.units));
    let runs = |pack: &Pack| pack.about.offers.units.iter().any(|unit| active.contains(unit));
    let mut ranked = packs.iter().map(|pack| (rank(pack, runs(pack)), &pack.about.name)).collect::<Vec<_>>();
    ranked.sort();
    Ok(ranked.into_iter().map(|(_, name)| name.clone()).collect())
}

/// The place of a pack among those that are offered, smallest first. A pack without units is for files or programs.
fn rank(pack: &Pack, runs: bool) -> u8 {
    match (runs, pack.about.offers.units.is_empty()) {
        (true, _) => 0,
        (false, true) => 1,
        (false, false) => 2,
    }
}

/// Those of the units that are active. Without systemd none is known to be.
fn active<'a>(host: &Host, units: impl Iterator<Item = &'a String>) -> BTreeSet<String> {
    let Some(systemctl) = host.running_systemctl() else {
        return BTreeSet::new();
    };
    let fixed = ["show", "--no-pager", "--property=Names,ActiveState", "--"].map(str::to_owned);
    // One that is no name of a unit would make systemctl refuse all.
    let units = units.filter(|unit| UnitName::new(unit).is_ok()).cloned();
    let arguments = fixed.into_iter().chain(units).collect::<Vec<_>>();
    let shown = gather::run(systemctl, &arguments).unwrap_or_default();
    let is_active = |unit: &&str| unit.lines().any(|line| line == "ActiveState=active");
    let units = shown.split("\n\n").filter(is_active);
    // A unit that is offered by an alias answers with all of its names.
    let names = units.filter_map(|unit| unit.lines().find_map(|line| line.strip_prefix("Names=")));
    names.flat_map(|names| names.split(' ').map(str::to_owned)).collect()
}

/// The pack's file in the policy, if it was added.
pub(super) fn read_added(host: &Host, name: &str) -> Result<Option<Added>, CommandError> {
    added::read(host, name).map_err(|error| failed(error.to_string()))
}

/// The error for a pack that was not added: with the nearest of those that were, and their list.
pub(super) fn not_added(host: &Host, name: &str) -> Result<String, CommandError> {
    let added = added::all(host).map_err(|error| failed(error.to_string()))?;
    let names = added.iter().map(|added| added.name.as_str());
    Ok(crate::text::unknown("added pack", name, names))
}
