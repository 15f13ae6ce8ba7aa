//! Behaviour of postern-admin: what it refuses, and what it promises.
#![expect(clippy::disallowed_methods, reason = "tests make the files that they are about")]

mod apply;
mod check;
mod diff;
mod diff_every;
mod examples;
mod explain;
mod files;
mod log;
#[cfg(feature = "browser")]
mod page;
mod report;
mod show;
mod site;
mod status;
mod support;
mod verify;
