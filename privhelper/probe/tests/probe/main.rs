//! The probe over socket pairs, with fake programs of apt and dpkg and a bus of the tests' own.
#![expect(
    clippy::unwrap_used,
    clippy::disallowed_methods,
    clippy::indexing_slicing,
    clippy::string_slice,
    clippy::arithmetic_side_effects,
    clippy::wildcard_enum_match_arm,
    clippy::panic,
    reason = "a test stops at the first surprise"
)]

mod affected;
mod bus;
mod limits;
mod packages;
mod questions;
mod reads;
mod server;
mod sources;
mod support;
