//! postern-files on directories of the test's own, given orders as the recorder gives them.
#![expect(
    clippy::unwrap_used,
    clippy::indexing_slicing,
    clippy::panic,
    clippy::disallowed_methods,
    clippy::arithmetic_side_effects,
    reason = "a test stops at the first surprise"
)]

mod as_user;
mod attributes;
mod changes;
mod confine;
mod kills;
mod orders;
mod races;
mod reads;
mod recovery;
mod store;
mod support;
mod tracer;
mod undo;
mod validate;
