//! Keeps packages at their version, or no longer.

use std::fs::File;
use std::path::Path;
use std::time::Duration;

use postern_proto::root::v1::{JobKind, JobOutcome};
use postern_proto::v1::Phase;

use crate::dpkg::Row;
use crate::follow::{Follower, spawn};
use crate::record::{Record, Target};
use crate::{Fault, Host, apt, dpkg, meaning, sys};

/// Marks those of the packages that are not so already, and looks whether dpkg has taken it.
pub fn mark(host: &Host, directory: &Path, record: &Record, output: &File) -> Result<JobOutcome, Fault> {
    if dpkg::interrupted(host) {
        return Ok(meaning::needs_repair("dpkg was interrupted"));
    }
    let native = dpkg::native(host)?;
    let holds = record.kind == JobKind::Hold;
    let before = dpkg::rows(host, &record.names())?;
    if let Some(missing) = record.names().into_iter().find(|name| there(&before, &native, name).is_none()) {
        return Ok(meaning::outcome("not_found", &format!("{missing} is not installed")));
    }
    let differs =
        |target: &&Target| there(&before, &native, target.name()).is_some_and(|row| row.held != holds);
    let targets: Vec<&Target> = record.targets.iter().filter(differs).collect();
    if targets.is_empty() {
        let words = if holds { "held already" } else { "not held" };
        return Ok(meaning::outcome("", words));
    }
    drop(sys::create(directory, "status")?);
    let mut follower = Follower::new(directory, &host.dpkg_lock, Phase::Run)?;
    // apt-mark does not wait for the lock by itself.
    follower.wait_for_lock(Duration::from_secs(record.lock_timeout_s.into()));
    let ended = follower.follow(spawn(&host.apt_mark, &apt::mark(record.kind, &targets), output)?)?;
    let names: Vec<&str> = targets.iter().map(|target| target.name()).collect();
    let rows = dpkg::rows(host, &names)?;
    let after: Vec<&Row> = names.iter().filter_map(|name| there(&rows, &native, name)).collect();
    if let Some(row) = after.iter().find(|row| row.held != holds) {
        let said = sys::tail(&directory.join("output"), 4096);
        let code = if sys::lock_holder(&host.dpkg_lock).is_some() { "busy" } else { "package_failed" };
        let words = if holds { "is not held" } else { "is still held" };
        let said = String::from_utf8_lossy(&said);
        let mut outcome = meaning::outcome(code, &format!("{} {words}: {said}", row.name));
        outcome.exit_code = ended.code().unwrap_or_default();
        return Ok(outcome);
    }
    let packages = after.into_iter().map(Row::info).collect();
    Ok(JobOutcome { packages, ..JobOutcome::default() })
}

/// The package of this name, if it is there and not merely its configuration.
fn there<'a>(rows: &'a [Row], native: &str, name: &str) -> Option<&'a Row> {
    dpkg::find(rows, native, name).filter(|row| row.state != "config-files")
}
