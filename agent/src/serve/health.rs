//! `GET /health`: what works, probed for two seconds at most and remembered for five.

use super::App;
use crate::args::Nothing;
use crate::ask::{Ask, Door, Mode, new_id};
use crate::event::Event;
use crate::request::Request;
use axum::Json;
use axum::extract::State;
use axum::http::StatusCode;
use serde::Serialize;
use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;
use tokio::sync::Mutex;
use tokio::time::Instant;
use utoipa::ToSchema;

const PROBE_LIMIT: Duration = Duration::from_secs(2);
const REMEMBERED: Duration = Duration::from_secs(5);

/// `ok`, `off`, or what is wrong.
#[derive(Clone, Serialize, ToSchema)]
pub struct Parts {
    /// This service.
    agent: String,
    /// The model's endpoint.
    llm: String,
    /// The helper.
    helper: String,
    /// How often a reply of the model had to be repaired since the agent started, by kind.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    repaired: BTreeMap<String, u64>,
}

/// The last probe.
pub struct Health {
    agent: String,
    /// Why there is no model although one is configured.
    llm: Option<String>,
    last: Mutex<Option<(Instant, Parts)>>,
}

impl Health {
    /// Of an agent whose configuration perhaps has a fault.
    #[must_use]
    pub fn new(fault: Option<String>, llm: Option<String>) -> Self {
        Self { agent: fault.unwrap_or_else(|| "ok".to_owned()), llm, last: Mutex::default() }
    }
}

/// What works.
#[utoipa::path(get, path = "/health", responses(
    (status = 200, description = "the agent is ok", body = Parts),
    (status = 503, description = "it goes by its defaults, since something is wrong with it", body = Parts),
))]
pub async fn health(State(app): State<Arc<App>>) -> (StatusCode, Json<Parts>) {
    // Held over the probe: many who ask at once cause one.
    let mut last = app.health.last.lock().await;
    if let Some((at, state)) = &*last
        && at.elapsed() < REMEMBERED
    {
        return answer(state.clone());
    }
    let llm = async {
        match (&app.model, &app.health.llm) {
            (Some(model), _) => model.endpoint.probe(PROBE_LIMIT).await,
            (None, Some(why)) => why.clone(),
            (None, None) => "off".to_owned(),
        }
    };
    let (helper, llm) = tokio::join!(probe(&app.door), llm);
    let agent = app.store.fault().unwrap_or_else(|| app.health.agent.clone());
    let repaired = app.model.as_ref().map(|model| model.endpoint.repairs.counts()).unwrap_or_default();
    let state = Parts { agent, llm, helper, repaired };
    *last = Some((Instant::now(), state.clone()));
    answer(state)
}

fn answer(state: Parts) -> (StatusCode, Json<Parts>) {
    let status = if state.agent == "ok" { StatusCode::OK } else { StatusCode::SERVICE_UNAVAILABLE };
    (status, Json(state))
}

/// `ok`, or what is wrong with the helper. Asks what costs least: a decision, nothing touched.
pub async fn probe(door: &Door) -> String {
    let ask = Ask {
        request: Request::PolicyDescribe(Nothing {}),
        id: new_id(),
        mode: Mode::Check,
        reason: "health".to_owned(),
        task: String::new(),
        claimed_uid: 0,
        wait_ms: 0,
    };
    let asked = tokio::time::timeout(PROBE_LIMIT, door.ask(&ask, &mut |_| {})).await;
    match asked.map(|outcome| outcome.end) {
        Err(_) => "no answer within 2 s".to_owned(),
        Ok(Event::Refused(refused)) => format!("{}: {}", refused.code, refused.message),
        Ok(Event::Error(fault)) => format!("{}: {}", fault.code, fault.message),
        Ok(_) => "ok".to_owned(),
    }
}
