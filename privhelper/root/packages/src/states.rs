//! The state of packages after a transaction.

use crate::host::Host;
use postern_apt::apt_errors::one_line;
use postern_apt::dpkg::{self, Row};
use postern_apt::{Action as Asked, Fault};
use postern_proto::v1::{Action, Completed, PackageInfo, PackageStep, Status};
use std::fs;
use std::os::unix::fs::MetadataExt;
use std::path::Path;

/// Adds to an outcome the state of each package, and in words which are half done.
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
    let staying: Vec<&str> =
        expected.iter().filter(|step| !is_removal(step)).map(|step| step.name.as_str()).collect();
    if staying.is_empty() {
        return Ok(());
    }
    // The order was written just before the start, by the same clock as what dpkg then made.
    let path = directory.join("order.pb");
    let began = fs::metadata(&path).map_err(|error| Fault::at(&path, &error))?;
    let since = (began.ctime(), began.ctime_nsec());
    for (name, arch, file) in dpkg::kept_conffiles(&host.apt, &staying, since)? {
        let package = outcome.packages.iter_mut().find(|info| info.name == name && info.arch == arch);
        if let Some(info) = package {
            info.conffiles_kept.push(file);
        }
    }
    Ok(())
}

/// dpkg forgets what is purged.
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

fn is_removal(step: &PackageStep) -> bool {
    matches!(step.action(), Action::Remove | Action::Purge)
}
