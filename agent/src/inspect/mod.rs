//! Read-only tools that the agent runs by itself, as its own uid: without the helper, without other programs.
//!
//! Files are read below the configured read roots only and never where secrets are kept; facts come from
//! /proc, dpkg's status file, `statvfs` and the system bus. Every look is bounded in time and size, and what
//! it did not see it says.

mod bus;
mod disks;
pub mod doctor;
pub mod failures;
mod files;
mod list;
pub mod membership;
mod network;
mod packages;
mod read_error;
mod read_result;
mod read_tool;
mod roots;
mod search;
mod system;
mod units;

pub use packages::installed_packages;
pub use read_result::{ReadResult, UNREAD, is_unread};
pub use read_tool::{READ_TIME, ReadTools};
pub(crate) use roots::opened as open_entry;
