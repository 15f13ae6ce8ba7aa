//! Decisions of the policy, and the texts that it accepts.
#![expect(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::wildcard_enum_match_arm,
    clippy::indexing_slicing,
    clippy::as_conversions,
    reason = "a test stops at the first surprise"
)]

mod accounts;
mod as_user;
mod commands;
mod common;
mod facts;
mod files;
mod flags;
mod hours;
mod patterns;
mod people;
mod plans;
mod requests;
mod rules;
mod units;
