//! What becomes of a model's words.

mod arbitrary;
mod command;
mod configuration;
mod corpus;
mod reading;
