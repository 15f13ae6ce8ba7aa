//! `GET /metrics`: counts in the text format of `OpenMetrics`, which Prometheus reads. No text of a person, a model or a host is in it.

use super::app::App;
use super::failure::fault;
use crate::client::counts::Counts;
use axum::extract::State;
use axum::http::StatusCode;
use axum::http::header::CONTENT_TYPE;
use axum::response::{IntoResponse, Response};
use prometheus_client::encoding::text::encode;
use prometheus_client::metrics::family::Family;
use prometheus_client::metrics::gauge::Gauge;
use prometheus_client::registry::Registry;
use std::sync::Arc;

const FORMAT: &str = "application/openmetrics-text; version=1.0.0; charset=utf-8";

/// What is counted.
pub struct Metrics {
    registry: Registry,
    /// By status.
    tasks: Family<[(&'static str, String); 1], Gauge>,
}

impl Metrics {
    /// With the counts of the helper's client.
    #[must_use]
    pub fn new(counts: &Counts) -> Self {
        let mut registry = Registry::with_prefix("postern_agent");
        let tasks = Family::default();
        let words =
            "Tasks that the agent remembers, by status: those that have not ended, and the last that have";
        registry.register("tasks", words, Family::clone(&tasks));
        counts.register(&mut registry);
        Self { registry, tasks }
    }
}

/// Counts of tasks, requests and approvals.
#[utoipa::path(get, path = "/metrics", responses(
    (status = 200, description = "metrics in the text format of OpenMetrics", body = String, content_type = "application/openmetrics-text"),
))]
pub async fn metrics(State(app): State<Arc<App>>) -> Response {
    let by_status = match app.store.by_status() {
        Ok(by_status) => by_status,
        Err(why) => return fault(StatusCode::INTERNAL_SERVER_ERROR, "internal", &why),
    };
    for (status, number) in by_status {
        app.metrics.tasks.get_or_create(&[("status", status)]).set(number);
    }
    let mut text = String::new();
    match encode(&mut text, &app.metrics.registry) {
        Ok(()) => ([(CONTENT_TYPE, FORMAT)], text).into_response(),
        Err(error) => fault(StatusCode::INTERNAL_SERVER_ERROR, "internal", &error.to_string()),
    }
}
