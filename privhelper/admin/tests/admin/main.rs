//! Behaviour of postern-admin: what it refuses, and what it promises.
#![expect(clippy::disallowed_methods, reason = "tests make the files that they are about")]

mod apply;
mod approve;
mod asking;
mod brake;
mod check;
mod commands;
mod desk;
mod diff;
mod diff_every;
mod examples;
mod explain;
mod files;
mod language;
mod lint;
mod log;
#[cfg(feature = "browser")]
mod page;
mod reach;
mod rendering;
mod report;
mod show;
mod site;
mod status;
mod support;
mod verify;
mod waiting;
mod watch;
