//! Postern's recorder: the audit log, request ids, approvals, and the only client of root's programs.
//!
//! It treats orders as opaque bytes, so it parses nothing that a client wrote. An effect takes the path of
//! [`execute::execute`]: consent, turn, `begin` on disk, root, `end` on disk.

#![expect(
    clippy::must_use_candidate,
    reason = "no function here is called for anything but its result or its effect"
)]

pub mod approvals;
pub mod attempts;
pub mod broker;
pub mod claims;
pub mod execute;
pub mod fault;
pub mod host;
pub mod keep;
pub mod listen;
pub mod log;
pub mod operator;
pub mod permit;
pub mod person;
pub mod requests;
pub mod root;
pub mod sessions;
pub mod state;
pub mod subscribers;
pub mod sys;
pub mod turns;
pub mod undo;
pub mod work;
