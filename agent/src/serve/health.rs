//! `GET /health`: what works, probed for two seconds at most and remembered for five.

use super::App;
use crate::args::Nothing;
use crate::ask::{Ask, Door, Mode, new_id};
use crate::event::Event;
use crate::request::Request;
use axum::Json;
use axum::extract::State;
use serde_json::{Value, json};
use std::sync::Arc;
use std::time::{Duration, Instant};
use tokio::sync::Mutex;

const PROBE_LIMIT: Duration = Duration::from_secs(2);
const REMEMBERED: Duration = Duration::from_secs(5);

/// The last probe.
pub struct Health {
    agent: String,
    /// Why there is no model although one is configured.
    llm: Option<String>,
    last: Mutex<Option<(Instant, Value)>>,
}

impl Health {
    /// Of an agent whose configuration perhaps has a fault.
    #[must_use]
    pub fn new(fault: Option<String>, llm: Option<String>) -> Self {
        Self { agent: fault.unwrap_or_else(|| "ok".to_owned()), llm, last: Mutex::default() }
    }
}

/// Answers 200: that there is an answer says that the agent works.
pub async fn health(State(app): State<Arc<App>>) -> Json<Value> {
    // Held over the probe: many who ask at once cause one.
    let mut last = app.health.last.lock().await;
    if let Some((at, state)) = &*last
        && at.elapsed() < REMEMBERED
    {
        return Json(state.clone());
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
    let state = json!({ "agent": agent, "llm": llm, "rag": "off", "helper": helper });
    *last = Some((Instant::now(), state.clone()));
    Json(state)
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
