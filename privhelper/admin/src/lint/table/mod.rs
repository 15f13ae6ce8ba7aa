//! Units, packages and programs that amount to root: data, with the reason of each entry. The places are in
//! postern-dangers, since the agent warns of them too.

mod names;
mod needs;

pub use names::{CAPABILITIES, Direction, ENVIRONMENT, ESCAPING, Names, PACKAGES, PROGRAMS, UNITS, lists};
pub use needs::{NEEDS, NO_ARGUMENT, Need, Needs};
pub use postern_dangers::{Row, SECRETS, writes};
