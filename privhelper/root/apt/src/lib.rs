//! What Postern asks apt and dpkg, and how their answers are read. Nothing here changes the host.
//!
//! `postern-packages` runs transactions with it as root; the probe simulates the same transactions without privilege.

pub mod apt_errors;
pub mod arguments;
pub mod dpkg;
mod fault;
mod host;
pub mod programs;
pub mod sources;
mod transaction;

pub use fault::Fault;
pub use host::Host;
pub use transaction::{Action, Transaction};
