//! Text for people: outcomes, refusals and grants in words.

mod facts;
mod grants;
mod outcome;
mod plan;
mod refusal;
pub(crate) mod report;
pub(crate) mod risk;
mod table;
mod waiting;

pub use facts::facts;
pub use grants::{Reader, grants};
pub use outcome::{found, unit_state};
pub use plan::size;
pub use refusal::{failure, next_step, refusal};
pub use table::Table;
pub use waiting::{Later, clock, deadline, moment, time_of, waiting};
