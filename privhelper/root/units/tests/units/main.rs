//! postern-units with a fake systemctl: decisions, changes, jobs, commands, validators.
#![expect(
    clippy::unwrap_used,
    clippy::disallowed_methods,
    clippy::indexing_slicing,
    clippy::panic,
    reason = "a test stops at the first surprise"
)]

mod change;
mod command;
mod job;
mod support;
mod validate;
