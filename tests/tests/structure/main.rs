//! Which code a reviewer must know together: crates that a program links, and modules that import each other.

mod circles;
mod linked;
mod purity;
mod source;
mod workspace;
