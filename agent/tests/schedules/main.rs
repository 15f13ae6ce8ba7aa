//! Tasks that begin by themselves: when, for whom, and how often.

#[path = "../common/mod.rs"]
mod common;

mod calendar;
mod rights;
mod served;
mod trigger;
