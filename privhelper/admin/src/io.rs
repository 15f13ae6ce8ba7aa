//! Where a command reads and writes, and how it ends.

use nix::sys::termios::{FlushArg, tcdrain, tcflush};
use std::io::{self, BufRead, Write};
use std::os::fd::AsFd;

/// The three ends of a command: values, so that tests hold them.
pub struct Io<'a> {
    /// Results.
    pub out: &'a mut dyn Write,
    /// Messages and questions.
    pub err: &'a mut dyn Write,
    /// Where a person answers; none if nobody sits there.
    pub answers: Option<&'a mut dyn Answers>,
}

/// A person who can be asked.
pub trait Answers {
    /// Drops what was typed or pasted so far: it answers something else.
    ///
    /// # Errors
    /// The terminal does not do so.
    fn discard(&mut self) -> io::Result<()>;

    /// The next line that is typed, with its end.
    ///
    /// # Errors
    /// It cannot be read.
    fn line(&mut self) -> io::Result<String>;
}

/// A person at a terminal, which is read through `lines`.
#[derive(Debug)]
pub struct AtTerminal<T, L> {
    /// The terminal.
    pub terminal: T,
    /// Its input, line by line.
    pub lines: L,
}

impl<T: AsFd, L: BufRead> Answers for AtTerminal<T, L> {
    fn discard(&mut self) -> io::Result<()> {
        discard_input(&self.terminal)
    }

    fn line(&mut self) -> io::Result<String> {
        let mut line = String::new();
        self.lines.read_line(&mut line)?;
        Ok(line)
    }
}

/// Drops what was typed or pasted at a terminal before the question was shown: it answers something else.
///
/// # Errors
/// It is no terminal.
pub fn discard_input(terminal: impl AsFd) -> io::Result<()> {
    tcdrain(&terminal)?;
    Ok(tcflush(&terminal, FlushArg::TCIFLUSH)?)
}

/// The exit status of a command.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Exit {
    /// As asked.
    Done,
    /// Not: errors in a policy, a broken log, a refusing helper.
    Failed,
    /// The command was not understood, or a person would have had to answer.
    Usage,
    /// Refused by policy.
    Refused,
    /// A person would have to agree, or did not.
    NotApproved,
    /// No helper.
    Unreachable,
    /// Some of it, not all.
    Partly,
}

impl Exit {
    /// The number for the shell.
    #[must_use]
    pub const fn code(self) -> u8 {
        match self {
            Self::Done => 0,
            Self::Failed => 1,
            Self::Usage => 2,
            Self::Refused => 3,
            Self::NotApproved => 4,
            Self::Unreachable => 5,
            Self::Partly => 6,
        }
    }
}
