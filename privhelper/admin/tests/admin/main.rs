//! Behaviour of postern-admin: what it refuses, and what it promises.
#![expect(clippy::disallowed_methods, reason = "tests make the files that they are about")]

mod apply;
mod approvals_support;
mod approve;
mod backup;
mod check;
mod commands;
mod diff;
mod diff_every;
mod doctor;
mod enforce;
mod examples;
mod explain;
mod export;
mod files;
mod follow;
mod init;
mod keygen;
mod language;
mod lint;
mod log;
mod packs;
#[cfg(feature = "browser")]
mod page;
mod pause_undo;
mod plan;
mod property;
mod reach;
mod rendering;
mod report;
mod seal;
mod show;
mod sign_off;
mod site;
mod status;
mod suggest;
mod summary;
mod support;
mod terminal;
mod tips;
mod unknown;
mod verify;
mod waiting;
mod watch;
mod witness;
