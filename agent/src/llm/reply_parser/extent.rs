//! Finds the extent of an object that is no JSON: all of it is skipped, nothing in it is searched.

use super::json::{SyntaxError, identifier, is_blank};
use super::shape::ARGS;

/// The byte after the object that began at `start` and broke with `fault`; the text's end if it never ends.
///
/// Goes on from the break with what was known there: how many braces are open, and in which string.
pub fn end(text: &str, fault: &SyntaxError) -> usize {
    let bytes = text.as_bytes();
    let (mut depth, mut inside, mut at) = (fault.depth, fault.inside, fault.at);
    // An apostrophe in bare words opens no string: only one that stands where a string may begin does.
    let mut may_begin = false;
    while let Some(&byte) = bytes.get(at) {
        at += 1;
        if let Some(quote) = inside {
            match byte {
                b'\\' => at += 1,
                _ if byte == quote => inside = None,
                _ => {}
            }
            continue;
        }
        match byte {
            b'"' => inside = Some(byte),
            b'\'' if may_begin => inside = Some(byte),
            b'{' => depth += 1,
            b'}' => {
                depth -= 1;
                if depth == 0 {
                    return at;
                }
            }
            _ => {}
        }
        if !byte.is_ascii_whitespace() {
            may_begin = matches!(byte, b'{' | b'[' | b',' | b':');
        }
    }
    bytes.len()
}

/// A text names a tool or its arguments the way a call does, so that what is broken was meant as a call.
pub fn names_a_call(text: &str) -> bool {
    let (mut has_name, mut has_args) = (false, false);
    for (colon, _) in text.match_indices(':') {
        match key_before(&text[..colon]) {
            "tool" | "tool_name" | "tool_calls" => return true,
            "name" => has_name = true,
            key => has_args |= ARGS.contains(&key),
        }
    }
    has_name && has_args
}

/// The key that a text ends in, quoted or not, its quotes perhaps escaped; may be empty.
fn key_before(text: &str) -> &str {
    let text = text.trim_end_matches(is_blank);
    let text = text.strip_suffix(['"', '\'']).unwrap_or(text);
    let text = text.strip_suffix('\\').unwrap_or(text);
    let before = text.trim_end_matches(|c: char| c.is_ascii_alphanumeric() || c == '_');
    &text[before.len()..]
}

/// Whether the text at `at` is `"tool":` or `"tool_name":`, its quotes perhaps escaped.
pub fn is_quoted_name(text: &str, at: usize) -> bool {
    let key = identifier(&text[at + 1..]);
    if !matches!(key, "tool" | "tool_name") {
        return false;
    }
    let rest = &text[at + 1 + key.len()..];
    let rest = rest.strip_prefix('\\').unwrap_or(rest);
    rest.strip_prefix(['"', '\'']).is_some_and(|rest| rest.trim_start_matches(is_blank).starts_with(':'))
}

/// A `{` at `at` opens an object, as opposed to a brace in prose, code or a template.
pub fn opens_object(text: &str, at: usize) -> bool {
    let rest = text[at + 1..].trim_start_matches(is_blank);
    match rest.as_bytes().first() {
        None | Some(b'"' | b'\'' | b'}') => true,
        Some(b'/') => rest.starts_with("//") || rest.starts_with("/*"),
        Some(_) => {
            let word = identifier(rest);
            !word.is_empty() && rest[word.len()..].trim_start_matches(is_blank).starts_with(':')
        }
    }
}
