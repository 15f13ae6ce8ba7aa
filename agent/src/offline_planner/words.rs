//! A task's text as tokens: words, quoted text, and what separates one order from the next.

/// A token and where it stands in the text, in bytes.
#[derive(Clone, Debug, PartialEq)]
pub struct Token {
    /// Its kind.
    pub kind: Kind,
    /// Its first byte.
    pub start: usize,
    /// The byte after its last.
    pub end: usize,
}

/// Kind of a token.
#[derive(Clone, Debug, PartialEq)]
pub enum Kind {
    /// A run of anything without blanks.
    Word(String),
    /// Quoted text, literally: no escapes, other quotes are text.
    Quoted(String),
    /// A comma or "and": the list goes on, or another order follows.
    Comma,
    /// A full stop, semicolon, line break or "then": another order follows.
    Stop,
}

impl Token {
    /// The word in lower case; `None` for quoted text and breaks.
    pub fn lower(&self) -> Option<String> {
        match &self.kind {
            Kind::Word(word) => Some(word.to_lowercase()),
            Kind::Quoted(_) | Kind::Comma | Kind::Stop => None,
        }
    }
}

/// Each opening quote with what may close it.
const QUOTES: &[(char, &[char])] = &[
    ('\'', &['\'']),
    ('"', &['"']),
    ('`', &['`']),
    ('‘', &['’']),
    ('’', &['’']),
    ('‚', &['‘', '’']),
    ('“', &['”', '“']),
    ('”', &['”']),
    ('„', &['“', '”']),
    ('«', &['»']),
    ('»', &['«', '»']),
];

/// Words between the things of a list, or between orders.
const COMMAS: &[&str] = &["and", "also", "&"];
/// Words between orders only.
const STOPS: &[&str] = &["then", "next", "finally", "afterwards", "&&"];
/// Punctuation after a word or a quote that is no part of it.
const MARKS: [char; 4] = ['.', '!', '?', ':'];

/// Splits a text.
///
/// # Errors
/// A quote that is never closed, with the text from it on.
pub fn split(text: &str) -> Result<Vec<Token>, String> {
    let mut tokens = Vec::new();
    let mut at = 0;
    while let Some(c) = text[at..].chars().next() {
        let next = at + c.len_utf8();
        if matches!(c, ',' | ';' | '\n') {
            let kind = if c == ',' { Kind::Comma } else { Kind::Stop };
            tokens.push(Token { kind, start: at, end: next });
            at = next;
        } else if c.is_whitespace() {
            at = next;
        } else if let Some((_, closing)) = QUOTES.iter().find(|(open, _)| *open == c) {
            let Some((length, mark)) = closing_quote(&text[next..], closing) else {
                return Err(text[at..].to_owned());
            };
            let inside = &text[next..next + length];
            let end = next + length + mark;
            tokens.push(Token { kind: Kind::Quoted(inside.to_owned()), start: at, end });
            at = end;
        } else {
            at = word(text, at, &mut tokens);
        }
    }
    Ok(tokens)
}

/// A quote closes where a blank, a separator or the end follows: an apostrophe inside a word does not.
fn closing_quote(text: &str, closing: &[char]) -> Option<(usize, usize)> {
    text.char_indices().filter(|(_, c)| closing.contains(c)).find_map(|(at, c)| {
        let rest = &text[at + c.len_utf8()..];
        let after = rest.trim_start_matches(MARKS);
        let is_end = after.chars().next().is_none_or(|c| c.is_whitespace() || matches!(c, ',' | ';'));
        is_end.then_some((at, c.len_utf8()))
    })
}

/// Takes a word from `start` on, with the break that a full stop after it makes.
fn word(text: &str, start: usize, tokens: &mut Vec<Token>) -> usize {
    let length = text[start..].find(|c: char| c.is_whitespace() || matches!(c, ',' | ';'));
    let end = length.map_or(text.len(), |n| start + n);
    let whole = &text[start..end];
    let bare = whole.trim_end_matches(MARKS);
    // More than one mark after a path, or marks after its slash, may be a part of it: `/srv/..`.
    let marks = whole.len() - bare.len();
    let bare = if whole.starts_with('/') && (bare.ends_with('/') || marks > 1) { whole } else { bare };
    if !bare.is_empty() {
        let lower = bare.to_lowercase();
        let kind = match lower.as_str() {
            word if COMMAS.contains(&word) => Kind::Comma,
            word if STOPS.contains(&word) => Kind::Stop,
            _ => Kind::Word(bare.to_owned()),
        };
        tokens.push(Token { kind, start, end: start + bare.len() });
    }
    // A name may end in a full stop, but a sentence does far more often.
    if bare.len() < whole.len() {
        tokens.push(Token { kind: Kind::Stop, start: start + bare.len(), end });
    }
    end
}
