//! A place among the tokens of a task, and how far a name, a list or a phrase reaches from it.

use super::not_understood::NotUnderstood;
use super::vocabulary::{FOREIGN, KINDS, LEADING, NO_NAMES, NOUNS, TRAILING, VERBS, Verb};
use super::words::{Kind, Token};

/// Reads tokens from the left.
#[derive(Clone)]
pub struct Cursor<'a> {
    text: &'a str,
    tokens: &'a [Token],
    at: usize,
    /// The noun that told what the names of the last list are of: `package`, `service`, `file`, ...
    pub kind: Option<String>,
}

impl<'a> Cursor<'a> {
    pub fn new(text: &'a str, tokens: &'a [Token]) -> Self {
        Self { text, tokens, at: 0, kind: None }
    }

    pub fn peek(&self) -> Option<&'a Token> {
        self.tokens.get(self.at)
    }

    pub fn next(&mut self) -> Option<&'a Token> {
        let token = self.peek()?;
        self.at += 1;
        Some(token)
    }

    pub fn lower(&self) -> Option<String> {
        self.peek()?.lower()
    }

    /// At the end of an order: a break, or nothing more.
    pub fn at_break(&self) -> bool {
        self.peek().is_none_or(|t| matches!(t.kind, Kind::Comma | Kind::Stop))
    }

    /// Passes breaks; true if another order must follow them.
    pub fn pass_breaks(&mut self) -> bool {
        let mut must = false;
        while let Some(Token { kind: kind @ (Kind::Comma | Kind::Stop), .. }) = self.peek() {
            must |= *kind == Kind::Stop;
            self.at += 1;
        }
        must
    }

    /// Passes a phrase if it stands here.
    pub fn pass(&mut self, phrase: &[&str]) -> bool {
        let here = self.tokens[self.at..].iter().map(Token::lower);
        let fits = here.take(phrase.len()).eq(phrase.iter().map(|word| Some((*word).to_owned())));
        if fits {
            self.at += phrase.len();
        }
        fits
    }

    /// Passes the first of the phrases that stands here.
    pub fn pass_one(&mut self, phrases: &[&[&str]]) -> bool {
        phrases.iter().any(|phrase| self.pass(phrase))
    }

    pub fn pass_all(&mut self, phrases: &[&[&str]]) {
        while self.pass_one(phrases) {}
    }

    /// Passes words that only go with a name; the last of them where it tells what the name is of.
    pub fn pass_words(&mut self, words: &[&str]) -> Option<String> {
        let mut last = None;
        while let Some(word) = self.lower().filter(|word| words.contains(&word.as_str())) {
            self.at += 1;
            last = Some(word);
        }
        last
    }

    /// The order that begins here.
    pub fn verb(&mut self) -> Option<Verb> {
        self.pass_all(LEADING);
        let known = VERBS.iter().find(|(phrase, _)| self.pass(phrase)).map(|(_, verb)| *verb);
        known.or_else(|| self.lower().filter(|w| FOREIGN.contains(&w.as_str())).map(|_| Verb::Unknown))
    }

    /// Names in a list, up to the end of the order or one of the words in `until`.
    pub fn list(&mut self, until: &dyn Fn(&str) -> bool) -> Result<Vec<&'a Token>, NotUnderstood> {
        let mut names: Vec<&'a Token> = Vec::new();
        self.kind = None;
        loop {
            let noun = self.pass_words(NOUNS);
            self.kind = noun.filter(|word| KINDS.contains(&word.as_str())).or(self.kind.take());
            let from = self.at;
            let Some(name) = self.next().filter(|t| matches!(t.kind, Kind::Word(_) | Kind::Quoted(_))) else {
                self.at = from;
                return Err(self.error("a name is missing"));
            };
            if name.lower().is_some_and(|word| NO_NAMES.contains(&word.as_str())) {
                return Err(self.error_from(from, "name what is meant"));
            }
            names.push(name);
            self.kind = self.pass_words(KINDS).or(self.kind.take());
            if self.lower().is_some_and(|word| until(&word)) {
                return Ok(names);
            }
            self.pass_all(TRAILING);
            if !self.at_break() {
                return Err(self.error_from(from, "names in a list need a comma or \"and\" between them"));
            }
            let mut ahead = self.clone();
            let must_be_order = ahead.pass_breaks();
            if must_be_order || ahead.peek().is_none() || ahead.clone().verb().is_some() {
                return Ok(names);
            }
            *self = ahead;
        }
    }

    /// Whether the state that stands here is to be not so.
    pub fn says_not(&mut self) -> bool {
        self.pass_one(&[&["is"], &["are"]]);
        self.pass(&["not"])
    }

    /// The order must end here.
    pub fn end(&mut self) -> Result<(), NotUnderstood> {
        self.pass_all(TRAILING);
        if self.at_break() { Ok(()) } else { Err(self.error("")) }
    }

    /// The text from here to the end of the order, or the last words where it has ended.
    pub fn error(&self, hint: impl Into<String>) -> NotUnderstood {
        self.error_from(self.at, hint)
    }

    /// The same from an earlier place.
    pub fn error_at(&self, earlier: &Self, hint: impl Into<String>) -> NotUnderstood {
        self.error_from(earlier.at, hint)
    }

    fn error_from(&self, from: usize, hint: impl Into<String>) -> NotUnderstood {
        let words = |from: usize| {
            self.tokens[from..].iter().take_while(|t| !matches!(t.kind, Kind::Comma | Kind::Stop))
        };
        let from = if words(from).next().is_some() { from } else { from.saturating_sub(1) };
        let slice = match (words(from).next(), words(from).last()) {
            (Some(first), Some(last)) => &self.text[first.start..last.end],
            _ => self.text.trim(),
        };
        NotUnderstood { words: slice.to_owned(), hint: hint.into() }
    }

    /// The text between two tokens, both included.
    pub fn slice(&self, first: &Token, last: &Token) -> &'a str {
        &self.text[first.start..last.end]
    }
}
