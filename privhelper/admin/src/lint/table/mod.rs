//! Places, units, packages and programs that amount to root: data, with the reason of each entry.
//!
//! A path's components may hold `*` (any run, a leading dot too); a last `**` is everything below, at any depth.

mod boot;
mod identity;
mod infrastructure;
mod names;
mod packages;
mod programs;
mod row;
mod secrets;
mod services;
mod systemd;

pub use names::{CAPABILITIES, Direction, ENVIRONMENT, ESCAPING, Names, PACKAGES, PROGRAMS, UNITS, lists};
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
