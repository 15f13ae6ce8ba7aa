//! What becomes of a model's words, and how they are fetched.

mod arbitrary;
mod bounds;
mod command;
mod commands;
#[path = "../common/mod.rs"]
mod common;
mod configuration;
mod corpus;
mod doctor;
mod endpoints;
mod events;
mod facts;
mod families;
mod guarding;
mod http;
mod injections;
mod kept;
mod looks;
mod loops;
mod outcomes;
mod plan_scenarios;
mod plans;
mod prompt;
mod rates;
mod reading;
mod redaction;
mod repaired;
mod resuming;
mod retries;
mod sandbox;
mod scenarios;
mod schema;
mod server;
mod shown;
mod tasks;
mod traces;
