//! `GET /metrics`: counts in the text format of `OpenMetrics`, which Prometheus reads.

use super::app::App;
use super::failure::fault;
use axum::extract::State;
use axum::http::StatusCode;
use axum::http::header::CONTENT_TYPE;
use axum::response::{IntoResponse, Response};
use std::sync::Arc;

const FORMAT: &str = "application/openmetrics-text; version=1.0.0; charset=utf-8";

/// Counts of tasks, requests and approvals.
#[utoipa::path(get, path = "/metrics", responses(
    (status = 200, description = "metrics in the text format of OpenMetrics", body = String, content_type = "application/openmetrics-text"),
))]
pub async fn metrics(State(app): State<Arc<App>>) -> Response {
    let text = app.store.by_status().and_then(|all| app.metrics.text(all).map_err(|error| error.to_string()));
    match text {
        Ok(text) => ([(CONTENT_TYPE, FORMAT)], text).into_response(),
        Err(why) => fault(StatusCode::INTERNAL_SERVER_ERROR, "internal", &why),
    }
}
