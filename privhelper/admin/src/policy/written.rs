//! What stands beside a rule for the lint: what it accepts, and where its values stand.

use super::table::Table;
use crate::lint::{Accept, Place, Written};

/// The lists whose values findings point at.
const LISTS: [&str; 8] =
    ["directories", "modes", "owners", "groups", "units", "packages", "commands", "sources"];

/// Reports what is wrong with `accept_risk` itself.
pub fn check(table: Table<'_>) {
    // Each pair without a reason is reported as it is read.
    let _ = table.pairs("accept_risk");
}

/// A byte of the table's file.
pub fn place(table: Table<'_>, at: usize) -> Place {
    Place { file: table.source.rank, at }
}

/// Reads it of a rule that has no errors.
#[must_use]
pub fn read(table: Table<'_>) -> Written {
    let place = |at| place(table, at);
    let accept = |(id, reason): (super::At<&str>, &str)| Accept {
        id: id.value.to_owned(),
        reason: reason.to_owned(),
        place: place(id.at),
    };
    let texts = |key: &&str| table.place(key).and_then(|_| table.texts(key)).unwrap_or_default();
    let mut values: Vec<_> =
        LISTS.iter().flat_map(texts).map(|text| (text.value.to_owned(), place(text.at))).collect();
    if let Some(name) = table.place("validate").and_then(|_| table.text("validate")) {
        values.push((name.value.to_owned(), place(name.at)));
    }
    Written {
        place: place(table.at),
        accepts: table.pairs("accept_risk").into_iter().map(accept).collect(),
        values,
    }
}
