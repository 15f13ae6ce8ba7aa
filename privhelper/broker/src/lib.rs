//! The broker: parses what clients send, and decides it under the accepted policy.
//!
//! It holds no power and no connection to anything that runs as root. The path of a request is [`run::run`], top to
//! bottom; the verbs are the rows of [`table::TABLE`].

pub mod body;
pub mod budget;
pub mod call;
pub mod claim;
pub mod client;
pub mod connection;
pub mod describe;
pub mod dispatch;
pub mod error;
pub mod events;
pub mod facts;
pub mod frame;
pub mod history;
pub mod host;
pub mod journal;
pub mod listen;
pub mod meta;
pub mod order;
pub mod perform;
pub mod plan;
pub mod probe;
pub mod progress;
pub mod recorder;
pub mod relay;
pub mod run;
pub mod send;
pub mod state;
pub mod sys;
pub mod table;
pub mod text;
pub mod visible;
