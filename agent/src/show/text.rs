//! Text that may be hostile, made fit for a terminal.

use std::fmt::Write;

/// One line: every control character, line breaks too, and every mark that reorders text is escaped.
#[must_use]
pub fn line(text: &str) -> String {
    escape(text, false)
}

/// Several lines: line breaks and tabs stay.
#[must_use]
pub fn lines(text: &str) -> String {
    escape(text, true)
}

fn escape(text: &str, keep_layout: bool) -> String {
    let mut safe = String::with_capacity(text.len());
    for c in text.chars() {
        if keep_layout && matches!(c, '\n' | '\t') || !is_hostile(c) {
            safe.push(c);
        } else if u32::from(c) < 0x100 {
            let _ = write!(safe, "\\x{:02x}", u32::from(c));
        } else {
            let _ = write!(safe, "\\u{{{:x}}}", u32::from(c));
        }
    }
    safe
}

/// JSON on one line with such characters as `\uxxxx`: the same JSON, since they can stand in its texts alone.
#[must_use]
pub fn json(text: &str) -> String {
    let mut safe = String::with_capacity(text.len());
    for c in text.chars() {
        if is_hostile(c) {
            let _ = write!(safe, "\\u{:04x}", u32::from(c));
        } else {
            safe.push(c);
        }
    }
    safe
}

/// What ends a line, drives a terminal, hides or turns text around: C0, DEL, C1, separators, zero-width
/// characters and bidirectional controls.
fn is_hostile(c: char) -> bool {
    c.is_control()
        || matches!(c, '\u{61c}' | '\u{200b}'..='\u{200f}' | '\u{2028}'..='\u{202e}' | '\u{2060}'..='\u{206f}' | '\u{feff}')
}
