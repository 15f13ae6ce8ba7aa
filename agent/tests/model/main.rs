//! What becomes of a model's words, and how they are fetched.

mod arbitrary;
mod command;
#[path = "../common/mod.rs"]
mod common;
mod configuration;
mod corpus;
mod endpoints;
mod events;
mod guarding;
mod http;
mod loops;
mod reading;
mod redaction;
mod retries;
mod sandbox;
mod scenarios;
mod schema;
mod server;
mod tasks;
mod traces;
