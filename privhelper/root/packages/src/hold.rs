//! `package.hold` and `package.unhold`, by apt-mark.

use crate::host::Host;
use crate::runner::Runner;
use postern_apt::dpkg::{self, Row};
use postern_apt::{apt_errors, arguments};
use postern_policy::Code;
use postern_policy::types::PackageName;
use postern_proto::v1::{Completed, Status};
use postern_root::host::lock_holder;
use postern_root::{Fault, failed, unchanged};

/// Marks the packages that need it, and checks dpkg's state afterwards.
pub fn mark(
    host: &Host,
    runner: &Runner<'_>,
    holds: bool,
    names: &[PackageName],
) -> Result<Completed, Fault> {
    if dpkg::interrupted(&host.apt) {
        let denied = apt_errors::needs_repair("dpkg was interrupted");
        return Ok(failed(denied.code, &denied.message));
    }
    let native = dpkg::native(&host.apt)?;
    let texts: Vec<&str> = names.iter().map(PackageName::as_str).collect();
    let before = dpkg::rows(&host.apt, &texts)?;
    if let Some(missing) = texts.iter().find(|name| installed(&before, &native, name).is_none()) {
        return Ok(failed(Code::NotFound, &format!("{missing} is not installed")));
    }
    let differs = |name: &&PackageName| {
        installed(&before, &native, name.as_str()).is_some_and(|row| row.info.held != holds)
    };
    let names: Vec<&PackageName> = names.iter().filter(differs).collect();
    if names.is_empty() {
        return Ok(unchanged(if holds { "held already" } else { "not held" }));
    }
    runner.run(&host.apt.apt_mark, &arguments::mark(holds, &names))?;
    let rows = dpkg::rows(&host.apt, &texts)?;
    let after = names.iter().filter_map(|name| installed(&rows, &native, name.as_str()));
    let after: Vec<&Row> = after.collect();
    if let Some(row) = after.iter().find(|row| row.info.held != holds) {
        let written = runner.tail(4096);
        let is_locked = lock_holder(&host.apt.dpkg_lock).is_ok_and(|holder| holder.is_some());
        let code = if is_locked { Code::Busy } else { Code::PackageFailed };
        let words = if holds { "is not held" } else { "is still held" };
        return Ok(failed(
            code,
            &format!("{} {words}: {}", row.info.name, String::from_utf8_lossy(&written)),
        ));
    }
    let packages = after.into_iter().map(|row| row.info.clone()).collect();
    Ok(Completed { status: Status::Done.into(), packages, ..Completed::default() })
}

/// Returns the package of this name, if more than its configuration is installed.
fn installed<'a>(rows: &'a [Row], native: &str, name: &str) -> Option<&'a Row> {
    dpkg::find(rows, native, name).filter(|row| row.is_there())
}
