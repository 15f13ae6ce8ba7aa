//! Translates `sudo`, `apt-get`, `systemctl`, `tee` and their like inside the tool sandbox: to typed requests,
//! or one line that says what to use. Nothing is asked for here and nothing is changed.

mod call;
mod exit_status;
mod files;
mod nowhere;
mod operands;
mod owners;
mod packages;
#[expect(clippy::disallowed_methods, reason = "it runs inside the sandbox, and so does what it starts")]
mod program;
mod script;
mod table;
mod translate;
mod unit_query;
mod units;
pub mod wire;

pub use call::{AfterFailure, ShimHost, Step};
pub use exit_status::{ExitStatus, ProgramFamily};
pub use nowhere::{Foreseen, Nowhere};
pub use program::called;
pub(crate) use translate::looks;
pub use translate::{PROGRAMS, Translation, translate};
pub use unit_query::{State, UnitQuery};
