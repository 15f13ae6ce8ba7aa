//! Escapes hostile text for terminals, logs and JSON: one class of characters for all programs that print.

mod unknown;

pub use unknown::{did_you_mean, unknown, with_nearest};

use std::fmt::Write;

/// Whether a character ends a line, drives a terminal, is invisible, or reorders the text around it.
///
/// Control characters (C0, DEL, C1), line and paragraph separators, interlinear annotations, and what Unicode calls
/// default ignorable (`Default_Ignorable_Code_Point` of DerivedCoreProperties.txt), which holds the bidirectional
/// controls, zero-width characters, blank fillers and tags. Variation selectors 1 to 16 only choose a glyph and stay.
#[must_use]
pub fn is_hostile(c: char) -> bool {
    c.is_control()
        || matches!(c,
            '\u{ad}' | '\u{34f}' | '\u{61c}' | '\u{115f}'..='\u{1160}' | '\u{17b4}'..='\u{17b5}'
            | '\u{180b}'..='\u{180f}' | '\u{200b}'..='\u{200f}' | '\u{2028}'..='\u{202e}' | '\u{2060}'..='\u{206f}'
            | '\u{3164}' | '\u{feff}' | '\u{ffa0}' | '\u{fff0}'..='\u{fffb}' | '\u{1bca0}'..='\u{1bca3}'
            | '\u{1d173}'..='\u{1d17a}' | '\u{e0000}'..='\u{e0fff}')
}

/// A text as one line: hostile characters as `\x1b` and `\u{202e}`.
#[must_use]
pub fn line(text: &str) -> String {
    escape(text, |out, c| {
        let code = u32::from(c);
        if code < 0x100 { write!(out, "\\x{code:02x}") } else { write!(out, "\\u{{{code:x}}}") }
    })
}

/// The same of several lines: line breaks and tabs stay.
#[must_use]
pub fn lines(text: &str) -> String {
    text.split_inclusive(['\n', '\t'])
        .map(|part| match part.strip_suffix(['\n', '\t']) {
            Some(rest) => line(rest) + part.get(rest.len()..).unwrap_or_default(),
            None => line(part),
        })
        .collect()
}

/// JSON with such characters as `\uxxxx`: the same JSON, since they can stand in its texts alone.
#[must_use]
pub fn json(text: &str) -> String {
    escape(text, |out, c| {
        c.encode_utf16(&mut [0; 2]).iter().try_for_each(|unit| write!(out, "\\u{unit:04x}"))
    })
}

/// The text with every hostile character as `\u{…}`.
#[must_use]
pub fn braced(text: &str) -> String {
    escape(text, |out, c| write!(out, "\\u{{{:x}}}", u32::from(c)))
}

fn escape(text: &str, put: impl Fn(&mut String, char) -> std::fmt::Result) -> String {
    let mut out = String::with_capacity(text.len());
    for c in text.chars() {
        if is_hostile(c) {
            // Writing to a String cannot fail.
            let _ = put(&mut out, c);
        } else {
            out.push(c);
        }
    }
    out
}
