//! The terminal of the person who answers.

use super::render::{Charset, Screen, Style};
use crate::io::discard_input;
use nix::fcntl::{OFlag, open};
use nix::sys::stat::Mode;
use std::fs::File;
use std::io::{self, BufRead, BufReader, IsTerminal, Read, Write};
use std::os::fd::AsFd;

/// Longest answer that is read, in bytes.
const ANSWER_MAX: u64 = 256;

/// Somebody who can be shown a text and asked about it.
pub trait Console {
    /// The screen that text is rendered for.
    fn screen(&self) -> Screen;

    /// Shows text that is rendered already.
    ///
    /// # Errors
    /// It cannot be written.
    fn show(&mut self, text: &str) -> io::Result<()>;

    /// Asks, and returns what was typed after the question stood there.
    ///
    /// # Errors
    /// The question cannot be written or the answer not be read.
    fn ask(&mut self, question: &str) -> io::Result<String>;
}

/// How this process's environment says that text shall be shown on a terminal.
#[must_use]
pub fn screen_of(terminal: impl AsFd) -> Screen {
    let set = |name: &str| std::env::var_os(name).filter(|value| !value.is_empty());
    let is_plain = set("NO_COLOR").is_some() || set("TERM").is_none_or(|term| term == "dumb");
    let locale = ["LC_ALL", "LC_CTYPE", "LANG"].into_iter().find_map(set).unwrap_or_default();
    let is_utf8 = ["utf-8", "utf8"].iter().any(|name| locale.to_string_lossy().to_lowercase().contains(name));
    Screen {
        columns: terminal_size::terminal_size_of(terminal).map_or(80, |(columns, _)| columns.0.into()),
        style: if is_plain { Style::Plain } else { Style::Colour },
        charset: if is_utf8 { Charset::Utf8 } else { Charset::Ascii },
    }
}

/// [`screen_of`] standard output, or of a pipe if it is none.
#[must_use]
pub fn screen_of_stdout() -> Screen {
    let stdout = io::stdout();
    if stdout.is_terminal() { screen_of(&stdout) } else { Screen::PIPE }
}

/// A terminal that was opened for this question: nothing that went through another program's hands is shown on it or read from it.
#[derive(Debug)]
pub struct Terminal {
    tty: File,
    screen: Screen,
}

impl Terminal {
    /// The terminal that this process belongs to.
    ///
    /// # Errors
    /// It belongs to none.
    pub fn open() -> io::Result<Self> {
        let flags = OFlag::O_RDWR | OFlag::O_NOCTTY | OFlag::O_CLOEXEC;
        let tty = File::from(open("/dev/tty", flags, Mode::empty())?);
        let screen = screen_of(&tty);
        Ok(Self::new(tty, screen))
    }

    /// This terminal.
    #[must_use]
    pub fn new(tty: File, screen: Screen) -> Self {
        Self { tty, screen }
    }
}

impl Console for Terminal {
    fn screen(&self) -> Screen {
        self.screen
    }

    fn show(&mut self, text: &str) -> io::Result<()> {
        self.tty.write_all(text.as_bytes())
    }

    fn ask(&mut self, question: &str) -> io::Result<String> {
        discard_input(&self.tty)?;
        self.tty.write_all(question.as_bytes())?;
        let mut line = Vec::new();
        BufReader::new(&self.tty).take(ANSWER_MAX).read_until(b'\n', &mut line)?;
        Ok(String::from_utf8_lossy(&line).trim().to_owned())
    }
}
