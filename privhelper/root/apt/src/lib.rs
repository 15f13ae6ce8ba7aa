//! Arguments for apt and dpkg, and parsers of their output. Nothing here changes the host.
//!
//! `postern-packages` runs transactions with it as root; the probe simulates the same transactions without privilege.

pub mod apt_errors;
pub mod arguments;
pub mod dpkg;
pub mod programs;
pub mod sources;

pub use arguments::Transaction;
pub use programs::Host;
