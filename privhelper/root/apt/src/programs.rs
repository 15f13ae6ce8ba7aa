//! Starts programs of apt and dpkg with a constant environment.

use crate::host::Host;
use postern_root::Fault;
use std::path::Path;
use std::process::{Command, Output, Stdio};
use std::thread;

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
    (host.run)(command(program, NOBODY).args(arguments)).map_err(Fault::at(program))
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
