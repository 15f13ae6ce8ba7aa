//! Language models: their endpoints, and the tool calls in their replies.
//!
//! A model's words are hostile input. They become a call in [`reply_parser`] alone, and a call is typed: its
//! arguments are exactly those of one tool.

pub mod conversation;
pub mod endpoints;
pub mod estimate;
pub mod repairs;
pub mod reply_parser;
pub mod text_calls;
pub mod tools;
pub mod trial;
