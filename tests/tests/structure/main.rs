//! Which code a reviewer must know together: crates that a program links, and modules that import each other. And what
//! the documents say of it.

mod circles;
mod documents;
mod linked;
mod purity;
mod source;
mod workspace;
