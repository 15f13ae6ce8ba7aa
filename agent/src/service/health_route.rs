//! `GET /health`: what works, probed for two seconds at most and remembered for five.

use super::app::App;
use super::health::{PROBE_LIMIT, Parts, REMEMBERED, probe};
use axum::Json;
use axum::extract::State;
use axum::http::StatusCode;
use std::sync::Arc;
use tokio::time::Instant;

/// State of agent, helper and model.
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
    let rag = async {
        let late = |_| "no answer within 2 s".to_owned();
        tokio::time::timeout(PROBE_LIMIT, app.knowledge.probe()).await.unwrap_or_else(late)
    };
    let (helper, llm, rag) = tokio::join!(probe(&app.transport), llm, rag);
    let agent = app.store.fault().or_else(|| app.audit.fault()).unwrap_or_else(|| app.health.agent.clone());
    let repaired = app.model.as_ref().map(|model| model.endpoint.repairs.counts()).unwrap_or_default();
    let state = Parts { agent, llm, rag, helper, repaired };
    *last = Some((Instant::now(), state.clone()));
    answer(state)
}

fn answer(state: Parts) -> (StatusCode, Json<Parts>) {
    let status = if state.agent == "ok" { StatusCode::OK } else { StatusCode::SERVICE_UNAVAILABLE };
    (status, Json(state))
}
