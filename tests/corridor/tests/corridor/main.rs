//! The helper's promises, held against all of its programs at once.

mod affected;
mod approvals;
mod attacks;
mod audit;
mod captured;
mod commands;
mod connection;
mod file_changes;
mod file_undo;
mod files;
mod first;
mod hanging;
mod kills;
mod lies;
mod life;
mod packages;
mod recorder;
mod replaced;
mod requests;
mod reverse;
mod secrets;
mod systemd;
mod threads;
mod undo;
mod units;
mod validate;
