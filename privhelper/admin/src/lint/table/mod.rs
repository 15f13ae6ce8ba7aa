//! Places, units, packages and programs that amount to root: data, with the reason of each entry.
//!
//! A path's components may hold `*` (any run, a leading dot too); a last `**` is everything below, at any depth.

mod boot;
mod identity;
mod infrastructure;
mod names;
mod packages;
mod programs;
mod secrets;
mod services;
mod systemd;

pub use names::{CAPABILITIES, ENVIRONMENT, Names, PACKAGES, PROGRAMS, UNITS, When, lists};
pub use secrets::SECRETS;

use super::Class;

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

const fn row(id: &'static str, class: Class, how: &'static str, paths: &'static [&'static str]) -> Row {
    Row { id, class, how, paths, lines: &[] }
}

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
