//! The route of `postern insights`.

use super::app::{App, Caller, Peer};
use super::failure::{Failure, unreadable};
use super::permit::permit;
use crate::insights::{Insights, gather};
use axum::Json;
use axum::extract::{ConnectInfo, Query, State};
use axum::response::{IntoResponse, Response};
use serde::Deserialize;
use std::sync::Arc;
use utoipa::IntoParams;

/// The part of the record that counts.
#[derive(Deserialize, IntoParams)]
#[into_params(parameter_in = Query)]
#[serde(deny_unknown_fields)]
pub struct Since {
    /// Only what began then or later, in seconds since 1970.
    since_unix_s: Option<u64>,
}

#[utoipa::path(get, path = "/insights", params(Since), responses(
    (status = 200, body = Insights),
    (status = "4XX", body = Failure),
    (status = 503, body = Failure),
))]
/// Failing tasks, missing grants, slow steps, repeated approvals and repeated tasks of one's own; root's are everybody's. It only
/// reads.
pub async fn insights(
    State(app): State<Arc<App>>,
    ConnectInfo(Peer(owner)): Caller,
    Query(Since { since_unix_s }): Query<Since>,
) -> Response {
    let permit = match permit(&app, owner) {
        Ok(permit) => permit,
        Err(refused) => return *refused,
    };
    let read = tokio::task::spawn_blocking(move || {
        let found = gather(&app.store, owner, since_unix_s);
        drop(permit);
        found
    });
    match read.await {
        Ok(Ok(found)) => Json(found).into_response(),
        Ok(Err(why)) => unreadable(&why),
        Err(error) => unreadable(&format!("the record could not be read: {error}")),
    }
}
