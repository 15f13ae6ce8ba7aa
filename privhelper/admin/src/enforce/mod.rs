//! Writes what PID 1 and the kernel enforce below our programs: a unit for each named command and for each validator of
//! a granted directory, the sockets of rules with `as`, and the mounts of `postern-files.service`.

mod as_user;
mod greet;
mod install;
mod mounts;
mod plan;
mod text;
mod unit;

pub use greet::greet;
pub use install::{Installed, install};
pub use mounts::{merged, writable};
pub use plan::{Plan, units};
pub use unit::{command, validator};
