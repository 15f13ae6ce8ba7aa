//! The unprivileged agent of Postern and its command line.
//!
//! Nothing in here has power: what needs root goes to the helper as a typed request. `postern serve` is
//! the helper's client and takes tasks and requests from people; the other commands are its clients, or
//! with `--direct` the helper's.

mod agent_client;
pub mod cli;
pub mod config;
pub mod doctor;
mod helper;
#[expect(clippy::disallowed_methods, reason = "the program is root's, from its configuration")]
mod hook;
mod host;
mod local;
pub mod log;
pub mod mcp;
pub mod model;
mod operators;
mod patching;
mod pending_request;
pub mod plan;
pub mod planner;
pub mod protocol;
pub mod rates;
mod report;
pub mod sandbox;
pub mod secrets;
pub mod service;
pub mod shell_parser;
pub mod shell_policy;
pub mod shims;
mod show;
mod site_prompt;
pub mod sse;
mod task;
mod transport;
mod undo;

pub use host::Host;
pub use protocol::exit::Exit;

/// The verbs that can be asked for, in the order of the service.
pub const VERBS: &[&str] = protocol::request::Request::VERBS;
