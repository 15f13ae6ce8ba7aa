//! Runs one program to its end, within limits.

use std::io::Read;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::sync::mpsc;
use std::thread;
use std::time::Duration;

/// Longest time for one program.
const TIME: Duration = Duration::from_secs(20);
/// Most bytes that are taken from one: 600 units need less than one of the 16 MiB.
const OUTPUT_MAX: u64 = 16 * 1024 * 1024;

/// Runs a program and returns its output.
///
/// # Errors
/// It is not there, fails, or takes too long; in words.
#[expect(
    clippy::disallowed_methods,
    reason = "fixed programs of root with a constant environment, for looking only"
)]
pub fn run(program: &Path, arguments: &[String]) -> Result<String, String> {
    let mut child = Command::new(program)
        .args(arguments)
        .env_clear()
        .envs([("PATH", "/usr/sbin:/usr/bin:/sbin:/bin"), ("LC_ALL", "C.UTF-8"), ("SYSTEMD_COLORS", "0")])
        .current_dir("/")
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(Stdio::null())
        .spawn()
        .map_err(|error| format!("{} cannot be run: {error}", program.display()))?;
    let output = read(&mut child);
    if output.is_none() {
        // It has ended itself, or it ends now.
        let _ = child.kill();
    }
    let status = child.wait().map_err(|error| error.to_string())?;
    match output {
        Some(output) if status.success() => Ok(output),
        Some(_) => Err(format!("{} failed ({status})", program.display())),
        None => Err(format!("{} took longer than {} s", program.display(), TIME.as_secs())),
    }
}

/// All output, or none if the time is over first.
fn read(child: &mut Child) -> Option<String> {
    let stdout = child.stdout.take()?;
    let (send, receive) = mpsc::channel();
    thread::spawn(move || {
        let mut bytes = Vec::new();
        let result = stdout.take(OUTPUT_MAX).read_to_end(&mut bytes);
        // Nobody waits any more if the time is over.
        let _ = send.send(result.map(|_| bytes));
    });
    let bytes = receive.recv_timeout(TIME).ok()?.ok()?;
    Some(String::from_utf8_lossy(&bytes).into_owned())
}
