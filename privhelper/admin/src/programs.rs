//! Programs of this host that `init`, `doctor` and `policy rehearse` run: with fixed arguments, a constant environment, and names of
//! people that exist.

use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

/// Where they are: a value, so that tests bring their own.
#[derive(Debug, Clone)]
pub struct Programs {
    /// `usermod(8)`.
    pub usermod: PathBuf,
    /// `runuser(1)`.
    pub runuser: PathBuf,
    /// `systemctl(1)`.
    pub systemctl: PathBuf,
    /// `timedatectl(1)`.
    pub timedatectl: PathBuf,
    /// The agent's command line.
    pub postern: PathBuf,
}

impl Programs {
    /// Those of an installed host.
    #[must_use]
    pub fn real() -> Self {
        Self {
            usermod: "/usr/sbin/usermod".into(),
            runuser: "/usr/sbin/runuser".into(),
            systemctl: "/usr/bin/systemctl".into(),
            timedatectl: "/usr/bin/timedatectl".into(),
            postern: "/usr/bin/postern".into(),
        }
    }

    /// Runs one that changes something.
    ///
    /// # Errors
    /// It does not start or does not end with 0, in words with what it said.
    pub fn change(&self, program: &Path, arguments: &[&str]) -> Result<(), String> {
        let said = output(program, arguments)?;
        let name = program.file_name().unwrap_or_default().to_string_lossy();
        if said.status.success() { Ok(()) } else { Err(format!("{name} failed: {}", text(&said.stderr))) }
    }
}

/// Runs a program to its end.
///
/// # Errors
/// It cannot be started, in words.
#[expect(
    clippy::disallowed_methods,
    reason = "fixed programs of root's, each argument a literal, the name of a user that exists, or a task after `--`"
)]
pub fn output(program: &Path, arguments: &[&str]) -> Result<std::process::Output, String> {
    Command::new(program)
        .args(arguments)
        .env_clear()
        .envs([("PATH", "/usr/sbin:/usr/bin:/sbin:/bin"), ("LC_ALL", "C.UTF-8"), ("TERM", "dumb")])
        .current_dir("/")
        .stdin(Stdio::null())
        .output()
        .map_err(|error| format!("{} cannot be run: {error}", program.display()))
}

fn text(bytes: &[u8]) -> String {
    crate::text::escape(String::from_utf8_lossy(bytes).trim())
}
