//! The text of a rule, for the lint: which findings it accepts, and where its values are written.

use super::table::{At, Table};
use crate::finding::Location;
use crate::lint::{Acceptance, RuleText};

/// The lists whose values findings point at.
const LISTS: [&str; 8] =
    ["directories", "modes", "owners", "groups", "units", "packages", "commands", "sources"];

/// Reports what is wrong with `accept_risk` itself.
pub fn check(table: Table<'_>) {
    // Each pair without a reason is reported as it is read.
    let _ = table.pairs("accept_risk");
}

/// A byte of the table's file.
pub fn location(table: Table<'_>, byte: usize) -> Location {
    Location { file: table.source.rank, byte }
}

/// Reads the text of a rule that has no errors.
#[must_use]
pub fn read(table: Table<'_>) -> RuleText {
    let location = |byte| location(table, byte);
    let acceptance = |(id, reason): (At<&str>, &str)| Acceptance {
        id: id.value.to_owned(),
        reason: reason.to_owned(),
        location: location(id.at),
    };
    let texts = |key: &&str| table.place(key).and_then(|_| table.texts(key)).unwrap_or_default();
    let mut values: Vec<_> =
        LISTS.iter().flat_map(texts).map(|text| (text.value.to_owned(), location(text.at))).collect();
    if let Some(name) = table.place("validate").and_then(|_| table.text("validate")) {
        values.push((name.value.to_owned(), location(name.at)));
    }
    RuleText {
        location: location(table.at),
        acceptances: table.pairs("accept_risk").into_iter().map(acceptance).collect(),
        values,
    }
}
