//! Places that amount to root: data, with the reason of each entry. The check of a policy finds rules that reach them, and
//! the agent warns a person of a change to one of them. One list for both.
//!
//! A path's components may hold `*` (any run, a leading dot too); a last `**` is everything below, at any depth.

mod boot;
mod class;
mod identity;
mod infrastructure;
mod packages;
mod programs;
mod row;
mod secrets;
mod services;
mod systemd;

pub use class::{Class, Severity};
pub use row::Row;
pub use secrets::SECRETS;

/// Every place that is not to be written without a reason.
pub fn writes() -> impl Iterator<Item = &'static Row> {
    [
        systemd::ROWS,
        boot::ROWS,
        programs::ROWS,
        identity::ROWS,
        packages::ROWS,
        services::ROWS,
        infrastructure::ROWS,
    ]
    .into_iter()
    .flatten()
}

/// The first row that a change of this file is about. A row of certain lines is meant only if one of `written`, the new
/// lines of the file, is such a line.
#[must_use]
pub fn of_write(path: &str, written: &[&str]) -> Option<&'static Row> {
    let has_line = |row: &Row| {
        row.lines.is_empty()
            || row.lines.iter().any(|pattern| written.iter().any(|line| matches(pattern, line.trim())))
    };
    writes().find(|row| row.paths.iter().any(|entry| names(entry, path)) && has_line(row))
}

/// Whether an entry of a row names this path.
fn names(entry: &str, path: &str) -> bool {
    let mut parts = path.split('/');
    for wanted in entry.split('/') {
        match parts.next() {
            Some(_) if wanted == "**" => return true,
            Some(part) if matches(wanted, part) => {}
            Some(_) | None => return false,
        }
    }
    parts.next().is_none()
}

/// Whether a pattern, in which `*` is any run of characters, is this text.
fn matches(pattern: &str, text: &str) -> bool {
    let mut pieces = pattern.split('*');
    let Some(mut rest) = pieces.next().and_then(|first| text.strip_prefix(first)) else { return false };
    let Some(last) = pieces.next_back() else { return rest.is_empty() };
    for piece in pieces {
        let Some((_, after)) = rest.split_once(piece) else { return false };
        rest = after;
    }
    rest.ends_with(last)
}
