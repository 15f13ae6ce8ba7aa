//! Which code a reviewer must know together: crates that a program links, modules that import each other, and the
//! order of the agent's rooms. And what the documents say of it.

mod circles;
mod documents;
mod features;
mod linked;
mod lints;
mod purity;
mod rooms;
mod source;
mod tested;
mod workspace;
