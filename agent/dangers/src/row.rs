//! The shape of a row of the table.

use crate::class::Class;

/// One finding about places, with all the places that it is about.
#[derive(Debug)]
pub struct Row {
    /// The finding's id.
    pub id: &'static str,
    /// How bad.
    pub class: Class,
    /// How root comes of it: ends the sentence "rule r may write p, and …".
    pub how: &'static str,
    /// Where.
    pub paths: &'static [&'static str],
    /// Lines that do it, if only some do: a rule whose `lines` can be none of them has no such finding.
    pub lines: &'static [&'static str],
}

/// A row that is about every line of its files.
pub(crate) const fn row(
    id: &'static str,
    class: Class,
    how: &'static str,
    paths: &'static [&'static str],
) -> Row {
    Row { id, class, how, paths, lines: &[] }
}
