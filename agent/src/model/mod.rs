//! Models: what a reply of theirs asks for, and the endpoints that they answer at.
//!
//! A model's words are hostile input. What of them becomes a call is decided in [`reader`] alone, and a
//! call is typed: its arguments are exactly those of one tool.

pub mod answer;
pub mod breaker;
pub mod budget;
pub mod claims;
pub mod compaction;
pub mod conversation;
pub mod endpoint;
pub mod guard;
pub mod history;
pub mod log;
pub mod memory;
pub mod protocol;
pub mod quotation;
pub mod reader;
pub mod repairs;
pub mod results;
pub mod task;
pub mod tool_result;
pub mod tools;
pub mod trial;
