//! Package transactions, with fakes in place of apt and dpkg.
#![expect(
    clippy::unwrap_used,
    clippy::panic,
    clippy::disallowed_methods,
    clippy::indexing_slicing,
    reason = "a test stops at the first surprise"
)]

mod check;
mod decision;
mod hold;
mod inverse;
mod run;
mod support;
