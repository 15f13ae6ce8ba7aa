//! What the root helper promises, spoken to as a gateway speaks to it.
#![expect(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::indexing_slicing,
    clippy::string_slice,
    clippy::arithmetic_side_effects,
    clippy::as_conversions,
    clippy::disallowed_methods,
    reason = "a test stops at the first surprise"
)]

mod affected;
mod approvals;
mod attacks;
mod audit;
mod budget;
mod commands;
mod common;
mod confined;
mod connection;
mod copies;
mod describe;
mod file_changes;
mod file_crash;
mod file_undo;
mod files;
mod inverse;
mod kills;
mod lists;
mod races;
mod reader;
mod requests;
mod reverse;
mod seal;
mod secrets;
mod systemd;
mod tracer;
mod undo;
mod units;
mod validate;
mod xattrs;
