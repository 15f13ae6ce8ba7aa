//! What a client may do, in words.

use crate::event::{Decision, Description, Grant};
use std::fmt::Write;

/// One paragraph a rule.
#[must_use]
pub fn grants(description: &Description) -> String {
    let mut text = format!("{} may:\n", description.client);
    if description.grants.is_empty() {
        text = format!("{} is granted nothing\n", description.client);
    }
    for grant in &description.grants {
        text.push_str(&one(grant));
    }
    text
}

fn one(grant: &Grant) -> String {
    let decision = match grant.decision {
        Decision::Allow => "",
        Decision::Ask => " (a person approves)",
        Decision::Deny => " (never)",
        Decision::Unspecified => " (unclear)",
    };
    let mut text = format!("  {}{decision}\n", grant.verbs.join(", "));
    let max =
        if grant.max_bytes > 0 { indicatif::BinaryBytes(grant.max_bytes).to_string() } else { String::new() };
    for (key, value) in [
        ("packages", grant.packages.join(", ")),
        ("units", grant.units.join(", ")),
        ("in", grant.directories.join(", ")),
        ("files", grant.files.join(", ")),
        ("commands", grant.commands.join(", ")),
        ("modes", grant.modes.join(", ")),
        ("up to", max),
        ("rate", grant.rate.clone()),
        ("limits", grant.limits.join(", ")),
    ] {
        if !value.is_empty() {
            let _ = writeln!(text, "    {key:<9} {value}");
        }
    }
    text
}
