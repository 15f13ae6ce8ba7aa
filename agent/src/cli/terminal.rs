//! A question on the person's terminal, wherever the streams go.

use super::session::Session;
use crate::protocol::event::AgentError;
use nix::fcntl::OFlag;
use nix::sys::stat::{Mode, fchmod, fstat};
use nix::sys::termios::{FlushArg, tcdrain, tcflush};
use std::fs::{File, OpenOptions};
use std::io::{self, IsTerminal, Write};
use std::os::fd::{AsFd, OwnedFd};
use std::os::unix::fs::OpenOptionsExt;
use tokio::io::AsyncReadExt;
use tokio::net::unix::pipe;
use tokio::signal::unix::{SignalKind, signal};

/// The bit of a terminal's mode by which it takes messages: mesg(1).
const MESSAGES: Mode = Mode::S_IWGRP;

/// The person's terminal without others' messages: whoever is asked on it need not be told there as well.
#[derive(Debug)]
pub struct WithoutMessages {
    terminal: OwnedFd,
    mode: Mode,
}

impl WithoutMessages {
    /// The terminal on standard input; nothing where it is none, takes no messages anyway, or is another's.
    #[must_use]
    pub fn begin() -> Option<Self> {
        let terminal = io::stdin().as_fd().try_clone_to_owned().ok()?;
        let mode = Mode::from_bits_truncate(fstat(&terminal).ok()?.st_mode);
        let takes = io::stdin().is_terminal() && mode.contains(MESSAGES);
        (takes && fchmod(&terminal, mode - MESSAGES).is_ok()).then_some(Self { terminal, mode })
    }
}

impl Drop for WithoutMessages {
    fn drop(&mut self) {
        // A terminal that is gone takes none.
        let _ = fchmod(&self.terminal, self.mode);
    }
}

/// The longest answer that is read, in bytes: what a terminal's line holds.
const LONGEST: usize = 4096;

/// The terminal, opened for one question. Dropping it ends the wait and leaves no reader behind.
pub struct TerminalPrompt {
    terminal: pipe::Receiver,
    line: Vec<u8>,
}

/// The terminal of this process, wherever its standard streams lead.
fn open() -> io::Result<File> {
    let flags = (OFlag::O_NONBLOCK | OFlag::O_NOCTTY).bits();
    OpenOptions::new().read(true).write(true).custom_flags(flags).open("/dev/tty")
}

impl TerminalPrompt {
    /// Asks. Input typed before the prompt is discarded (`TCIFLUSH`).
    ///
    /// # Errors
    /// There is no terminal.
    pub fn new(question: &str) -> io::Result<Self> {
        let mut terminal = open()?;
        tcdrain(&terminal)?;
        tcflush(&terminal, FlushArg::TCIFLUSH)?;
        write!(terminal, "{}", postern_text::line(question))?;
        // A terminal is waited for as a pipe is.
        Ok(Self { terminal: pipe::Receiver::from_file_unchecked(terminal)?, line: Vec::new() })
    }

    /// The person's answer; nothing where the terminal has ended.
    pub async fn answer(&mut self) -> String {
        loop {
            let mut bytes = [0; 256];
            match self.terminal.read(&mut bytes).await {
                Ok(count @ 1..) => self.line.extend_from_slice(bytes.get(..count).unwrap_or_default()),
                Ok(0) | Err(_) => break,
            }
            if self.line.ends_with(b"\n") || self.line.len() >= LONGEST {
                break;
            }
        }
        String::from_utf8_lossy(&self.line).trim().to_owned()
    }
}

impl Session<'_> {
    /// The person's answer, in lower case; an interrupt is no answer.
    pub(super) async fn answer(&mut self, question: &str) -> Result<String, AgentError> {
        let no_terminal =
            |e| AgentError::new("invalid_argument", format!("there is no terminal to ask on: {e}"));
        let mut interrupts = signal(SignalKind::interrupt()).map_err(no_terminal)?;
        let mut asked = TerminalPrompt::new(question).map_err(no_terminal)?;
        tokio::select! {
            answer = asked.answer() => Ok(answer.to_lowercase()),
            _ = interrupts.recv() => Err(AgentError::new("cancelled", "nothing has been sent")),
        }
    }

    /// Standard input has been read to its end: the person at the terminal can still be asked.
    pub(super) fn asks_on_terminal(&mut self) {
        self.console.in_is_terminal |= open().is_ok();
    }

    /// A person is there who can be asked in the middle of a task.
    pub(super) fn is_attended(&self) -> bool {
        self.console.in_is_terminal && self.console.err_is_terminal && self.global.json.is_none()
    }
}
