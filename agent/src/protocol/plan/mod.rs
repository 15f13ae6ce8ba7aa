//! Plans as records: what is to be done, as data that a person reads before it is done and a program checks.

mod command;
mod document;
mod patch;
mod unfit;

pub use command::{Check, CommandPlan, Expected, PlannedCall, PlannedCommand, Step};
pub use document::{DirectAnswer, NoChange, Plan, UserInput};
pub use patch::{FilePatchPlan, Intent, PermissionChange};
pub use unfit::{Code, Unfit, unfit};
