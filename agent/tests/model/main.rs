//! What becomes of a model's words, and how they are fetched.

mod arbitrary;
mod command;
mod configuration;
mod corpus;
mod endpoints;
mod events;
mod loops;
mod reading;
mod redaction;
mod retries;
mod scenarios;
mod server;
