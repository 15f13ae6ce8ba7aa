//! What dpkg has of the packages after a transaction.

use std::fs;
use std::os::unix::fs::MetadataExt;
use std::path::Path;

use postern_proto::root::v1::{JobOutcome, Transaction};
use postern_proto::v1::{Action, PackageInfo, PackageStep};

use crate::dpkg::{self, Row};
use crate::record::Record;
use crate::{Fault, Host, meaning};

/// Adds to an outcome the state of each package, and in words what is left half done.
pub fn add(host: &Host, directory: &Path, record: &Record, outcome: &mut JobOutcome) -> Result<(), Fault> {
    let names: Vec<&str> = record.expected.iter().map(|step| step.name.as_str()).collect();
    let all = record.transaction == Transaction::Repair;
    let rows = dpkg::rows(host, if all { &[] } else { &names })?;
    let half = rows.iter().filter(|row| row.half_done());
    let half: Vec<String> = half.map(|row| format!("{} is {}", row.name, row.state)).collect();
    if !half.is_empty() {
        if outcome.code.is_empty() {
            "package_failed".clone_into(&mut outcome.code);
        }
        let and = if outcome.detail.is_empty() { "" } else { "; " };
        outcome.detail = meaning::one_line(&format!("{}{and}{}", outcome.detail, half.join(", ")));
    }
    outcome.packages = record.expected.iter().map(|step| info(step, &rows)).collect();
    let staying: Vec<&str> =
        record.expected.iter().filter(|step| !is_removal(step)).map(|step| step.name.as_str()).collect();
    if staying.is_empty() {
        return Ok(());
    }
    // The record was written just before the start, by the same clock as what dpkg then made.
    let path = directory.join("job.pb");
    let began = fs::metadata(&path).map_err(|error| Fault::at(&path, &error))?;
    for (name, arch, file) in dpkg::kept_conffiles(host, &staying, (began.ctime(), began.ctime_nsec()))? {
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
