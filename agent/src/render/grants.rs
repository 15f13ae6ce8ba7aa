//! Describes a client's grants, in words that fit a model's prompt as well as a person's terminal.

use crate::protocol::event::{Decision, Description, Grant};
use std::fmt::Write;

/// The reader: a model pays for each word.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Reader {
    /// All of it.
    Person,
    /// The parts that its calls can heed.
    Model,
}

/// The grants by what becomes of a request: done, done once somebody approves, never. One line a grant.
#[must_use]
pub fn grants(description: &Description, reader: Reader) -> String {
    let who = &description.client;
    if description.grants.is_empty() {
        return format!("{who} is granted nothing\n");
    }
    let mut text = String::new();
    for (decision, head) in [
        (Decision::Allow, "may, without asking:"),
        (Decision::Ask, "may, once an operator approves (the request waits for it):"),
        (Decision::Deny, "may not, whatever else is granted:"),
    ] {
        let mut grants = description.grants.iter().filter(|grant| grant.decision == decision).peekable();
        if grants.peek().is_some() {
            let _ = writeln!(text, "{who} {head}");
        }
        for grant in grants {
            let _ = writeln!(text, "- {}", one(grant, reader));
        }
    }
    text.push_str("everything else is refused\n");
    text
}

/// Verbs for which the size of a file is a limit.
const WITH_CONTENT: &[&str] = &["file.read", "file.write", "file.patch"];

/// Verbs for which a mode is one.
const WITH_MODE: &[&str] = &["file.write", "file.patch", "file.mkdir", "file.set-mode"];

/// The size limit of a rule that names none.
const USUAL_BYTES: u64 = 1 << 20;

/// Limits that no request of its client can do anything about, or that are so by default.
const LEFT_OUT: &[&str] =
    &["owners = root", "groups = root", "approvers = 1", "approval_ttl = ", "max_files = "];

/// The limits in a model's words, one for all values of one key.
fn limits(grant: &Grant) -> Vec<String> {
    let (mut words, mut lines): (Vec<String>, Vec<&str>) = (Vec::new(), Vec::new());
    for limit in &grant.limits {
        let is_left_out =
            |known: &&str| if known.ends_with(' ') { limit.starts_with(*known) } else { limit == known };
        match limit.split_once(" = ") {
            _ if LEFT_OUT.iter().any(is_left_out) => {}
            Some(("lines", pattern)) => lines.push(pattern),
            Some(("validate", name)) => {
                words.push(format!("{name} validates it before it takes effect"));
            }
            Some(_) | None => words.push(limit.clone()),
        }
    }
    if !lines.is_empty() {
        words.push(format!("only whole lines like: {}", lines.join(" | ")));
    }
    words
}

fn one(grant: &Grant, reader: Reader) -> String {
    let mut text = grant.verbs.join(", ");
    let objects = [&grant.packages, &grant.units, &grant.commands];
    let objects = objects.into_iter().flatten().cloned().chain(paths(grant)).collect::<Vec<_>>();
    if !objects.is_empty() {
        let _ = write!(text, ": {}", objects.join(", "));
    }
    let mut limits = match reader {
        Reader::Person => grant.limits.clone(),
        Reader::Model => limits(grant),
    };
    limits.retain(|limit| limit != "depth = 1");
    let has_content = reader == Reader::Person
        || grant.max_bytes != USUAL_BYTES
            && grant.verbs.iter().any(|verb| WITH_CONTENT.contains(&verb.as_str()));
    if grant.max_bytes > 0 && has_content {
        limits.push(format!("up to {}", indicatif::BinaryBytes(grant.max_bytes)));
    }
    let is_usual =
        grant.modes == ["0644"] || !grant.verbs.iter().any(|verb| WITH_MODE.contains(&verb.as_str()));
    if !grant.modes.is_empty() && (reader == Reader::Person || !is_usual) {
        limits.push(format!("mode {}", grant.modes.join(" or ")));
    }
    if !grant.rate.is_empty() {
        limits.push(rate(&grant.rate));
    }
    if !limits.is_empty() {
        let _ = write!(text, " ({})", limits.join("; "));
    }
    text
}

/// `12/3600s` as "at most 12 in 1h".
fn rate(text: &str) -> String {
    let Some((count, window)) = text.split_once('/') else { return text.to_owned() };
    let window = humantime::parse_duration(window)
        .map_or_else(|_| window.to_owned(), |window| humantime::format_duration(window).to_string());
    format!("at most {count} in {window}")
}

/// Directories with the names in them: `/srv/{*.html,*.css}` for several.
fn paths(grant: &Grant) -> Vec<String> {
    let names = match grant.files.as_slice() {
        [] => String::new(),
        [one] => format!("/{one}"),
        several => format!("/{{{}}}", several.join(",")),
    };
    grant.directories.iter().map(|directory| format!("{directory}{names}")).collect()
}
