//! `sudo`, `apt-get`, `systemctl`, `tee` and their like: translated to typed requests, or to one line that says what to
//! use. The translation asks for nothing and changes nothing; `program` is the process that was called.

mod call;
#[expect(clippy::disallowed_methods, reason = "sed has the rights of the caller, and no commands that write")]
mod caller;
#[expect(clippy::disallowed_methods, reason = "dpkg-query changes nothing")]
mod client;
mod copies;
mod descriptor;
mod exit_status;
mod files;
mod modes;
mod nowhere;
mod operands;
mod output;
pub mod outside;
mod owners;
mod packages;
mod power;
mod program;
mod reads;
#[expect(clippy::disallowed_methods, reason = "it becomes the program that the caller could start anyway")]
pub mod real;
mod script;
mod sed;
mod steps;
mod table;
mod translate;
mod unit_query;
mod units;
pub mod wire;

pub use call::{AfterFailure, Attributes, ShimHost, Step};
pub use exit_status::{ExitStatus, ProgramFamily};
pub use nowhere::{Foreseen, Nowhere};
pub use output::output;
pub use program::called;
pub use real::DIRECTORY;
pub use steps::take;
pub(crate) use translate::looks;
pub use translate::{PROGRAMS, Translation, translate};
pub use unit_query::{State, UnitQuery};
