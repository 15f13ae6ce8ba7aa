//! What the policy decides, and which texts it accepts.
#![expect(
    clippy::unwrap_used,
    clippy::indexing_slicing,
    clippy::as_conversions,
    reason = "a test stops at the first surprise"
)]

mod accounts;
mod affected;
mod commands;
mod common;
mod files;
mod patterns;
mod plans;
mod rules;
mod unit_facts;
mod units;
