//! Tests of the library that the root helper's programs are linked with: frames, keys, outcomes, startup.
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
