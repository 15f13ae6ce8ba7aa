//! The state of packages as dpkg-query prints it.

use std::fs;
use std::os::unix::fs::MetadataExt;

use nix::sys::utsname::uname;
use postern_proto::v1::PackageInfo;
use postern_root::{Fault, one_line};

use crate::programs::{self, Host};

/// One line a package, in the order of [`row`].
const FORMAT: &str = "-f=${Package}\\t${Architecture}\\t${db:Status-Want}\\t${db:Status-Status}\\t${Version}\\t${Essential}\\t${Protected}\\t${Priority}\\t${Installed-Size}\\t${binary:Summary}\\n";
/// The configuration files of each package, each on a line that begins with a blank.
const CONFFILES: &str = "-f=${Package}\\t${Architecture}\\n${Conffiles}\\n";

/// One package on one architecture.
#[derive(Debug, Clone)]
pub struct Row {
    /// As messages hold it. `essential`: the system does not work without it.
    pub info: PackageInfo,
    /// Also of a package whose files are gone.
    pub version: String,
    /// Installed size in KiB.
    pub size_kib: i64,
}

impl Row {
    /// Whether it is neither installed nor removed completely.
    #[must_use]
    pub fn half_done(&self) -> bool {
        !matches!(self.info.state.as_str(), "installed" | "config-files" | "not-installed")
    }

    /// Whether it is this package.
    #[must_use]
    pub fn is(&self, name: &str, arch: &str) -> bool {
        self.info.name == name && self.info.arch == arch
    }

    /// Whether more of it than its configuration is there.
    #[must_use]
    pub fn is_there(&self) -> bool {
        self.info.state != "config-files"
    }
}

/// The state of these packages, on every architecture; of all packages if none is named. Names that dpkg does not know
/// are left out.
///
/// # Errors
/// The program cannot be started, or does not answer as expected.
pub fn rows(host: &Host, names: &[&str]) -> Result<Vec<Row>, Fault> {
    // It exits with 1 when a name is unknown, and still prints the others.
    let answer = programs::ask(host, &host.dpkg_query, &[&["-W", FORMAT, "--"], names].concat())?;
    Ok(String::from_utf8_lossy(&answer.stdout).lines().filter_map(row).collect())
}

fn row(line: &str) -> Option<Row> {
    let fields: Vec<&str> = line.splitn(10, '\t').collect();
    let [name, arch, want, state, version, essential, protected, priority, size, summary] =
        *fields.as_slice()
    else {
        return None;
    };
    let installed = if state == "config-files" { "" } else { version };
    let info = PackageInfo {
        name: name.to_owned(),
        arch: arch.to_owned(),
        state: state.to_owned(),
        installed: installed.to_owned(),
        held: want == "hold",
        essential: essential == "yes" || protected == "yes" || priority == "required",
        summary: one_line(summary),
        ..PackageInfo::default()
    };
    let (version, size_kib) = (version.to_owned(), size.parse().unwrap_or_default());
    (state != "not-installed").then_some(Row { info, version, size_kib })
}

/// The row that a name without an architecture means.
#[must_use]
pub fn find<'a>(rows: &'a [Row], native: &str, name: &str) -> Option<&'a Row> {
    let ours = |row: &&Row| row.is(name, native) || row.is(name, "all");
    rows.iter().find(ours).or_else(|| rows.iter().find(|row| row.info.name == name))
}

/// Returns the reason why this package may not be removed; none if it may.
#[must_use]
pub fn vital(row: &Row) -> Option<String> {
    let kernel = uname().ok().and_then(|name| name.release().to_str().map(str::to_owned)).unwrap_or_default();
    // The image and its modules. An unsigned kernel has `unsigned` in the name of its package.
    let is_kernel = ["linux-image-", "linux-image-unsigned-", "linux-modules-"].iter().any(|start| {
        let rest =
            row.info.name.strip_prefix(start).map(|rest| rest.strip_suffix("-unsigned").unwrap_or(rest));
        rest == Some(kernel.as_str())
    });
    let why = if is_kernel {
        "is the kernel that runs"
    } else if row.info.essential {
        "is essential or required"
    } else {
        return None;
    };
    Some(format!("{} {why} and is not removed", row.info.name))
}

/// Whether dpkg was interrupted, by apt's own criterion: a file in `updates/` is left.
#[must_use]
pub fn interrupted(host: &Host) -> bool {
    let numbered = |entry: fs::DirEntry| {
        entry.file_name().to_str().is_some_and(|n| n.bytes().all(|b| b.is_ascii_digit()))
    };
    fs::read_dir(&host.dpkg_updates).is_ok_and(|mut entries| entries.any(|entry| entry.is_ok_and(numbered)))
}

/// dpkg's own architecture.
///
/// # Errors
/// The program cannot be started, or does not answer as expected.
pub fn native(host: &Host) -> Result<String, Fault> {
    let answer = programs::ask(host, &host.dpkg, &["--print-architecture"])?;
    let arch = String::from_utf8_lossy(&answer.stdout).trim().to_owned();
    if arch.is_empty() { Err(Fault::new("dpkg names no architecture")) } else { Ok(arch) }
}

/// Returns the configuration files of these packages with a `.dpkg-dist` newer than `since` (seconds and nanoseconds
/// since 1970): name, architecture and file.
///
/// # Errors
/// The program cannot be started, or does not answer as expected.
pub fn kept_conffiles(
    host: &Host,
    names: &[&str],
    since: (i64, i64),
) -> Result<Vec<(String, String, String)>, Fault> {
    let answer = programs::ask(host, &host.dpkg_query, &[&["-W", CONFFILES, "--"], names].concat())?;
    let text = String::from_utf8_lossy(&answer.stdout);
    let (mut of, mut kept) = (("", ""), Vec::new());
    for line in text.lines() {
        let Some(rest) = line.strip_prefix(' ') else {
            of = line.split_once('\t').unwrap_or(of);
            continue;
        };
        // `PATH MD5`, and `obsolete` behind it where the package has the file no more.
        let path = rest.rsplit_once(' ').map_or(rest, |(path, _)| path);
        let fresh = |found: fs::Metadata| (found.ctime(), found.ctime_nsec()) >= since;
        if fs::symlink_metadata(format!("{path}.dpkg-dist")).is_ok_and(fresh) {
            kept.push((of.0.to_owned(), of.1.to_owned(), path.to_owned()));
        }
    }
    Ok(kept)
}
