//! The command line's streams: results on stdout, all else on stderr.

use super::pager::{Pager, Stream};
use std::ffi::OsString;
use std::io::{IsTerminal, Read, Write};
use tokio::task::JoinHandle;

/// The streams of one run.
#[expect(clippy::struct_excessive_bools, reason = "each says something else about another stream")]
pub struct Console {
    /// For results.
    pub out: Box<dyn Write + Send>,
    /// For messages and progress.
    pub err: Box<dyn Write + Send>,
    /// For content.
    pub input: Box<dyn Read + Send>,
    /// A person types at a terminal: they may be asked.
    pub in_is_terminal: bool,
    /// A terminal shows the results: file contents are escaped then.
    pub out_is_terminal: bool,
    /// A terminal shows the progress: it gets bars then.
    pub err_is_terminal: bool,
    /// Colours are welcome on terminals.
    pub color: bool,
    /// How many columns the results may have; `None` where nothing cuts them.
    pub width: Option<usize>,
    /// Number of lines of the terminal; `None` where it is not known.
    pub height: Option<usize>,
    /// The pager for long texts, as a shell reads it; `None` for none.
    pub pager: Option<OsString>,
    /// Results that could not be written.
    pub is_broken: bool,
}

impl Console {
    /// This process's streams.
    #[must_use]
    pub fn standard() -> Self {
        let out_is_terminal = std::io::stdout().is_terminal();
        let width = terminal_size::terminal_size_of(std::io::stdout()).map(|(width, _)| width.0.into());
        let height = terminal_size::terminal_size_of(std::io::stderr()).map(|(_, height)| height.0.into());
        let is_dumb = std::env::var_os("TERM").is_none_or(|term| term == "dumb");
        let pager = std::env::var_os("PAGER").unwrap_or_else(|| "less".into());
        let has_pager = !is_dumb && !pager.is_empty() && pager != "cat";
        let no_color = std::env::var_os("NO_COLOR").is_some_and(|value| !value.is_empty());
        Self {
            out: Box::new(std::io::stdout()),
            err: Box::new(std::io::stderr()),
            input: Box::new(std::io::stdin()),
            in_is_terminal: std::io::stdin().is_terminal(),
            out_is_terminal,
            err_is_terminal: std::io::stderr().is_terminal(),
            color: !no_color && std::env::var_os("TERM").is_none_or(|term| term != "dumb"),
            width,
            height,
            pager: has_pager.then_some(pager),
            is_broken: false,
        }
    }

    /// A result, bytes as they are.
    pub fn raw(&mut self, bytes: &[u8]) {
        let written = self.out.write_all(bytes).and_then(|()| self.out.flush());
        // EPIPE: the reader has seen enough.
        self.is_broken |= written.is_err_and(|e| e.kind() != std::io::ErrorKind::BrokenPipe);
    }

    /// A result in words.
    pub fn result(&mut self, text: &str) {
        let text = postern_text::lines(text);
        self.raw(text.as_bytes());
        if !text.is_empty() && !text.ends_with('\n') {
            self.raw(b"\n");
        }
    }

    /// Prints a unified diff as a result, in colours where they are welcome; a long one through the pager.
    pub fn diff(&mut self, text: &str) {
        let is_colored = self.color && self.out_is_terminal;
        let text = colored(text, is_colored);
        let unshown = match self.pager(Stream::Out, &text) {
            Some(pager) => pager.wait(),
            None => Some(text),
        };
        self.raw(unshown.unwrap_or_default().as_bytes());
    }

    /// Prints a unified diff before a question. Returns the pager that shows it, if it is long.
    pub fn say_diff(&mut self, text: &str) -> Option<JoinHandle<Option<String>>> {
        let text = colored(text, self.color && self.err_is_terminal);
        let pager = self.pager(Stream::Err, &text);
        if pager.is_none() {
            self.say_shown(&text);
        }
        pager.map(Pager::waiting)
    }

    /// Starts the pager; `None` where the text fits on the screen, or there is no terminal or no pager.
    fn pager(&self, stream: Stream, text: &str) -> Option<Pager> {
        let is_terminal = match stream {
            Stream::Out => self.out_is_terminal,
            Stream::Err => self.err_is_terminal && self.in_is_terminal,
        };
        let is_long = self.height.is_some_and(|height| text.lines().count() >= height);
        let program = self.pager.as_deref().filter(|_| is_terminal && is_long)?;
        Pager::start(program, stream, text)
    }

    /// Prints a message that is already escaped.
    pub fn say_shown(&mut self, text: &str) {
        let _ = write!(self.err, "{text}");
    }

    /// A file's content: raw, but for a terminal.
    pub fn content(&mut self, bytes: &[u8]) {
        if self.out_is_terminal {
            self.result(&String::from_utf8_lossy(bytes));
        } else {
            self.raw(bytes);
        }
    }

    /// A result as a line of JSON.
    pub fn json(&mut self, value: &impl serde::Serialize) {
        // Serialising our own types to a string cannot fail.
        let line = postern_text::json(&serde_json::to_string(value).unwrap_or_default());
        self.raw(line.as_bytes());
        self.raw(b"\n");
    }

    /// A message of one line. A lost message is no reason to fail.
    pub fn say(&mut self, text: &str) {
        let _ = writeln!(self.err, "{}", postern_text::line(text));
    }

    /// Output of a program, for the error stream.
    pub fn say_lines(&mut self, text: &str) {
        let text = postern_text::lines(text);
        let end = if text.is_empty() || text.ends_with('\n') { "" } else { "\n" };
        let _ = write!(self.err, "{text}{end}");
    }
}

/// A diff fit for a terminal, a line in the colour of what it does.
fn colored(text: &str, is_colored: bool) -> String {
    let text = postern_text::lines(text);
    if !is_colored {
        return text;
    }
    let mut colored = String::with_capacity(text.len() * 2);
    for line in text.lines() {
        let color = match line.as_bytes() {
            [b'-', b'-', b'-', b' ', ..] | [b'+', b'+', b'+', b' ', ..] => "1",
            [b'-', ..] => "31",
            [b'+', ..] => "32",
            [b'@', ..] => "36",
            _ => "",
        };
        if color.is_empty() {
            colored.extend([line, "\n"]);
        } else {
            colored.extend(["\u{1b}[", color, "m", line, "\u{1b}[0m\n"]);
        }
    }
    colored
}
