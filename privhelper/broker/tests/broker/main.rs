//! The broker over Unix sockets of a temporary directory, with a gateway's end, a small recorder and a small probe.
#![expect(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::indexing_slicing,
    clippy::string_slice,
    clippy::arithmetic_side_effects,
    clippy::as_conversions,
    clippy::wildcard_enum_match_arm,
    clippy::disallowed_methods,
    reason = "a test stops at the first surprise"
)]

mod bodies;
mod budget;
mod commands;
mod common;
mod connection;
mod fakes;
mod frames;
mod history;
mod listen;
mod own;
mod progress;
mod requests;
mod visible;
