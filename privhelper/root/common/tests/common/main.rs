//! What the programs of the root helper share.
#![expect(
    clippy::unwrap_used,
    clippy::indexing_slicing,
    clippy::panic,
    clippy::disallowed_methods,
    clippy::arithmetic_side_effects,
    reason = "a test stops at the first surprise"
)]

mod accounts;
mod authority;
mod keys;
mod outcomes;
mod receive;
mod server;
mod support;
