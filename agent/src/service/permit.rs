//! A person's place among the requests under way.

use super::app::App;
use super::failure::fault;
use super::limits::Permit;
use crate::protocol::owner::Owner;
use axum::http::StatusCode;
use axum::response::Response;

/// Takes one of a person's places, until it is dropped; `busy` where they hold theirs, or all are held.
pub fn permit(app: &App, owner: Owner) -> Result<Permit, Box<Response>> {
    app.requests.take(owner, 1).ok_or_else(|| {
        let each = app.requests.each();
        let message = format!("too many requests are under way; one person may have {each}: try again later");
        Box::new(fault(StatusCode::SERVICE_UNAVAILABLE, "busy", &message))
    })
}
