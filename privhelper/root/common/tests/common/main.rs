//! What the programs of the root helper share.
#![expect(
    clippy::disallowed_methods,
    clippy::panic,
    clippy::indexing_slicing,
    clippy::unwrap_used,
    reason = "a test stops at the first surprise"
)]

mod accounts;
mod authority;
mod keys;
mod outcomes;
mod receive;
mod server;
mod startup;
mod support;
