//! The checks of `postern doctor` on this host, with nothing but what any user may read.

pub mod groups;
pub mod host;

pub use postern_doctor::{Check, State};
