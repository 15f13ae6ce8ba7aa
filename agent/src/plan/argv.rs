//! The words of a planned command. No shell reads them: a text that would need one is no plan.

use crate::shell_parser::{LONGEST, is_assignment, is_bad};

/// Splits a command's text into its words: blanks part them, quotes keep them together.
///
/// # Errors
/// The first thing in it that only a shell could make something of, and what to do instead.
pub fn split(text: &str) -> Result<Vec<String>, String> {
    if is_bad(text) {
        return Err(format!(
            "{text:?} is longer than {LONGEST} bytes or holds characters that hide what it does"
        ));
    }
    let mut words: Vec<String> = Vec::new();
    let mut word: Option<String> = None;
    let mut chars = text.chars();
    while let Some(c) = chars.next() {
        match c {
            ' ' | '\t' => words.extend(word.take()),
            '\'' | '"' => quoted(text, &mut chars, c, word.get_or_insert_default())?,
            '~' | '#' if word.is_none() => return Err(unsafe_at(text, c)),
            ';' | '&' | '|' | '<' | '>' | '(' | ')' | '{' | '}' | '$' | '`' | '\\' | '*' | '?' | '['
            | ']' | '\n' => return Err(unsafe_at(text, c)),
            other => word.get_or_insert_default().push(other),
        }
    }
    words.extend(word);
    match words.first().map(String::as_str) {
        None | Some("") => Err(format!("{text:?} names no program")),
        Some(first) if is_assignment(first) => Err(format!(
            "{text:?} begins with the assignment {first:?}: a step is one program with its arguments"
        )),
        Some(first) if first.starts_with('-') => Err(format!("{text:?} begins with an option")),
        Some(_) => Ok(words),
    }
}

/// Takes a quoted text over, to its closing quote.
fn quoted(
    text: &str,
    chars: &mut impl Iterator<Item = char>,
    quote: char,
    word: &mut String,
) -> Result<(), String> {
    for c in chars {
        match c {
            c if c == quote => return Ok(()),
            '$' | '`' | '\\' if quote == '"' => return Err(unsafe_at(text, c)),
            '\n' => return Err(unsafe_at(text, c)),
            c => word.push(c),
        }
    }
    Err(format!("{text:?} leaves a quote open"))
}

fn unsafe_at(text: &str, c: char) -> String {
    format!(
        "{text:?} holds {c:?}, which only a shell could read: a step is one program with its arguments; \
         put it in single quotes if it is meant as it stands, or use several steps"
    )
}
