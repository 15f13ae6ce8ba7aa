//! The broker: parses what clients send, and decides it under the accepted policy.
//!
//! It holds no power and no connection to anything that runs as root. The path of a request is [`run::run`], top to
//! bottom; the verbs are the rows of [`table::TABLE`].

pub mod budget;
pub mod describe;
pub mod error;
pub mod events;
pub mod frame;
pub mod history;
pub mod host;
pub mod limit;
//pub mod listen;
pub mod probe;
pub mod recorder;
pub mod state;
pub mod sys;
