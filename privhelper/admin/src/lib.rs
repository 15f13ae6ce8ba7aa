//! Operator and reviewer commands of Postern: accept a policy, see the recorder's state, read and verify the audit log.
//!
//! Everything that decides about a request is the programs' own code, used as a library.

pub mod approvals;
pub mod audit;
pub mod backup;
pub mod cli;
pub mod completion;
pub mod diff;
pub mod doctor;
pub mod enforce;
pub mod explain;
mod file;
pub mod finding;
pub mod host;
pub mod init;
pub mod io;
pub mod limits;
pub mod lint;
pub mod loaded_policy;
pub mod metrics;
pub mod operator;
mod own;
pub mod packs;
pub mod policy;
pub mod programs;
pub mod rehearse;
pub mod report;
pub mod status;
pub mod suggest;
pub mod text;
