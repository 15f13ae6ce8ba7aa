//! `package.show`: packages as dpkg and apt's cache describe them.

use postern_apt::arguments::exact;
use postern_apt::{Host, dpkg, programs, sources};
use postern_policy::types::PackageName;
use postern_proto::v1::{Action, PackageInfo, PackageStep};
use postern_root::{Fault, one_line};

/// One [`PackageInfo`] a name, in the order asked. An unknown name has the state `not-found`.
///
/// # Errors
/// dpkg or apt-cache cannot be asked.
pub fn show(host: &Host, names: &[PackageName]) -> Result<Vec<PackageInfo>, Fault> {
    let native = dpkg::native(host)?;
    let texts: Vec<&str> = names.iter().map(PackageName::as_str).collect();
    let rows = dpkg::rows(host, &texts)?;
    let operands: Vec<String> = names.iter().map(exact).collect();
    let mut argv = vec!["show", "-o", "APT::Cmd::Pattern-Only=true", "--no-all-versions", "--"];
    argv.extend(operands.iter().map(String::as_str));
    // It fails when no name is known; what it printed counts, and only for the exact name.
    let cache = programs::ask(host, &host.apt_cache, &argv)?.stdout;
    let cache = String::from_utf8_lossy(&cache);
    let candidates: Vec<PackageInfo> = cache.split("\n\n").filter_map(candidate).collect();
    let mut packages: Vec<PackageInfo> =
        texts.iter().map(|name| info(name, &native, &rows, &candidates)).collect();
    add_sources(host, &mut packages, &native);
    Ok(packages)
}

/// Adds the sources of each candidate; none if apt does not name them.
fn add_sources(host: &Host, packages: &mut [PackageInfo], native: &str) {
    let step = |info: &PackageInfo| PackageStep {
        action: Action::Install.into(),
        name: info.name.clone(),
        arch: info.arch.clone(),
        new: info.candidate.clone(),
        ..PackageStep::default()
    };
    let with_candidate = |info: &&mut PackageInfo| !info.candidate.is_empty();
    let mut packages: Vec<&mut PackageInfo> = packages.iter_mut().filter(with_candidate).collect();
    let mut steps: Vec<PackageStep> = packages.iter().map(|info| step(info)).collect();
    if sources::tie(host, &mut steps, native).is_ok() {
        for (info, step) in packages.iter_mut().zip(steps) {
            info.sources = step.sources;
        }
    }
}

fn info(name: &str, native: &str, rows: &[dpkg::Row], candidates: &[PackageInfo]) -> PackageInfo {
    let ours = |info: &&PackageInfo| info.name == name && (info.arch == native || info.arch == "all");
    let row = dpkg::find(rows, native, name).map(|row| row.info.clone());
    match (row, candidates.iter().find(ours)) {
        (Some(row), Some(found)) => PackageInfo {
            candidate: found.candidate.clone(),
            essential: row.essential || found.essential,
            summary: found.summary.clone(),
            ..row
        },
        (Some(info), None) => info,
        (None, Some(info)) => info.clone(),
        (None, None) => {
            PackageInfo { name: name.to_owned(), state: "not-found".to_owned(), ..PackageInfo::default() }
        }
    }
}

/// A field of a stanza.
pub fn field<'a>(stanza: &'a str, key: &str) -> Option<&'a str> {
    stanza.lines().find_map(|line| line.strip_prefix(key)?.strip_prefix(':').map(str::trim))
}

/// A stanza of apt's cache as a package that is not installed. A repository wrote it: no text of it keeps control
/// characters.
fn candidate(stanza: &str) -> Option<PackageInfo> {
    let field = |key| field(stanza, key).map(one_line);
    Some(PackageInfo {
        name: field("Package")?,
        arch: field("Architecture")?,
        state: "not-installed".to_owned(),
        candidate: field("Version")?,
        essential: field("Essential").is_some_and(|value| value == "yes"),
        summary: field("Description").or_else(|| field("Description-en")).unwrap_or_default(),
        ..PackageInfo::default()
    })
}
