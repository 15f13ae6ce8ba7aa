//! A gateway between a test in the helper's place and an HTTP/2 client.
#![expect(
    clippy::unwrap_used,
    clippy::indexing_slicing,
    clippy::disallowed_methods,
    reason = "a test may fail"
)]

mod authority;
mod handover;
mod harness;
mod limits;
mod process;
mod relay;
mod times;
