//! Unified diffs: read strictly, applied where they fit and nowhere else, and made.
//!
//! A diff becomes root's work once it is applied, so nothing of it is skipped: a line that belongs to nothing is
//! an error, as are renames, modes and binary parts. No file is opened here: who calls reads and writes.

mod apply;
mod file_diff;
mod hunk;
mod lines;
mod make;
mod names;
mod parse;

pub use apply::{Applied, Conflict, Moved, Reason, apply};
pub use file_diff::{FileDiff, Hunk, Kind, Mark};
pub use make::{Difference, difference};
pub use parse::{ParseError, parse};
