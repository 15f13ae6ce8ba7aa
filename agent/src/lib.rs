//! The unprivileged agent of Postern and its command line.
//!
//! Nothing in here has power: what needs root goes to the helper as a typed request. `postern serve` is
//! the helper's client and takes tasks and requests from people; the other commands are its clients, or
//! with `--direct` the helper's.

pub mod agent_loop;
pub mod cli;
pub mod client;
pub mod config;
mod executor;
pub mod inspect;
pub mod llm;
pub mod mcp;
pub mod offline_planner;
pub mod plan;
pub mod protocol;
pub mod redaction;
mod render;
pub mod sandbox;
pub mod service;
pub mod shell_parser;
pub mod shell_policy;
pub mod shims;
mod store;

pub use config::host::Host;
pub use protocol::exit::Exit;

/// The verbs that can be asked for, in the order of the service.
pub const VERBS: &[&str] = protocol::request::Request::VERBS;
