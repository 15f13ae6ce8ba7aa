//! The unprivileged agent of Postern and its command line.
//!
//! Nothing in here has power: what needs root goes to the helper as a typed request. `postern serve` is
//! the helper's client and takes tasks and requests from people; the other commands are its clients, or
//! with `--direct` the helper's.
//!
//! Its modules are rooms. Each uses only rooms above it, which `tests/tests/structure/rooms.rs` holds:
//!
//! | room | what is in it |
//! |---|---|
//! | [`protocol`] | records: events, requests, tools, tasks, results, plans |
//! | [`config`] · [`redaction`] · [`audit`] | agent.toml and the host's paths · secrets, kept out of text and log · the log of what the agent did itself |
//! | [`client`] · `render` | the ways to the helper and to the agent · text for people |
//! | [`shell_parser`] · [`shims`] · [`shell_policy`] · [`sandbox`] | commands of the agent's own: read, translated to requests, judged, run |
//! | [`inspect`] · [`plan`] · [`runbooks`] · [`offline_planner`] | read-only tools and doctor · plans that can be carried out · reviewed plans with parameters · steps from plain words, without a model |
//! | [`llm`] · [`knowledge`] · [`agent_loop`] | endpoints, replies, schemas of tools · full-text search of documents · the loop of a task with a model |
//! | `store` · `executor` · `insights` · [`service`] | tasks over a restart · what carries them out · what their record says · the HTTP service |
//! | [`mcp`] · [`cli`] | the MCP server · the command line |

pub mod agent_loop;
pub mod audit;
pub mod cli;
pub mod client;
pub mod config;
mod executor;
mod insights;
pub mod inspect;
pub mod knowledge;
pub mod llm;
pub mod mcp;
pub mod offline_planner;
pub mod plan;
pub mod protocol;
pub mod redaction;
mod render;
pub mod runbooks;
pub mod sandbox;
pub mod service;
pub mod shell_parser;
pub mod shell_policy;
pub mod shims;
mod store;
pub mod telemetry;

pub use config::host::Host;
pub use protocol::exit::Exit;

/// The verbs that can be asked for, in the order of the service.
pub const VERBS: &[&str] = protocol::request::Request::VERBS;
