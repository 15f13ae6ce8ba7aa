//! Runs systemctl(1): fixed words, then `--`, then units' names of validated types. No shell, no pager, constant environment.

use crate::state::Host;
use postern_root::Fault;
use std::os::unix::process::CommandExt;
use std::process::{Child, Command, Output, Stdio};

/// The environment of systemctl.
const ENVIRONMENT: [(&str, &str); 6] = [
    ("PATH", "/usr/sbin:/usr/bin:/sbin:/bin"),
    ("LC_ALL", "C.UTF-8"),
    ("TERM", "dumb"),
    ("SYSTEMD_PAGER", ""),
    ("SYSTEMD_PAGERSECURE", "1"),
    // An init script beside the unit would run update-rc.d, which fails in this program's sandbox.
    ("SYSTEMCTL_SKIP_SYSV", "1"),
];

fn command(host: &Host, arguments: &[&str]) -> Command {
    #[expect(clippy::disallowed_methods, reason = "the one place that starts a program, from a fixed path")]
    let mut command = Command::new(&host.systemctl);
    command.args(arguments).env_clear().envs(ENVIRONMENT).current_dir("/").stdin(Stdio::null());
    command
}

/// Runs systemctl to its end. A change takes as long as PID 1's job.
pub fn run(host: &Host, arguments: &[&str]) -> Result<Output, Fault> {
    command(host, arguments).output().map_err(Fault::io("start systemctl"))
}

/// Runs shutdown(8), which systemctl is under that name.
pub fn shutdown(host: &Host, arguments: &[&str]) -> Result<Output, Fault> {
    command(host, arguments).arg0("shutdown").output().map_err(Fault::io("start shutdown"))
}

/// The text that a program wrote.
pub fn text(written: &[u8]) -> String {
    String::from_utf8_lossy(written).into_owned()
}

/// Starts a unit without waiting; the child ends with the unit's job.
pub fn start(host: &Host, unit: &str) -> Result<Child, Fault> {
    let mut command = command(host, &["start", "--no-ask-password", "--quiet", "--", unit]);
    command.stdout(Stdio::null()).stderr(Stdio::null());
    command.spawn().map_err(Fault::io("start systemctl"))
}
