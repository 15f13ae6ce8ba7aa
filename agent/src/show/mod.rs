//! What people read: outcomes, refusals and grants in words.

mod grants;
mod outcome;
mod text;

pub use grants::grants;
pub use outcome::{found, refusal, unit_state};
pub use text::{line, lines};
