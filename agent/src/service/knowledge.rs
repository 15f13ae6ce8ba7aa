//! The routes about the knowledge base. A document belongs to the person who sent it: to all others it does not exist.

use super::app::{App, Caller, Peer};
use super::failure::{Failure, bad_body, fault};
use super::permit::permit;
use crate::knowledge::{Added, Fault, Found, Hit, Indexing, Listed, Status};
use axum::Json;
use axum::extract::rejection::JsonRejection;
use axum::extract::{ConnectInfo, Query, State};
use axum::http::StatusCode;
use axum::response::{IntoResponse, Response};
use serde::{Deserialize, Serialize};
use std::sync::Arc;
use utoipa::{IntoParams, ToSchema};

/// A document to add.
#[derive(Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct NewDocument {
    /// Its path or URL, a label: the agent opens no file by it.
    source: String,
    /// Its text.
    text: String,
}

/// A question.
#[derive(Deserialize, IntoParams)]
#[into_params(parameter_in = Query)]
#[serde(deny_unknown_fields)]
pub struct Question {
    /// Words to look for.
    q: String,
    /// Most results, 20 or fewer; 5 if absent.
    limit: Option<usize>,
}

/// A document to remove.
#[derive(Deserialize, IntoParams)]
#[into_params(parameter_in = Query)]
#[serde(deny_unknown_fields)]
pub struct Which {
    /// Its name or number.
    document: String,
}

/// The name of the document that was removed.
#[derive(Serialize, ToSchema)]
pub struct Removed {
    removed: String,
}

/// What a search found.
#[derive(Serialize, ToSchema)]
pub struct Hits {
    results: Vec<Hit>,
    /// Why they are in the order of full-text search, where they should be re-ranked.
    #[serde(skip_serializing_if = "Option::is_none")]
    not_reranked: Option<String>,
    /// Whether the host's documents are still being indexed.
    indexing: Indexing,
}

fn answer<T: Serialize>(done: Result<T, Fault>) -> Response {
    match done {
        Ok(done) => Json(done).into_response(),
        Err(why) => {
            let status = match &why {
                Fault::Invalid(_) => StatusCode::BAD_REQUEST,
                Fault::NotFound(_) => StatusCode::NOT_FOUND,
                Fault::Full(_) => StatusCode::CONFLICT,
                Fault::Off(_) | Fault::Failed(_) => StatusCode::SERVICE_UNAVAILABLE,
            };
            fault(status, why.code(), why.message())
        }
    }
}

#[utoipa::path(post, path = "/knowledge", request_body = NewDocument, responses(
    (status = 200, body = Added),
    (status = "4XX", body = Failure),
    (status = 503, body = Failure),
))]
/// Adds a document, in place of the caller's document of that name.
pub async fn add(
    State(app): State<Arc<App>>,
    ConnectInfo(Peer(owner)): Caller,
    body: Result<Json<NewDocument>, JsonRejection>,
) -> Response {
    let Json(NewDocument { source, text }) = match body {
        Ok(body) => body,
        Err(rejection) => return bad_body(&rejection),
    };
    let _permit = match permit(&app, owner) {
        Ok(permit) => permit,
        Err(refused) => return *refused,
    };
    answer(app.knowledge.add(owner, source, text).await)
}

#[utoipa::path(get, path = "/knowledge", responses((status = 200, body = Vec<Listed>), (status = 503, body = Failure)))]
/// The caller's documents and the site's notes.
pub async fn list(State(app): State<Arc<App>>, ConnectInfo(Peer(owner)): Caller) -> Response {
    let _permit = match permit(&app, owner) {
        Ok(permit) => permit,
        Err(refused) => return *refused,
    };
    answer(app.knowledge.list(owner).await)
}

#[utoipa::path(delete, path = "/knowledge", params(Which), responses(
    (status = 200, body = Removed),
    (status = "4XX", body = Failure),
    (status = 503, body = Failure),
))]
/// Removes a document of the caller's.
pub async fn remove(
    State(app): State<Arc<App>>,
    ConnectInfo(Peer(owner)): Caller,
    Query(Which { document }): Query<Which>,
) -> Response {
    let _permit = match permit(&app, owner) {
        Ok(permit) => permit,
        Err(refused) => return *refused,
    };
    answer(app.knowledge.remove(owner, document).await.map(|removed| Removed { removed }))
}

#[utoipa::path(get, path = "/knowledge/search", params(Question), responses(
    (status = 200, body = Hits),
    (status = "4XX", body = Failure),
    (status = 503, body = Failure),
))]
/// Finds parts of documents: the caller's, the site's and the host's.
pub async fn search(
    State(app): State<Arc<App>>,
    ConnectInfo(Peer(owner)): Caller,
    Query(Question { q, limit }): Query<Question>,
) -> Response {
    let _permit = match permit(&app, owner) {
        Ok(permit) => permit,
        Err(refused) => return *refused,
    };
    let found = app.knowledge.search(owner, &q, limit).await;
    answer(found.map(|Found { hits, not_reranked }| Hits {
        results: hits,
        not_reranked,
        indexing: app.knowledge.indexing(),
    }))
}

#[utoipa::path(get, path = "/knowledge/status", responses((status = 200, body = Status), (status = 503, body = Failure)))]
/// Number and size of what the caller may find.
pub async fn status(State(app): State<Arc<App>>, ConnectInfo(Peer(owner)): Caller) -> Response {
    let _permit = match permit(&app, owner) {
        Ok(permit) => permit,
        Err(refused) => return *refused,
    };
    answer(app.knowledge.status(owner).await)
}
