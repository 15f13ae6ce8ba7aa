//! Behaviour of postern-admin: what it refuses, and what it promises.
#![expect(clippy::disallowed_methods, reason = "tests make the files that they are about")]

mod apply;
mod check;
mod commands;
mod examples;
mod files;
mod language;
mod log;
mod reach;
mod show;
mod status;
mod support;
mod verify;
