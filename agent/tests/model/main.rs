//! What becomes of a model's words.

mod corpus;
mod reading;
