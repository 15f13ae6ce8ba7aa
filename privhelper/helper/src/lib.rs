//! Postern's root helper: decides, records, acts.
//!
//! The path of a request is [`dispatch::run`], top to bottom. Who decides
//! ([`policy`], [`plan`], [`types`]) does no I/O; who does I/O ([`sys`])
//! decides nothing, and its effects take a ticket that only the audit mints.

pub mod answer;
pub mod approvals;
pub mod audit;
pub mod change;
pub mod connection;
pub mod context;
pub mod copies;
pub mod dispatch;
pub mod error;
pub mod frame;
pub mod helper;
pub mod host;
pub mod job;
pub mod leave;
pub mod listen;
pub mod meta;
pub mod operator;
pub mod places;
pub mod plan;
pub mod question;
pub mod reply;
pub mod requests;
pub mod sandbox;
pub mod startup;
pub mod sys;
pub mod table;
pub mod undo;
pub mod validate;
pub mod verb;
pub mod verbs;
