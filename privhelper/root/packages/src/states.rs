//! The state of packages after a transaction.

use crate::host::Host;
use postern_apt::Action as Asked;
use postern_apt::dpkg::{self, Row};
use postern_proto::v1::{Action, Completed, PackageInfo, PackageStep, Status};
use postern_root::{Fault, one_line};
use std::fs;
use std::os::unix::fs::MetadataExt;
use std::path::Path;

/// Adds to an outcome the state of each package, and names those that are half-configured.
pub fn add(
    host: &Host,
    directory: &Path,
    (asked, expected): (Asked, &[PackageStep]),
    outcome: &mut Completed,
) -> Result<(), Fault> {
    let names: Vec<&str> = expected.iter().map(|step| step.name.as_str()).collect();
    let all = asked == Asked::Repair;
    let rows = dpkg::rows(&host.apt, if all { &[] } else { &names })?;
    let half = rows.iter().filter(|row| row.half_done());
    let half: Vec<String> = half.map(|row| format!("{} is {}", row.name, row.state)).collect();
    if !half.is_empty() {
        if outcome.code.is_empty() {
            outcome.status = Status::Failed.into();
            "package_failed".clone_into(&mut outcome.code);
        }
        let and = if outcome.message.is_empty() { "" } else { "; " };
        outcome.message = one_line(&format!("{}{and}{}", outcome.message, half.join(", ")));
    }
    outcome.packages = expected.iter().map(|step| info(step, &rows)).collect();
    let is_removal = |step: &&PackageStep| matches!(step.action(), Action::Remove | Action::Purge);
    let staying = expected.iter().filter(|step| !is_removal(step));
    let staying: Vec<&str> = staying.map(|step| step.name.as_str()).collect();
    if staying.is_empty() {
        return Ok(());
    }
    // The order was written just before the start, by the same clock as dpkg's files.
    let path = directory.join("order.pb");
    let began = fs::metadata(&path).map_err(Fault::at(&path))?;
    let since = (began.ctime(), began.ctime_nsec());
    for (name, arch, file) in dpkg::kept_conffiles(&host.apt, &staying, since)? {
        let package = outcome.packages.iter_mut().find(|info| info.name == name && info.arch == arch);
        if let Some(info) = package {
            info.conffiles_kept.push(file);
        }
    }
    Ok(())
}

/// Returns the state after a step; dpkg has no entry of a purged package.
fn info(step: &PackageStep, rows: &[Row]) -> PackageInfo {
    let row = rows.iter().find(|row| row.name == step.name && row.arch == step.arch);
    row.map_or_else(
        || PackageInfo {
            name: step.name.clone(),
            arch: step.arch.clone(),
            state: "not-installed".to_owned(),
            ..PackageInfo::default()
        },
        Row::info,
    )
}
