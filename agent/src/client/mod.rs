//! Clients of the helper and of the agent: one request over a socket, tried again until its outcome is known.

pub(crate) mod agent;
mod alias;
pub(crate) mod counts;
pub(crate) mod helper;
#[expect(clippy::disallowed_methods, reason = "the program is root's, from its configuration")]
pub(crate) mod hook;
mod note;
pub mod notices;
pub(crate) mod operators;
pub(crate) mod patching;
pub(crate) mod pending_request;
pub mod person;
pub mod rates;
pub mod sse;
pub(crate) mod transport;
pub(crate) mod undo;
