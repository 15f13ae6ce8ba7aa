//! The loop of a task with a model: it asks, checks and runs the calls of each reply, and ends within the task's limits.

pub mod answer;
pub mod breaker;
pub mod budget;
pub mod call_log;
pub mod claims;
pub mod compaction;
pub mod dialogue;
pub mod guard;
pub mod history;
pub mod memory;
pub mod quotation;
pub mod results;
pub mod tool_result;
