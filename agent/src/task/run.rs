//! What carries out a task: its steps, its plan or its model's calls.

mod ahead;
mod approved;
mod asking;
mod careful;
mod check;
mod command;
mod commands;
mod composed;
mod facts;
mod model;
mod outcome;
mod output;
mod plan;
mod planning;
mod putting;
mod requests;
mod resuming;
mod runner;
mod shims;
mod situation;
mod step;
mod steps;
mod telling;
mod together;

pub use approved::ApprovedReads;
pub(crate) use requests::request;
pub use runner::Runner;
