//! One JSON object as models write it: strict where leniency would be a guess.
//!
//! Repaired is what has one meaning only (a comma too many, comments, single quotes, bare keys, Python's
//! words, raw line breaks in strings). Nothing is closed that the text leaves open, since what was cut off
//! could have gone on. No recursion: nesting is a stack of at most [`DEPTH_LIMIT`] frames.

use super::strings;
use serde_json::{Map, Value};
use std::collections::BTreeSet;

/// Objects and arrays inside each other, the outermost counted.
pub const DEPTH_LIMIT: usize = 64;

/// Something that was read although JSON does not have it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, serde::Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Repair {
    /// A comma before a closing bracket.
    TrailingComma,
    /// `//` or `/* */`.
    Comment,
    /// A string in single quotes.
    SingleQuotes,
    /// A key without quotes.
    BareKey,
    /// True, False or None.
    PythonWord,
    /// A line break or tab inside a string.
    RawControl,
    /// A blank that JSON does not count as one.
    OddBlank,
}

/// Where and why a text is no object.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SyntaxError {
    /// The byte.
    pub at: usize,
    /// Why.
    pub why: &'static str,
    /// The quote of the string that it is in, if it is in one.
    pub inside: Option<u8>,
    /// Objects open there, this one counted.
    pub depth: usize,
}

/// An object, and where it ends.
#[derive(Debug)]
pub struct Object {
    /// Its members.
    pub members: Map<String, Value>,
    /// The byte after it.
    pub end: usize,
    /// Repairs made.
    pub repairs: BTreeSet<Repair>,
}

enum Frame {
    Object { members: Map<String, Value>, key: String },
    Array(Vec<Value>),
}

#[derive(Clone, Copy, PartialEq)]
enum After {
    Opening,
    Comma,
    Value,
}

/// Reads the object that begins at `start`, which is a `{`.
///
/// # Errors
/// The first thing that is not JSON and not one of the repairs.
pub fn object(text: &str, start: usize) -> Result<Object, SyntaxError> {
    let mut parser = Parser { text, at: start, repairs: BTreeSet::new(), stack: Vec::new() };
    match parser.run() {
        Ok(members) => Ok(Object { members, end: parser.at, repairs: parser.repairs }),
        Err((why, inside)) => {
            let depth = parser.stack.iter().filter(|frame| matches!(frame, Frame::Object { .. })).count();
            Err(SyntaxError { at: parser.at, why, inside, depth })
        }
    }
}

type Broken = (&'static str, Option<u8>);

fn broken<T>(why: &'static str) -> Result<T, Broken> {
    Err((why, None))
}

struct Parser<'t> {
    text: &'t str,
    at: usize,
    repairs: BTreeSet<Repair>,
    stack: Vec<Frame>,
}

impl Parser<'_> {
    fn run(&mut self) -> Result<Map<String, Value>, Broken> {
        self.open()?;
        let mut after = After::Opening;
        loop {
            let byte = self.next_token()?;
            match (byte, self.stack.last(), after) {
                (b'}', Some(Frame::Object { .. }), _) | (b']', Some(Frame::Array(_)), _) => {
                    if after == After::Comma {
                        self.repairs.insert(Repair::TrailingComma);
                    }
                    self.at += 1;
                    match self.stack.pop() {
                        Some(Frame::Object { members, .. }) if self.stack.is_empty() => return Ok(members),
                        Some(Frame::Object { members, .. }) => self.attach(Value::Object(members)),
                        Some(Frame::Array(items)) => self.attach(Value::Array(items)),
                        None => {}
                    }
                    after = After::Value;
                }
                (b',', _, After::Value) => {
                    self.at += 1;
                    after = After::Comma;
                }
                (_, _, After::Value) => return broken("a comma or a closing bracket is missing"),
                (_, Some(Frame::Object { .. }), _) => {
                    self.key()?;
                    after = self.value()?;
                }
                (_, Some(Frame::Array(_)) | None, _) => after = self.value()?,
            }
        }
    }

    fn open(&mut self) -> Result<(), Broken> {
        if self.stack.len() == DEPTH_LIMIT {
            return broken("it is nested more than 64 deep");
        }
        self.stack.push(match self.text.as_bytes()[self.at] {
            b'{' => Frame::Object { members: Map::new(), key: String::new() },
            _ => Frame::Array(Vec::new()),
        });
        self.at += 1;
        Ok(())
    }

    fn attach(&mut self, value: Value) {
        match self.stack.last_mut() {
            Some(Frame::Object { members, key }) => {
                members.insert(std::mem::take(key), value);
            }
            Some(Frame::Array(items)) => items.push(value),
            None => {}
        }
    }

    fn key(&mut self) -> Result<(), Broken> {
        let new = if let quote @ (b'"' | b'\'') = self.text.as_bytes()[self.at] {
            self.string(quote)?
        } else {
            let word = identifier(&self.text[self.at..]);
            if word.is_empty() {
                return broken("a key is missing");
            }
            self.repairs.insert(Repair::BareKey);
            self.at += word.len();
            word.to_owned()
        };
        if let Some(Frame::Object { members, key }) = self.stack.last_mut() {
            if members.contains_key(&new) {
                return broken("a key stands there twice");
            }
            *key = new;
        }
        if self.next_token()? != b':' {
            return broken("a colon is missing after a key");
        }
        self.at += 1;
        Ok(())
    }

    /// A whole scalar, or the opening of an object or array.
    fn value(&mut self) -> Result<After, Broken> {
        let value = match self.next_token()? {
            b'{' | b'[' => return self.open().map(|()| After::Opening),
            quote @ (b'"' | b'\'') => Value::String(self.string(quote)?),
            b'-' | b'0'..=b'9' => self.number()?,
            _ => self.word()?,
        };
        self.attach(value);
        Ok(After::Value)
    }

    fn string(&mut self, quote: u8) -> Result<String, Broken> {
        if quote == b'\'' {
            self.repairs.insert(Repair::SingleQuotes);
        }
        match strings::read(self.text, self.at, quote) {
            Ok(string) => {
                if string.has_raw_controls {
                    self.repairs.insert(Repair::RawControl);
                }
                self.at = string.end;
                Ok(string.text)
            }
            Err((at, why)) => {
                self.at = at;
                Err((why, Some(quote)))
            }
        }
    }

    fn number(&mut self) -> Result<Value, Broken> {
        let rest = &self.text[self.at..];
        let end = rest.find(|c: char| !matches!(c, '0'..='9' | '+' | '-' | '.' | 'e' | 'E'));
        let digits = &rest[..end.unwrap_or(rest.len())];
        match serde_json::from_str(digits) {
            Ok(number) => {
                self.at += digits.len();
                Ok(Value::Number(number))
            }
            Err(_) => broken("a number is not JSON's"),
        }
    }

    fn word(&mut self) -> Result<Value, Broken> {
        let word = identifier(&self.text[self.at..]);
        let value = match word {
            "true" | "True" => Value::Bool(true),
            "false" | "False" => Value::Bool(false),
            "null" | "None" => Value::Null,
            _ => return broken("a value is missing, or is text without quotes"),
        };
        if word.starts_with(char::is_uppercase) {
            self.repairs.insert(Repair::PythonWord);
        }
        self.at += word.len();
        Ok(value)
    }

    /// Skips blanks and comments, and looks at what follows.
    fn next_token(&mut self) -> Result<u8, Broken> {
        let bytes = self.text.as_bytes();
        loop {
            let Some(&byte) = bytes.get(self.at) else { return broken("it is cut off") };
            match byte {
                b' ' | b'\t' | b'\n' | b'\r' => self.at += 1,
                b'/' => self.comment()?,
                0x0b | 0x0c | 0x80.. => {
                    let blank = self.text[self.at..].chars().next().filter(|c| is_blank(*c));
                    let Some(blank) = blank else { return Ok(byte) };
                    self.repairs.insert(Repair::OddBlank);
                    self.at += blank.len_utf8();
                }
                _ => return Ok(byte),
            }
        }
    }

    fn comment(&mut self) -> Result<(), Broken> {
        let rest = &self.text[self.at..];
        let length = if rest.starts_with("//") {
            rest.find(['\n', '\r']).unwrap_or(rest.len())
        } else if let Some(inner) = rest.strip_prefix("/*") {
            match inner.find("*/") {
                Some(end) => end + 4,
                None => return broken("a comment is cut off"),
            }
        } else {
            return broken("a slash stands outside of strings");
        };
        self.repairs.insert(Repair::Comment);
        self.at += length;
        Ok(())
    }
}

/// Blanks between tokens: those of Unicode, and the byte order mark.
pub fn is_blank(c: char) -> bool {
    c.is_whitespace() || c == '\u{feff}'
}

/// The identifier that a text begins with; may be empty.
pub fn identifier(text: &str) -> &str {
    let end = text.find(|c: char| !(c.is_ascii_alphanumeric() || c == '_' || c == '$'));
    let word = &text[..end.unwrap_or(text.len())];
    if word.starts_with(|c: char| c.is_ascii_digit()) { "" } else { word }
}
