//! Whether agent, model and helper work.

use crate::client::pending_request::{PendingRequest, new_id};
use crate::client::transport::Transport;
use crate::protocol::args::Nothing;
use crate::protocol::event::Event;
use crate::protocol::mode::Mode;
use crate::protocol::request::Request;
use serde::Serialize;
use std::collections::BTreeMap;
use std::time::Duration;
use tokio::sync::Mutex;
use tokio::time::Instant;
use utoipa::ToSchema;

pub const PROBE_LIMIT: Duration = Duration::from_secs(2);
pub const REMEMBERED: Duration = Duration::from_secs(5);

/// `ok`, `off`, or what is wrong.
#[derive(Clone, Serialize, ToSchema)]
pub struct Parts {
    /// This service.
    pub agent: String,
    /// The model's endpoint.
    pub llm: String,
    /// The knowledge base, by a question to it.
    pub rag: String,
    /// The helper.
    pub helper: String,
    /// How often a reply of the model had to be repaired since the agent started, by kind.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub repaired: BTreeMap<String, u64>,
}

/// The last probe.
pub struct Health {
    pub agent: String,
    /// Why there is no model although one is configured.
    pub llm: Option<String>,
    pub last: Mutex<Option<(Instant, Parts)>>,
}

impl Health {
    /// Of an agent whose configuration perhaps has a fault.
    #[must_use]
    pub fn new(fault: Option<String>, llm: Option<String>) -> Self {
        Self { agent: fault.unwrap_or_else(|| "ok".to_owned()), llm, last: Mutex::default() }
    }
}

/// `ok`, or what is wrong with the helper. Asks what costs least: a decision, nothing touched.
pub async fn probe(transport: &Transport) -> String {
    let ask = PendingRequest {
        request: Request::PolicyDescribe(Nothing {}),
        id: new_id(),
        mode: Mode::Check,
        reason: "health".to_owned(),
        task: String::new(),
        claimed_uid: 0,
        session: String::new(),
        wait_ms: 0,
    };
    let asked = tokio::time::timeout(PROBE_LIMIT, transport.ask(&ask, &mut |_| {})).await;
    match asked.map(|outcome| outcome.end) {
        Err(_) => "no answer within 2 s".to_owned(),
        Ok(Event::Refused(refused)) => format!("{}: {}", refused.code, refused.message),
        Ok(Event::Error(fault)) => format!("{}: {}", fault.code, fault.message),
        Ok(_) => "ok".to_owned(),
    }
}
