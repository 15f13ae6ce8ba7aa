//! An answer while it comes in.

/// What is heard while an answer comes in.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Chunk<'t> {
    /// More words.
    Words(&'t str),
    /// The answer begins anew: what was heard of it is void.
    Again,
}
