//! The only lines that a written file may consist of.

use crate::types::Pattern;

/// Longest line that is compared with the patterns, in bytes.
const LINE_MAX: usize = 4096;

/// Whether a line is `#` with a blank, another `#` or nothing after it. Programs obey others, such as sudoers' `#1001 ALL=…`.
pub fn is_comment(line: &str) -> bool {
    let rest = line.trim_start_matches([' ', '\t']).strip_prefix('#');
    rest.is_some_and(|rest| rest.is_empty() || rest.starts_with([' ', '\t', '#']))
}

/// The number, from 1, of the first line that is none of these. Blank lines pass, and comments where `comments` says so;
/// else a comment is a line like any other.
///
/// A line is printable ASCII: no NUL, carriage return or tab, nothing that is not UTF-8. It never ends in `\`, which
/// would make the next line a part of it. A last line feed may be missing.
pub(super) fn first_unlisted(listed: &[Pattern], comments: bool, content: &[u8]) -> Option<usize> {
    let is_listed = |line: &[u8]| {
        let text = std::str::from_utf8(line).ok().filter(|text| text.len() <= LINE_MAX);
        text.is_some_and(|text| {
            text.bytes().all(|b| matches!(b, b' ' | b'\t'))
                || (text.bytes().all(|b| matches!(b, b' '..=b'~'))
                    && !text.ends_with('\\')
                    && (comments && is_comment(text)
                        || listed.iter().any(|pattern| pattern.matches_line(text))))
        })
    };
    let bad = content.split(|b| *b == b'\n').position(|line| !is_listed(line))?;
    bad.checked_add(1)
}
