//! The recorder, spoken to as the broker and operators speak to it, with a fake root helper.
#![expect(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::indexing_slicing,
    clippy::string_slice,
    clippy::arithmetic_side_effects,
    clippy::as_conversions,
    clippy::disallowed_methods,
    clippy::unchecked_time_subtraction,
    clippy::wildcard_enum_match_arm,
    reason = "a test stops at the first surprise"
)]

mod budget;
mod common;
mod consent;
mod frames;
mod inspect;
mod kills;
mod log;
mod migration;
mod operators;
mod orders;
mod reader;
mod recovery;
mod requests;
mod seal;
mod space;
mod tracer;
mod turns;
mod undo;
mod validation;
