//! Private keys in parts of files: a part can begin in the middle of one, where no shape gives it away.

use super::redact::MARK;
use serde_json::Value;

/// A line this long of nothing but base64 is taken for a part of a key.
const LONG: usize = 40;

/// Takes what may be a part of a key from the beginning of all strings of a value; how many.
pub fn strings(value: &mut Value) -> usize {
    match value {
        Value::String(text) => {
            let end = key_end(text);
            if end > 0 {
                text.replace_range(..end, MARK);
            }
            usize::from(end > 0)
        }
        Value::Array(items) => items.iter_mut().map(strings).sum(),
        Value::Object(members) => members.values_mut().map(strings).sum(),
        Value::Null | Value::Bool(_) | Value::Number(_) => 0,
    }
}

/// Where a key ends that a text begins in the middle of; 0 where it does not.
fn key_end(text: &str) -> usize {
    let mut pem = Pem::default();
    let (mut end, mut body, mut is_body) = (0, 0, true);
    for (number, line) in text.split_inclusive('\n').enumerate() {
        end += line.len();
        match pem.line(line) {
            Line::Begin => break,
            Line::End => return end,
            Line::Other => {}
        }
        let bare = line.trim_end();
        let is_long = bare.len() >= LONG;
        is_body &= !bare.is_empty() && bare.bytes().all(is_base64) && (is_long || body > 0 || number == 0);
        if is_body && (is_long || body > 0) {
            body = end;
        }
        // The first may be what is left of a line; another short one is the last.
        is_body &= is_long || number == 0;
    }
    body
}

fn is_base64(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || matches!(byte, b'+' | b'/' | b'=')
}

/// Whether the lines of a text are those of a private key.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Pem {
    /// The next line is one of a key.
    pub inside: bool,
}

/// Position of a line in a PEM block.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Line {
    /// Its first.
    Begin,
    /// Its last.
    End,
    /// Neither.
    Other,
}

impl Pem {
    /// Goes on by one line.
    pub fn line(&mut self, line: &str) -> Line {
        let is_key = line.contains("PRIVATE KEY-----");
        if is_key && line.contains("-----END ") {
            self.inside = false;
            Line::End
        } else if is_key && line.contains("-----BEGIN ") {
            self.inside = true;
            Line::Begin
        } else {
            Line::Other
        }
    }
}
