//! The agent's own audit log: what it did besides its requests to the helper, as a hash chain.
//!
//! The lines have the form of the recorder's log (`privhelper/audit/AUDIT.md`), and `postern-admin audit verify` checks both. The
//! recorder's log holds the number and hash of this one's last record, once a minute and at each task's end: a captured agent can
//! leave out or invent what comes later, and cannot change what came before unnoticed.
//!
//! No content of files, prompts or secrets is in it, but what a person was shown with a question.

mod budget;
mod file;
mod log;
mod record;

pub use log::{AuditLog, Limits, Tip};
pub use record::{EVENTS, ModelCall, Record};
