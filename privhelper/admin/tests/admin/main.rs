//! Behaviour of postern-admin: what it refuses, and what it promises.
#![expect(clippy::disallowed_methods, reason = "tests make the files that they are about")]

mod apply;
mod check;
mod diff;
mod diff_every;
mod examples;
mod files;
mod log;
mod show;
mod status;
mod support;
mod verify;
