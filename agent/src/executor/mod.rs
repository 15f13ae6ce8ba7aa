//! Executes a task: its steps, its plan or its model's calls.

mod agreed;
mod ahead;
mod approved;
mod ask_user;
mod asking;
mod check;
mod command;
mod command_runner;
mod commands;
mod composed;
mod confirming;
mod facts;
mod knowledge;
mod model;
mod model_result;
mod outcome;
mod output;
mod plan;
mod planning;
mod resuming;
mod reviewed;
mod runbooks;
mod runner;
mod shims;
mod situation;
mod step;
mod steps;
mod together;
mod usage;

pub use approved::ApprovedReads;
pub use command_runner::Commands;
pub use reviewed::Reviewed;
pub use runner::{Runner, status_word};
