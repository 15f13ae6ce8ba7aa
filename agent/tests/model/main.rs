//! What becomes of a model's words.

mod arbitrary;
mod command;
mod corpus;
mod reading;
