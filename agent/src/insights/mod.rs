//! `postern insights`: what the record says of failing tasks, missing grants, slow steps and repeated approvals.
//!
//! It only reads, and changes nothing. The same record gives the same report, whatever the order in which it was written. The
//! agent's record is a claim to an operator: `postern-admin policy suggest` decides by the helper's own log.

mod gather;
mod groups;
mod report;

pub use gather::gather;
pub use report::Insights;
