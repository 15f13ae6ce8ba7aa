//! What the agent finds out by itself, as its own uid: no helper, no program, nothing is changed.
//!
//! Files are read below the configured read roots only and never where secrets are kept; facts come from
//! /proc, dpkg's status file, `statvfs` and the system bus. Every look is bounded in time and size, and what
//! it did not see it says.

mod blind;
mod bus;
mod disks;
mod files;
mod found;
mod list;
mod look;
mod network;
mod packages;
mod roots;
mod search;
mod system;
mod units;

pub use found::{Found, is_unread};
pub use look::Local;
