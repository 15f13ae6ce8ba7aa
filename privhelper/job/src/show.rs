//! What dpkg and apt's cache know of packages.

use postern_proto::root::v1::JobOutcome;
use postern_proto::v1::PackageInfo;

use crate::apt::one_line;
use crate::record::{Record, Target};
use crate::{Fault, Host, sys};

/// One line a package: name, architecture, what is wanted of it, state, version, essential, summary.
const FORMAT: &str = "-f=${Package}\\t${Architecture}\\t${db:Status-Want}\\t${db:Status-Status}\\t${Version}\\t${Essential}\\t${binary:Summary}\\n";

/// One [`PackageInfo`] a name, in the order asked. An unknown name has the state `not-found`.
pub fn show(host: &Host, record: &Record) -> Result<JobOutcome, Fault> {
    let native = native(host)?;
    let rows = installed(host, &record.names())?;
    let operands: Vec<String> = record.targets.iter().map(Target::exact).collect();
    let mut argv = vec!["show", "-o", "APT::Cmd::Pattern-Only=true", "--no-all-versions", "--"];
    argv.extend(operands.iter().map(String::as_str));
    // It fails when no name is known; what it printed counts, and only for the exact name.
    let cache = sys::ask(&host.apt_cache, &argv)?.stdout;
    let cache = String::from_utf8_lossy(&cache);
    let candidates: Vec<PackageInfo> = cache.split("\n\n").filter_map(candidate).collect();
    let packages = record.names().iter().map(|name| info(name, &native, &rows, &candidates)).collect();
    Ok(JobOutcome { packages, ..JobOutcome::default() })
}

fn info(name: &str, native: &str, rows: &[PackageInfo], candidates: &[PackageInfo]) -> PackageInfo {
    let ours = |info: &&PackageInfo| info.name == name && (info.arch == native || info.arch == "all");
    let row = rows.iter().find(ours).or_else(|| rows.iter().find(|row| row.name == name));
    match (row, candidates.iter().find(ours)) {
        (Some(row), Some(found)) => PackageInfo {
            candidate: found.candidate.clone(),
            essential: row.essential || found.essential,
            summary: found.summary.clone(),
            ..row.clone()
        },
        (Some(info), None) | (None, Some(info)) => info.clone(),
        (None, None) => {
            PackageInfo { name: name.to_owned(), state: "not-found".to_owned(), ..PackageInfo::default() }
        }
    }
}

/// A stanza of apt's cache as a package that is not installed.
fn candidate(stanza: &str) -> Option<PackageInfo> {
    let field =
        |key: &str| stanza.lines().find_map(|line| line.strip_prefix(key)?.strip_prefix(':').map(str::trim));
    Some(PackageInfo {
        name: field("Package")?.to_owned(),
        arch: field("Architecture")?.to_owned(),
        state: "not-installed".to_owned(),
        candidate: field("Version")?.to_owned(),
        essential: field("Essential") == Some("yes"),
        summary: one_line(field("Description").or_else(|| field("Description-en")).unwrap_or_default()),
        ..PackageInfo::default()
    })
}

/// What dpkg has of these names, on every architecture. Names it does not know are left out.
pub fn installed(host: &Host, names: &[&str]) -> Result<Vec<PackageInfo>, Fault> {
    // It exits with 1 when a name is unknown, and still prints the others.
    let answer = sys::ask(&host.dpkg_query, &[&["-W", FORMAT, "--"], names].concat())?;
    Ok(String::from_utf8_lossy(&answer.stdout).lines().filter_map(row).collect())
}

fn row(line: &str) -> Option<PackageInfo> {
    let fields: Vec<&str> = line.splitn(7, '\t').collect();
    let [name, arch, want, state, version, essential, summary] = *fields.as_slice() else { return None };
    // dpkg remembers the version of a package whose files are gone.
    let installed = if state == "config-files" { "" } else { version };
    (state != "not-installed").then(|| PackageInfo {
        name: name.to_owned(),
        arch: arch.to_owned(),
        state: state.to_owned(),
        installed: installed.to_owned(),
        held: want == "hold",
        essential: essential == "yes",
        summary: one_line(summary),
        ..PackageInfo::default()
    })
}

/// dpkg's own architecture.
pub fn native(host: &Host) -> Result<String, Fault> {
    let answer = sys::ask(&host.dpkg, &["--print-architecture"])?;
    let arch = String::from_utf8_lossy(&answer.stdout).trim().to_owned();
    if arch.is_empty() { Err(Fault::new("dpkg names no architecture")) } else { Ok(arch) }
}
