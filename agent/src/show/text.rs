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

/// C0, DEL, C1, line and paragraph separators, and the bidirectional controls.
fn is_hostile(c: char) -> bool {
    c.is_control()
        || matches!(c, '\u{2028}' | '\u{2029}' | '\u{061c}' | '\u{200e}' | '\u{200f}')
        || ('\u{202a}'..='\u{202e}').contains(&c)
        || ('\u{2066}'..='\u{2069}').contains(&c)
}
