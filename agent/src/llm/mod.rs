//! Language models: the endpoints that they answer at, and what a reply of theirs asks for.
//!
//! A model's words are hostile input. What of them becomes a call is decided in [`reply_parser`] alone, and a call is
//! typed: its arguments are exactly those of one tool.

pub mod conversation;
pub mod endpoints;
pub mod repairs;
pub mod reply_parser;
pub mod text_calls;
pub mod tools;
pub mod trial;
