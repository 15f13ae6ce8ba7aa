//! The routes, from one list: what is served, and what the `OpenAPI` document says.

use super::app::{App, REQUEST_BODY_LIMIT, TASK_BODY_LIMIT};
use super::failure::fault;
use super::{execute, health_route, insights, knowledge, metrics_route, replies, requests, schedules, tasks};
use axum::extract::DefaultBodyLimit;
use axum::http::StatusCode;
use axum::routing::{delete, get, post};
use axum::{Json, Router};
use std::sync::Arc;
use utoipa::OpenApi;

macro_rules! routes {
    ($($method:ident $path:literal $($handler:ident)::+ $(, $limit:expr)?;)+) => {
        /// The routes as methods and paths, in the document's notation.
        pub const ROUTES: &[(&str, &str)] = &[$((stringify!($method), $path),)+];

        /// Builds the router of all routes.
        pub fn router() -> Router<Arc<App>> {
            Router::new()
                $(.route($path, $method($($handler)::+)$(.layer(DefaultBodyLimit::max($limit)))?))+
                .fallback(|| async { fault(StatusCode::NOT_FOUND, "not_found", "there is no such route") })
                .method_not_allowed_fallback(|| async {
                    fault(StatusCode::METHOD_NOT_ALLOWED, "unsupported", "this route has other methods")
                })
                .layer(DefaultBodyLimit::max(TASK_BODY_LIMIT))
        }

        #[derive(OpenApi)]
        #[openapi(
            info(
                title = "Postern's agent",
                description = "Tasks for the agent of this host, over /run/postern/agent.sock as the uid that the \
                               kernel reports, or over TCP with the token of [http] in agent.toml.",
            ),
            paths($($($handler)::+),+),
        )]
        struct Document;
    };
}

routes! {
    post "/execute" execute::execute;
    get "/tasks" tasks::list;
    get "/tasks/{id}" tasks::show;
    get "/tasks/{id}/events" tasks::events;
    get "/tasks/{id}/replies" replies::replies;
    post "/tasks/{id}/cancel" tasks::cancel;
    post "/tasks/{id}/answer" tasks::answer;
    post "/tasks/{id}/resume" tasks::resume;
    post "/schedules" schedules::add;
    get "/schedules" schedules::list;
    get "/schedules/{id}" schedules::show;
    delete "/schedules/{id}" schedules::remove;
    post "/schedules/{id}/pause" schedules::pause;
    post "/schedules/{id}/resume" schedules::resume;
    post "/schedules/{id}/run" schedules::run;
    post "/knowledge" knowledge::add, REQUEST_BODY_LIMIT;
    get "/knowledge" knowledge::list;
    delete "/knowledge" knowledge::remove;
    get "/knowledge/search" knowledge::search;
    get "/knowledge/status" knowledge::status;
    post "/plan" tasks::plan;
    post "/requests" requests::ask, REQUEST_BODY_LIMIT;
    get "/requests" requests::list;
    get "/requests/{id}" requests::find;
    get "/insights" insights::insights;
    get "/health" health_route::health;
    get "/metrics" metrics_route::metrics;
    get "/openapi.json" document;
}

/// This interface.
#[utoipa::path(get, path = "/openapi.json", responses((status = 200, description = "OpenAPI", body = Object)))]
async fn document() -> Json<utoipa::openapi::OpenApi> {
    Json(Document::openapi())
}
