//! A line of a document, as the readers of its form give it.

/// A line of a document.
#[derive(Debug, PartialEq, Eq)]
pub struct Line {
    /// Its number from 1.
    pub number: usize,
    /// Its level where it is a heading.
    pub level: Option<usize>,
    /// Its text without markup.
    pub text: String,
}
