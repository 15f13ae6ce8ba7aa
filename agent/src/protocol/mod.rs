//! Records: what goes over a socket or is kept, and what can be told from them alone. Nothing here acts.

pub(crate) mod args;
pub mod confinement;
pub(crate) mod event;
pub(crate) mod exit;
pub(crate) mod file_view;
pub mod mode;
mod not_done;
pub mod owner;
pub mod plan;
pub(crate) mod question;
pub(crate) mod request;
mod request_text;
pub(crate) mod results;
pub(crate) mod runbook;
pub mod schedule;
pub(crate) mod step;
pub(crate) mod task;
pub mod tool;
pub(crate) mod tool_request;
mod tool_schema;
pub mod trace;
