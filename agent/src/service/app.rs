//! State that the HTTP handlers share.

use super::health::Health;
use super::limits::Limit;
use super::metrics::Metrics;
use super::scheduler::Scheduler;
use crate::audit::AuditLog;
use crate::client::notices::Notices;
use crate::client::transport::Transport;
use crate::config::tables::Limits;
use crate::knowledge::KnowledgeBase;
use crate::llm::endpoints::Endpoint;
use crate::protocol::owner::Owner;
use crate::redaction::Secrets;
use crate::store::{Queue, Store};
use axum::extract::connect_info::ConnectInfo;
use std::sync::Arc;

/// A task's text and what goes with it.
pub const TASK_BODY_LIMIT: usize = 1 << 20;
/// A `file.patch` of 8 MiB in base64, and some.
pub const REQUEST_BODY_LIMIT: usize = 12 << 20;

/// State shared by the handlers.
pub struct App {
    pub transport: Arc<Transport>,
    pub store: Arc<Store>,
    pub queue: Arc<Queue>,
    pub scheduler: Arc<Scheduler>,
    pub knowledge: KnowledgeBase,
    pub health: Health,
    pub metrics: Arc<Metrics>,
    /// The log of what the agent does itself.
    pub audit: Arc<AuditLog>,
    pub requests: Arc<Limit>,
    /// Makes the steps of tasks; without one the offline planner does.
    pub model: Option<Arc<Model>>,
    /// Where messages of the webhook go.
    pub notices: Notices,
    /// The secrets that no answer shows.
    pub secrets: Arc<Secrets>,
}

/// A model's endpoint, and what a task with it may cost.
pub struct Model {
    pub endpoint: Endpoint,
    pub limits: Limits,
}

/// Owner of a connection.
#[derive(Clone, Copy, Debug)]
pub struct Peer(pub Owner);

pub type Caller = ConnectInfo<Peer>;
