//! Shows long texts through a pager, as git does: on a terminal only, by `$PAGER` or `less`.

use std::ffi::OsStr;
use std::io::Write;
use std::os::fd::AsFd;
use std::process::{Child, Command, Stdio};
use tokio::signal::unix::{SignalKind, signal};
use tokio::task::{JoinHandle, spawn_blocking};

/// The stream on whose terminal a text is shown.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Stream {
    Out,
    Err,
}

/// A pager at work, and its text in case that it fails.
pub struct Pager {
    child: Child,
    text: String,
}

impl Pager {
    /// Starts the pager for a text that is fit for a terminal; `None` where it cannot be started.
    pub fn start(program: &OsStr, stream: Stream, text: &str) -> Option<Self> {
        // Tokio's handler stays: an interrupt at the pager does not end this process.
        let _interrupts = signal(SignalKind::interrupt());
        let mut child = command(program, stream).ok()?.spawn().ok()?;
        let mut input = child.stdin.take()?;
        let content = text.to_owned();
        // A thread: the pager reads as fast as the person does, and perhaps not to the end.
        std::thread::spawn(move || input.write_all(content.as_bytes()));
        Some(Self { child, text: text.to_owned() })
    }

    /// Waits until the person leaves the pager. Returns the text if the pager failed: perhaps it was never shown.
    pub fn wait(mut self) -> Option<String> {
        let is_shown = self.child.wait().is_ok_and(|status| status.success());
        (!is_shown).then_some(self.text)
    }

    /// Waits on a thread of its own, while events come in.
    pub fn waiting(self) -> JoinHandle<Option<String>> {
        spawn_blocking(|| self.wait())
    }
}

/// Starts the person's own program by the shell, as git does.
#[expect(clippy::disallowed_methods, reason = "the person's own pager, in their terminal")]
fn command(program: &OsStr, stream: Stream) -> std::io::Result<Command> {
    let mut command = Command::new("/bin/sh");
    command.arg("-c").arg(program).stdin(Stdio::piped());
    // Quit where all fits on the screen, keep our colours, leave the text on the screen.
    for (name, value) in [("LESS", "FRX"), ("LV", "-c")] {
        if std::env::var_os(name).is_none() {
            command.env(name, value);
        }
    }
    if stream == Stream::Err {
        command.stdout(Stdio::from(std::io::stderr().as_fd().try_clone_to_owned()?));
    }
    Ok(command)
}
