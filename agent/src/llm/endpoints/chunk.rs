//! A piece of a streamed answer.

use std::time::Duration;

/// A piece of a streamed answer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Chunk<'t> {
    /// More words.
    Words(&'t str),
    /// The answer begins anew: what was heard of it is void.
    Again,
    /// A try failed, and another follows.
    Retry(NextTry<'t>),
}

/// The next try of a call that failed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct NextTry<'t> {
    /// Its number: the first try is 1.
    pub attempt: u32,
    /// The most tries of one call.
    pub of: u32,
    /// How long until it begins.
    pub wait: Duration,
    /// The failure of the last one, in the endpoint's words.
    pub why: &'t str,
}
