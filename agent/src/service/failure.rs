//! Errors as JSON.

use super::app::TASK_BODY_LIMIT;
use crate::protocol::event::AgentError;
use axum::body::to_bytes;
use axum::http::StatusCode;
use axum::http::header::CONTENT_TYPE;
use axum::response::{IntoResponse, Response};
use serde::Serialize;
use utoipa::ToSchema;

/// An error.
#[derive(Serialize, ToSchema)]
pub struct Failure {
    pub error: AgentError,
}

/// Turns axum's plain-text errors into ours.
pub async fn as_json(response: Response) -> Response {
    let status = response.status();
    let is_ours = response.headers().get(CONTENT_TYPE).is_some_and(|kind| kind == "application/json");
    if is_ours || !(status.is_client_error() || status.is_server_error()) {
        return response;
    }
    let code = match status {
        StatusCode::NOT_FOUND => "not_found",
        StatusCode::METHOD_NOT_ALLOWED => "unsupported",
        StatusCode::PAYLOAD_TOO_LARGE => "too_large",
        status if status.is_client_error() => "invalid_argument",
        _ => "internal",
    };
    let body = to_bytes(response.into_body(), TASK_BODY_LIMIT).await.unwrap_or_default();
    fault(status, code, &String::from_utf8_lossy(&body))
}

/// An error as JSON.
pub fn fault(status: StatusCode, code: &str, message: &str) -> Response {
    (status, axum::Json(Failure { error: AgentError::new(code, message) })).into_response()
}

/// 503 for what cannot be read from the database.
pub fn unreadable(why: &str) -> Response {
    fault(StatusCode::SERVICE_UNAVAILABLE, "internal", why)
}

/// A body that axum could not read, as an error of ours.
pub fn bad_body(rejection: &axum::extract::rejection::JsonRejection) -> Response {
    match rejection.status() {
        StatusCode::PAYLOAD_TOO_LARGE => {
            fault(StatusCode::PAYLOAD_TOO_LARGE, "too_large", "the body is larger than this route takes")
        }
        StatusCode::UNSUPPORTED_MEDIA_TYPE => {
            let message = "the body must be JSON, and Content-Type application/json say so";
            fault(StatusCode::UNSUPPORTED_MEDIA_TYPE, "invalid_argument", message)
        }
        _ => fault(StatusCode::BAD_REQUEST, "invalid_argument", &rejection.body_text()),
    }
}
