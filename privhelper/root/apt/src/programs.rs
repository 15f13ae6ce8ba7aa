//! The programs of apt and dpkg, as values that tests replace, and how they are started: with a constant environment.

use postern_root::Fault;
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};
use std::thread;

/// The programs of apt and dpkg, and the files that tell their state.
#[derive(Debug, Clone)]
pub struct Host {
    /// apt-get(8).
    pub apt_get: PathBuf,
    /// apt-cache(8).
    pub apt_cache: PathBuf,
    /// apt-mark(8).
    pub apt_mark: PathBuf,
    /// dpkg(1).
    pub dpkg: PathBuf,
    /// dpkg-query(1).
    pub dpkg_query: PathBuf,
    /// dpkg's lock that a front end takes.
    pub dpkg_lock: PathBuf,
    /// The lock of the package lists.
    pub lists_lock: PathBuf,
    /// Where an interrupted dpkg leaves updates of its records.
    pub dpkg_updates: PathBuf,
    /// Runs a read-only program to its end; the probe's version has a time limit.
    pub run: fn(&mut Command) -> std::io::Result<Output>,
}

impl Host {
    /// The programs of a Debian host.
    #[must_use]
    pub fn debian() -> Self {
        Self {
            apt_get: "/usr/bin/apt-get".into(),
            apt_cache: "/usr/bin/apt-cache".into(),
            apt_mark: "/usr/bin/apt-mark".into(),
            dpkg: "/usr/bin/dpkg".into(),
            dpkg_query: "/usr/bin/dpkg-query".into(),
            dpkg_lock: "/var/lib/dpkg/lock-frontend".into(),
            lists_lock: "/var/lib/apt/lists/lock".into(),
            dpkg_updates: "/var/lib/dpkg/updates".into(),
            run: Command::output,
        }
    }
}

/// The whole environment of every program started here, but for `HOME`.
/// No `/usr/local`: administrators' groups may write there.
const ENVIRONMENT: [(&str, &str); 10] = [
    ("PATH", "/usr/sbin:/usr/bin:/sbin:/bin"),
    ("LC_ALL", "C.UTF-8"),
    ("DEBIAN_FRONTEND", "noninteractive"),
    ("DEBIAN_PRIORITY", "critical"),
    ("APT_LISTCHANGES_FRONTEND", "none"),
    ("APT_LISTBUGS_FRONTEND", "none"),
    ("NEEDRESTART_SUSPEND", "1"),
    ("UCF_FORCE_CONFFOLD", "1"),
    ("TERM", "dumb"),
    ("PAGER", "cat"),
];

/// `HOME` of what runs as root.
pub const ROOT: &str = "/root";
/// `HOME` of read-only programs: it does not exist.
const NOBODY: &str = "/nonexistent";

/// A program with the constant environment, nothing on stdin, in `/`.
#[expect(clippy::disallowed_methods, reason = "the one place that starts programs; the paths are Host's")]
#[must_use]
pub fn command(program: &Path, home: &str) -> Command {
    let mut command = Command::new(program);
    command.env_clear().envs(ENVIRONMENT).env("HOME", home).current_dir("/").stdin(Stdio::null());
    command
}

/// Runs a program that only reads to its end.
///
/// # Errors
/// It cannot be started.
pub fn ask(host: &Host, program: &Path, arguments: &[&str]) -> Result<Output, Fault> {
    (host.run)(command(program, NOBODY).args(arguments)).map_err(Fault::io(program.display()))
}

/// Runs both in parallel: each mostly waits for a program of apt or dpkg.
///
/// # Errors
/// One of them failed.
pub fn both<A: Send, B>(
    first: impl FnOnce() -> Result<A, Fault> + Send,
    second: impl FnOnce() -> Result<B, Fault>,
) -> Result<(A, B), Fault> {
    thread::scope(|scope| {
        let first = scope.spawn(first);
        let second = second()?;
        Ok((first.join().map_err(|_| Fault::new("a thread has panicked"))??, second))
    })
}
