//! Keeps packages at their version, or no longer.

use crate::files;
use crate::follow::{Follower, lock_holder, spawn};
use crate::host::Host;
use crate::outcome::{failed, unchanged};
use postern_apt::dpkg::{self, Row};
use postern_apt::{Fault, apt_errors, arguments};
use postern_policy::Code;
use postern_policy::types::PackageName;
use postern_proto::v1::{Completed, Phase, Status};
use std::fs::File;
use std::path::Path;
use std::time::Duration;

/// Marks those of the packages that are not so already, and looks whether dpkg has taken it.
pub fn mark(
    host: &Host,
    directory: &Path,
    (holds, names): (bool, &[PackageName]),
    wait: Duration,
    output: &File,
) -> Result<Completed, Fault> {
    if dpkg::interrupted(&host.apt) {
        let (code, message) = apt_errors::needs_repair("dpkg was interrupted");
        return Ok(failed(code, &message));
    }
    let native = dpkg::native(&host.apt)?;
    let all: Vec<&str> = names.iter().map(PackageName::as_str).collect();
    let before = dpkg::rows(&host.apt, &all)?;
    if let Some(missing) = all.iter().find(|name| installed(&before, &native, name).is_none()) {
        return Ok(failed(Code::NotFound, &format!("{missing} is not installed")));
    }
    let differs =
        |name: &&PackageName| installed(&before, &native, name.as_str()).is_some_and(|row| row.held != holds);
    let names: Vec<&PackageName> = names.iter().filter(differs).collect();
    if names.is_empty() {
        return Ok(unchanged(if holds { "held already" } else { "not held" }));
    }
    drop(files::create(directory, "status")?);
    let mut follower = Follower::new(directory, &host.apt.dpkg_lock, Phase::Run)?;
    // apt-mark does not wait for the lock by itself.
    follower.wait_for_lock(wait);
    follower.follow(spawn(&host.apt.apt_mark, &arguments::mark(holds, &names), output)?)?;
    let texts: Vec<&str> = names.iter().map(|name| name.as_str()).collect();
    let rows = dpkg::rows(&host.apt, &texts)?;
    let after: Vec<&Row> = texts.iter().filter_map(|name| installed(&rows, &native, name)).collect();
    if let Some(row) = after.iter().find(|row| row.held != holds) {
        let written = files::tail(&directory.join("output"), 4096);
        let is_locked = lock_holder(&host.apt.dpkg_lock).is_some();
        let code = if is_locked { Code::Busy } else { Code::PackageFailed };
        let words = if holds { "is not held" } else { "is still held" };
        return Ok(failed(code, &format!("{} {words}: {}", row.name, String::from_utf8_lossy(&written))));
    }
    let packages = after.into_iter().map(Row::info).collect();
    Ok(Completed { status: Status::Done.into(), packages, ..Completed::default() })
}

/// The package of this name, if it is there and not merely its configuration.
fn installed<'a>(rows: &'a [Row], native: &str, name: &str) -> Option<&'a Row> {
    dpkg::find(rows, native, name).filter(|row| row.state != "config-files")
}
