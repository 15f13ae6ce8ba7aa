//! What exactly would happen, as clients, people and the audit log see it.

mod command;
mod files;
pub mod inverse;
mod show;

pub use command::CommandPlan;
pub use files::{FileAction, FilePlan, FilesPlan};
