//! Orders that write: the text, as it stood, and where it goes.

use super::names::is_path;
use super::not_understood::NotUnderstood;
use super::orders::{Orders, Understood};
use super::vocabulary::{REFERRING, TEXT_NOUNS};
use super::words::{Kind, Token};
use crate::protocol::tool::Tool;

impl Orders<'_> {
    /// "write TEXT to PATH", and "TEXT to PATH" again after a comma.
    pub(super) fn write(&mut self) -> Understood {
        loop {
            let content = self.text()?;
            if !self.cursor.pass_one(&[&["to"], &["into"], &["in"]]) {
                return Err(self.cursor.error("write TEXT to PATH: put the text in quotes"));
            }
            let path = self.one_path()?;
            self.steps.push(Tool::WriteFile { path, content: with_line_end(content) });
            let mut ahead = self.cursor.clone();
            let goes_on =
                !ahead.pass_breaks() && matches!(ahead.peek(), Some(t) if matches!(t.kind, Kind::Quoted(_)));
            if !goes_on {
                return Ok(());
            }
            self.cursor = ahead;
        }
    }

    /// Quoted text; or bare words up to "to /...", which a shell may have taken the quotes from.
    fn text(&mut self) -> Result<String, NotUnderstood> {
        let mut quoted = self.cursor.clone();
        if matches!(quoted.pass_words(TEXT_NOUNS).as_deref(), Some("line" | "word" | "words")) {
            return Err(self.cursor.error("this writes the whole file: say write 'TEXT' to PATH"));
        }
        if let Some(Token { kind: Kind::Quoted(text), .. }) = quoted.next() {
            self.cursor = quoted;
            return Ok(text.clone());
        }
        let start = self.cursor.clone();
        let refers = |word: String| word.starts_with('/') || REFERRING.contains(&word.as_str());
        if self.cursor.lower().is_some_and(refers) {
            return Err(start.error("put the text in quotes; copying is no order that this planner knows"));
        }
        let first = self.cursor.peek();
        let mut last = None;
        while !self.cursor.at_break() {
            let mut ahead = self.cursor.clone();
            let at_path = ahead.pass_one(&[&["to"], &["into"], &["in"]]) && ahead.peek().is_some_and(is_path);
            if let (true, Some(first), Some(last)) = (at_path, first, last) {
                return Ok(start.slice(first, last).to_owned());
            }
            last = self.cursor.next();
        }
        Err(start.error("write TEXT to PATH: put the text in quotes"))
    }

    /// "create the file PATH with TEXT".
    pub(super) fn create(&mut self) -> Understood {
        let path = self.one_path()?;
        if !self.cursor.pass_one(&[&["with"], &["containing"]]) {
            return Err(self.cursor.error("create PATH with TEXT: put the text in quotes"));
        }
        self.cursor.pass_words(TEXT_NOUNS);
        let start = self.cursor.clone();
        let Some(Token { kind: Kind::Quoted(text), .. }) = self.cursor.next() else {
            return Err(start.error("put the text in quotes"));
        };
        self.steps.push(Tool::WriteFile { path, content: with_line_end(text.clone()) });
        Ok(())
    }
}

fn with_line_end(mut text: String) -> String {
    if !text.is_empty() && !text.ends_with('\n') {
        text.push('\n');
    }
    text
}
