//! What a client may do, in words that fit a model's prompt as well as a person's terminal.

use crate::event::{Decision, Description, Grant};
use std::fmt::Write;

/// The grants by what becomes of a request: done, done once somebody approves, never. One line a grant.
#[must_use]
pub fn grants(description: &Description) -> String {
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
            let _ = writeln!(text, "- {}", one(grant));
        }
    }
    text.push_str("everything else is refused\n");
    text
}

fn one(grant: &Grant) -> String {
    let mut text = grant.verbs.join(", ");
    let objects = [&grant.packages, &grant.units, &grant.commands];
    let objects = objects.into_iter().flatten().cloned().chain(paths(grant)).collect::<Vec<_>>();
    if !objects.is_empty() {
        let _ = write!(text, ": {}", objects.join(", "));
    }
    let mut limits = grant.limits.clone();
    limits.retain(|limit| limit != "depth = 1");
    if grant.max_bytes > 0 {
        limits.push(format!("up to {}", indicatif::BinaryBytes(grant.max_bytes)));
    }
    if !grant.modes.is_empty() {
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
