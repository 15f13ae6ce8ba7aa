//! A piece of a streamed answer.

/// A piece of a streamed answer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Chunk<'t> {
    /// More words.
    Words(&'t str),
    /// The answer begins anew: what was heard of it is void.
    Again,
}
