//! `audit show --task`: what became of one task, from the recorder's log and the agent's own, in order of time.
//!
//! The recorder's records say what was asked of the helper and what it did; the agent's what the agent did besides. The task of a
//! request is its client's claim, and the agent's records are its own word as far as they are not anchored: each row names its source.

mod html;
mod records;
mod words;

pub use html::{Page, write};
pub use records::collect;
pub use words::row;
