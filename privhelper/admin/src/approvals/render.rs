//! Renders untrusted text for a terminal: marks everything but printable ASCII, so that no text imitates other
//! output.
//!
//! Every row of text begins with a gutter of ours, so that no text looks like a header, a question or another line.
//! Characters other than printable ASCII are marked, and text that would read as a mark is marked itself: the exact
//! bytes can be read back from the screen. This module does no I/O.

use std::fmt::Write;
use unicode_width::UnicodeWidthChar;

/// Whether our own colours may be used. No meaning depends on colour alone.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Style {
    /// None.
    Plain,
    /// The terminal understands them and nobody said `NO_COLOR`.
    Colour,
}

/// Selection characters the terminal takes for characters.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Charset {
    /// Others could be controls to it.
    Ascii,
    /// UTF-8.
    Utf8,
}

/// The output that text is rendered for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Screen {
    /// Columns of the terminal; the last stays empty.
    pub columns: usize,
    /// Colours.
    pub style: Style,
    /// Characters.
    pub charset: Charset,
}

impl Screen {
    /// For a file or a pipe: rows as long as they are.
    pub const PIPE: Self = Self { columns: usize::MAX, style: Style::Plain, charset: Charset::Ascii };
}

/// A piece of a row that is not broken.
struct Token {
    text: String,
    columns: usize,
    mark: Mark,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Mark {
    None,
    Reverse,
}

impl Token {
    fn plain(byte: u8) -> Self {
        Self { text: char::from(byte).to_string(), columns: 1, mark: Mark::None }
    }

    fn marked(text: String, screen: Screen) -> Self {
        let mark = if screen.style == Style::Colour { Mark::Reverse } else { Mark::None };
        // No character takes more than two columns, whatever this terminal thinks of it.
        let columns = text.chars().map(|c| if c.is_ascii() { 1 } else { 2 }).sum();
        Self { text, columns, mark }
    }
}

/// Lines of text, numbered.
#[must_use]
pub fn text(bytes: &[u8], screen: Screen) -> String {
    let mut out = String::new();
    let lines = lines(bytes);
    let digits = lines.len().to_string().len().max(4);
    for (number, line) in (1_usize..).zip(&lines) {
        rows(&mut out, &format!("{number:>digits$} |"), line, screen);
    }
    out
}

/// The lines of a text; a line end at its end begins no further line.
#[must_use]
pub fn lines(bytes: &[u8]) -> Vec<&[u8]> {
    let mut lines: Vec<&[u8]> = bytes.split(|byte| *byte == b'\n').collect();
    if lines.last().is_some_and(|last| last.is_empty()) {
        lines.pop();
    }
    lines
}

/// A named value: `  target | /etc/motd`.
#[must_use]
pub fn field(name: &str, value: &str, screen: Screen) -> String {
    let mut out = String::new();
    rows(&mut out, &format!("{name:>8} |"), value.as_bytes(), screen);
    out
}

/// A value in the midst of words of ours: one piece, not wrapped, nothing but printable ASCII.
#[must_use]
pub fn inline(value: &str) -> String {
    tokens(value.as_bytes(), Screen::PIPE).into_iter().map(|token| token.text).collect()
}

/// A line of printable ASCII in a single row, with `>` at its end if there is more of it.
#[must_use]
pub fn cut(mut line: String, screen: Screen) -> String {
    if line.len() >= screen.columns {
        line.truncate(screen.columns.saturating_sub(2));
        line.push('>');
    }
    line
}

/// One line as the rows that it needs. A wrapped line has `>` at the end of the row and in the gutter of the next.
fn rows(out: &mut String, gutter: &str, line: &[u8], screen: Screen) {
    let room = screen.columns.saturating_sub(gutter.len() + 3);
    let colour = match (screen.style, line.first()) {
        (Style::Colour, Some(b'+')) => "\u{1b}[32m",
        (Style::Colour, Some(b'-')) => "\u{1b}[31m",
        (Style::Colour | Style::Plain, _) => "",
    };
    let mut tokens = tokens(line, screen).into_iter().peekable();
    let mut gutter = gutter.to_owned();
    loop {
        out.push_str(&gutter);
        let mut used = 0;
        if tokens.peek().is_some() {
            out.push(' ');
            out.push_str(colour);
        }
        while let Some(token) = tokens.next_if(|token| used == 0 || used + token.columns <= room) {
            used += token.columns;
            match token.mark {
                Mark::None => out.push_str(&token.text),
                Mark::Reverse => {
                    // Writing to a String cannot fail.
                    let _ = write!(out, "\u{1b}[7m{}\u{1b}[27m", token.text);
                }
            }
        }
        if !colour.is_empty() {
            out.push_str("\u{1b}[0m");
        }
        if tokens.peek().is_none() {
            out.push('\n');
            return;
        }
        out.push_str(">\n");
        gutter = format!("{:>1$}", ">", gutter.len());
    }
}

fn tokens(line: &[u8], screen: Screen) -> Vec<Token> {
    let kept = line.iter().rposition(|byte| !matches!(byte, b' ' | b'\t')).map_or(0, |last| last + 1);
    let mut tokens = Vec::with_capacity(line.len());
    let mut at = 0;
    for chunk in line.utf8_chunks() {
        for c in chunk.valid().chars() {
            let rest = line.get(at..).unwrap_or_default();
            tokens.push(match u8::try_from(c).ok().filter(u8::is_ascii) {
                Some(byte) if at < kept || byte != b' ' => ascii(byte, rest, screen),
                Some(byte) => Token::marked(hex(byte), screen),
                None => Token::marked(foreign(c, screen), screen),
            });
            at += c.len_utf8();
        }
        for byte in chunk.invalid() {
            tokens.push(Token::marked(hex(*byte), screen));
            at += 1;
        }
    }
    tokens
}

/// An ASCII character that is no trailing blank, with what follows it.
fn ascii(byte: u8, rest: &[u8], screen: Screen) -> Token {
    let reads_as_mark = matches!(rest, [b'\\', b'x' | b'u' | b't', ..] | [b'<', b'U', b'+', ..]);
    match byte {
        b'\t' => Token::marked("\\t".to_owned(), screen),
        b' '..=b'~' if !reads_as_mark => Token::plain(byte),
        _ => Token::marked(hex(byte), screen),
    }
}

fn hex(byte: u8) -> String {
    format!("\\x{byte:02x}")
}

/// A character outside ASCII: as it is only where it can neither hide, combine, turn text around nor be taken for another.
fn foreign(c: char, screen: Screen) -> String {
    let code = u32::from(c);
    match (screen.charset, screen.style) {
        (Charset::Utf8, Style::Colour) if has_a_shape(c) => c.to_string(),
        (Charset::Utf8, Style::Plain) if has_a_shape(c) => format!("<U+{code:04X} {c}>"),
        (Charset::Utf8 | Charset::Ascii, _) => format!("\\u{{{code:x}}}"),
    }
}

fn has_a_shape(c: char) -> bool {
    // Right-to-left scripts turn their neighbours around without any control character.
    let turns = matches!(c, '\u{590}'..='\u{8ff}' | '\u{fb1d}'..='\u{fdff}' | '\u{fe70}'..='\u{feff}' | '\u{10800}'..='\u{10fff}' | '\u{1e800}'..='\u{1efff}');
    // Blanks, fillers, private use and what a font need not have.
    let is_blank =
        c.is_whitespace() || matches!(c, '\u{2800}' | '\u{3164}' | '\u{ffa0}' | '\u{115f}'..='\u{1160}');
    let is_private =
        matches!(c, '\u{e000}'..='\u{f8ff}' | '\u{fff0}'..='\u{ffff}' | '\u{e0000}'..='\u{10ffff}');
    !turns && !is_blank && !is_private && !c.is_control() && c.width().is_some_and(|width| width > 0)
}
