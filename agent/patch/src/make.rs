//! Makes a unified diff of two contents.

use crate::lines::split;
use similar::{ChangeTag, DiffableStr, TextDiff};
use std::time::Duration;

/// How long the shortest difference is looked for; after it a longer one does.
const LIMIT: Duration = Duration::from_millis(500);
/// Lines around a change.
const CONTEXT: usize = 3;

/// Difference of two contents of a file.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Difference {
    /// The diff, with its header; empty where nothing differs.
    pub text: Vec<u8>,
    /// Lines that come.
    pub added: usize,
    /// Lines that go.
    pub removed: usize,
}

/// Compares a file's old and new content; `None` where there is no file. A content with a zero byte is named and
/// not shown.
#[must_use]
pub fn difference(path: &str, old: Option<&[u8]>, new: Option<&[u8]>) -> Difference {
    let mut made = Difference::default();
    if old == new {
        return made;
    }
    let [was, is] = [("a", old), ("b", new)].map(|(side, content)| match content {
        Some(_) => quoted(&format!("{side}{path}")),
        None => "/dev/null".to_owned(),
    });
    let [old, new] = [old, new].map(Option::unwrap_or_default);
    if old.contains(&0) || new.contains(&0) {
        made.text = format!("Binary files {was} and {is} differ\n").into_bytes();
        return made;
    }
    if old == new {
        let word = if was == "/dev/null" { "new" } else { "deleted" };
        let both = [quoted(&format!("a{path}")), quoted(&format!("b{path}"))].join(" ");
        made.text = format!("diff --git {both}\n{word} file mode 100644\n").into_bytes();
        return made;
    }
    let (old, new) = (split(old), split(new));
    let diff = TextDiff::configure().timeout(LIMIT).newline_terminated(true).diff_slices(&old, &new);
    made.text = format!("--- {was}\n+++ {is}\n").into_bytes();
    for hunk in diff.unified_diff().context_radius(CONTEXT).iter_hunks() {
        made.text.extend(format!("{}\n", hunk.header()).into_bytes());
        for change in hunk.iter_changes() {
            made.text.push(match change.tag() {
                ChangeTag::Equal => b' ',
                ChangeTag::Delete => b'-',
                ChangeTag::Insert => b'+',
            });
            made.added += usize::from(change.tag() == ChangeTag::Insert);
            made.removed += usize::from(change.tag() == ChangeTag::Delete);
            let line = change.value().as_bytes();
            made.text.extend(line);
            if !line.ends_with(b"\n") {
                made.text.extend(b"\n\\ No newline at end of file\n");
            }
        }
    }
    made
}

/// A path as it may stand in a header: quoted where a blank end or a quote would be read as something else.
fn quoted(path: &str) -> String {
    let is_plain = |c: char| !c.is_control() && !matches!(c, '"' | '\\');
    if path.chars().all(is_plain) {
        return path.to_owned();
    }
    let mut text = String::from("\"");
    for byte in path.bytes() {
        match byte {
            b'"' | b'\\' => text.extend(['\\', char::from(byte)]),
            0x20..0x7f => text.push(char::from(byte)),
            other => text.extend(
                [b'\\', b'0' + (other >> 6), b'0' + (other >> 3 & 7), b'0' + (other & 7)].map(char::from),
            ),
        }
    }
    text + "\""
}
