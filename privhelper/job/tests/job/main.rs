//! What the program promises, with fakes in place of apt and dpkg.
#![expect(
    clippy::unwrap_used,
    clippy::disallowed_methods,
    clippy::indexing_slicing,
    clippy::as_conversions,
    reason = "a test stops at the first surprise"
)]

mod check;
mod command;
mod hold;
mod plan;
mod run;
mod sources;
#[path = "../support/mod.rs"]
mod support;
mod usage;
