//! Manual pages from Markdown: the pages of `docs/` in roff.

use crate::escaped;
use pulldown_cmark::{Event, HeadingLevel, Options, Parser, Tag, TagEnd};
use std::fmt::Write;

/// A page in Markdown and what its manual page is called.
pub struct Markdown<'a> {
    /// The page's name without its section, such as `postern-policy`.
    pub name: &'a str,
    /// The manual's section.
    pub section: &'a str,
    /// The page in a line, for whatis(1).
    pub about: &'a str,
    /// Headings, paragraphs, lists, code blocks and tables; its first heading is left out.
    pub text: &'a str,
}

/// The page in roff. A row of a table becomes a tagged paragraph: the first cell, those between in parentheses, the
/// last as its text.
#[must_use]
pub fn roff(page: &Markdown<'_>) -> String {
    let Markdown { name, section, about, text } = page;
    let mut roff = format!(".TH {} {section} \"\" \"postern\" \"Postern\"\n", escaped(name));
    let _ = writeln!(roff, ".SH NAME\n{} \\- {}", escaped(name), escaped(about));
    let mut state = State { roff, ..State::default() };
    for event in Parser::new_ext(text, Options::ENABLE_TABLES) {
        state.take(event);
    }
    state.roff
}

#[derive(Default)]
struct State {
    roff: String,
    /// The running text of a paragraph, a cell or a heading.
    line: String,
    /// The heads of the table's columns, and the cells of its row.
    heads: Vec<String>,
    cells: Vec<String>,
    in_head: bool,
    in_item: bool,
    in_code: bool,
}

impl State {
    fn take(&mut self, event: Event<'_>) {
        match event {
            Event::Start(tag) => self.start(&tag),
            Event::End(tag) => self.end(tag),
            Event::Text(text) => {
                self.line.push_str(&if self.in_code { text.to_string() } else { escaped(&text) });
            }
            Event::Code(text) => {
                let _ = write!(self.line, "\\fB{}\\fR", escaped(&text));
            }
            Event::SoftBreak | Event::HardBreak => self.line.push('\n'),
            _ => {}
        }
    }

    fn start(&mut self, tag: &Tag<'_>) {
        match tag {
            Tag::CodeBlock(_) => self.in_code = true,
            Tag::Item => self.in_item = true,
            Tag::TableHead => {
                self.heads.clear();
                self.in_head = true;
            }
            Tag::TableRow => self.cells.clear(),
            _ => {}
        }
    }

    fn end(&mut self, tag: TagEnd) {
        match tag {
            TagEnd::Heading(HeadingLevel::H1) => self.line.clear(),
            TagEnd::Heading(level) => {
                let macro_name = if level == HeadingLevel::H2 { "SH" } else { "SS" };
                let title = std::mem::take(&mut self.line);
                let _ = writeln!(self.roff, ".{macro_name} {}", title.replace('\n', " "));
            }
            TagEnd::Paragraph if !self.in_item => self.block(".PP"),
            TagEnd::Item => {
                self.block(".IP \\(bu 2");
                self.in_item = false;
            }
            TagEnd::CodeBlock => {
                self.in_code = false;
                let code = std::mem::take(&mut self.line);
                let _ = writeln!(self.roff, ".PP\n.RS 4\n.nf\n{}\n.fi\n.RE", escaped(code.trim_end()));
            }
            TagEnd::TableCell => {
                let cell = std::mem::take(&mut self.line);
                if self.in_head { &mut self.heads } else { &mut self.cells }.push(cell);
            }
            TagEnd::TableHead => self.in_head = false,
            TagEnd::TableRow => self.row(),
            _ => {}
        }
    }

    fn block(&mut self, head: &str) {
        let text = std::mem::take(&mut self.line);
        if !text.is_empty() {
            let _ = writeln!(self.roff, "{head}\n{text}");
        }
    }

    fn row(&mut self) {
        let Some((last, before)) = self.cells.split_last() else { return };
        let Some((first, between)) = before.split_first() else { return };
        let notes = self.heads.iter().skip(1).zip(between).filter(|(_, cell)| !cell.is_empty());
        let notes = notes.map(|(head, cell)| match head.as_str() {
            "default" if !cell.starts_with("required") && !cell.starts_with("exactly") => {
                format!("default: {cell}")
            }
            _ => cell.clone(),
        });
        let notes = notes.collect::<Vec<_>>().join("; ");
        let notes = if notes.is_empty() { notes } else { format!(" ({notes})") };
        let _ = writeln!(self.roff, ".TP\n{first}{notes}\n{last}");
    }
}
