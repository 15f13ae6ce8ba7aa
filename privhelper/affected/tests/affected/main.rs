//! Which units a change affects, and what is read from systemd's answers and from unit files.
#![expect(clippy::unwrap_used, clippy::indexing_slicing, reason = "a test stops at the first surprise")]

mod answers;
mod closure;
