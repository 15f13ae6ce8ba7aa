//! `postern-units`: changes units, starts package transactions and named commands.
//!
//! Runs as uid 0 without a capability: PID 1 obeys uid 0. Longer work runs in a unit of its own and outlives this
//! program.

mod change;
mod command;
mod facts;
mod host;
mod inverse;
mod job;
mod packages;
mod paths;
mod serve;
mod state;
mod systemctl;
mod validate;

pub use host::Host;
pub use state::State;
