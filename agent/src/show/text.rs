//! Text that may be hostile, made fit for a terminal.

pub use postern_text::{json, line, lines};
