//! Runs systemctl(1): fixed words, then `--`, then units' names of validated types. No shell, no pager, constant environment.

use crate::state::Host;
use postern_root::Fault;
use std::os::unix::process::CommandExt;
use std::process::{Child, Command, Stdio};

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

/// A systemctl that has ended.
#[derive(Debug)]
pub struct Finished {
    /// Whether with exit status 0.
    pub is_success: bool,
    /// Its output.
    pub stdout: String,
    /// Its stderr.
    pub stderr: String,
}

fn command(host: &Host, arguments: &[&str]) -> Command {
    #[expect(clippy::disallowed_methods, reason = "the one place that starts a program, from a fixed path")]
    let mut command = Command::new(&host.systemctl);
    command.args(arguments).env_clear().envs(ENVIRONMENT).current_dir("/").stdin(Stdio::null());
    command
}

/// Runs systemctl to its end. A change takes as long as PID 1's job.
pub fn run(host: &Host, arguments: &[&str]) -> Result<Finished, Fault> {
    finish(command(host, arguments))
}

/// Runs shutdown(8), which systemctl is under that name.
pub fn shutdown(host: &Host, arguments: &[&str]) -> Result<Finished, Fault> {
    let mut command = command(host, arguments);
    command.arg0("shutdown");
    finish(command)
}

fn finish(mut command: Command) -> Result<Finished, Fault> {
    let output = command.output().map_err(Fault::io("start systemctl"))?;
    let text = |bytes: Vec<u8>| String::from_utf8_lossy(&bytes).into_owned();
    Ok(Finished {
        is_success: output.status.success(),
        stdout: text(output.stdout),
        stderr: text(output.stderr),
    })
}

/// Starts a unit without waiting; the child ends with the unit's job.
pub fn start(host: &Host, unit: &str) -> Result<Child, Fault> {
    let mut command = command(host, &["start", "--no-ask-password", "--quiet", "--", unit]);
    command.stdout(Stdio::null()).stderr(Stdio::null());
    command.spawn().map_err(Fault::io("start systemctl"))
}
