//! `POST /requests`: one typed request, for people who have no grant of their own. The helper's client
//! is the agent; whom it asks for goes along as a claim.

use super::app::{App, Caller};
use super::connections::{named_session, named_trace};
use super::failure::{Failure, bad_body, fault};
use super::permit::permit;
use super::tasks::find as find_task;
use crate::client::pending_request::{PendingRequest, new_id, reason};
use crate::protocol::event::{AgentError, Event, Refused};
use crate::protocol::mode::{Effect, Mode};
use crate::protocol::owner::{Owner, Right};
use crate::protocol::request::Request;
use crate::protocol::trace::{self, Trace};
use crate::store::{Group, NotOne, Part, RecordedChange};
use axum::Json;
use axum::extract::rejection::JsonRejection;
use axum::extract::{ConnectInfo, Path, Query, State};
use axum::http::{HeaderMap, StatusCode};
use axum::response::sse::{self, KeepAlive, Sse};
use axum::response::{IntoResponse, Response};
use serde::Deserialize;
use serde_json::{Value, json};
use std::convert::Infallible;
use std::sync::Arc;
use tokio::sync::mpsc;
use tokio_stream::StreamExt;
use tokio_stream::wrappers::UnboundedReceiverStream;
use utoipa::{IntoParams, ToSchema};

/// One typed request.
#[derive(Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct Body {
    /// Such as `unit.restart`.
    verb: String,
    /// Under the names of the wire.
    #[serde(default = "nothing")]
    #[schema(value_type = Object)]
    args: Value,
    #[serde(default)]
    mode: Mode,
    #[serde(default)]
    reason: String,
    request_id: Option<String>,
    #[serde(default)]
    wait_ms: u32,
}

fn nothing() -> Value {
    json!({})
}

/// Asks the helper; its events are the answer.
#[utoipa::path(post, path = "/requests", request_body = Body, responses(
    (status = 200, description = "the helper's events", content_type = "text/event-stream", body = String),
    (status = "4XX", body = Failure),
    (status = 503, body = Failure),
))]
pub async fn ask(
    State(app): State<Arc<App>>,
    ConnectInfo(peer): Caller,
    headers: HeaderMap,
    body: Result<Json<Body>, JsonRejection>,
) -> Response {
    let Json(body) = match body {
        Ok(body) => body,
        Err(rejection) => return bad_body(&rejection),
    };
    let request = match Request::from_json(&body.verb, body.args) {
        Ok(request) => request,
        Err(why) => return fault(StatusCode::BAD_REQUEST, "invalid_argument", &why),
    };
    let permit = match permit(&app, peer.0) {
        Ok(permit) => permit,
        Err(refused) => return *refused,
    };
    let ask = PendingRequest {
        request,
        id: body.request_id.unwrap_or_else(new_id),
        mode: body.mode,
        reason: reason(&body.reason),
        task: String::new(),
        claimed_uid: peer.0.claimed_uid(),
        session: named_session(&headers),
        wait_ms: body.wait_ms,
    };
    let (events, stream) = mpsc::unbounded_channel();
    let trace = named_trace(&headers).or_else(|| Trace::of_request(&ask.id)).unwrap_or_default();
    tokio::spawn(trace::within(trace, async move {
        if let Some(refused) = foreign(&app, peer.0, &ask) {
            let _ = events.send(Event::Refused(refused));
            return;
        }
        let mut on = |event: &Event| {
            let _ = events.send(event.clone());
        };
        tokio::select! {
            outcome = app.transport.ask(&ask, &mut on) => {
                match &ask.request {
                    Request::RequestResult(of) => app.store.requests.recalled(&of.of, &outcome.end),
                    _ if ask.effect() == Effect::Possible => {
                        app.store.requests.settle(&ask.id, ask.request.undoes(), &outcome.end, None);
                    }
                    _ => {}
                }
                let (verb, ended) = (outcome.verb, outcome.end.name());
                tracing::info!(event = "request", id = ask.id, verb, ended, "request ended");
                let _ = events.send(outcome.end);
            }
            () = events.closed() => tracing::debug!(id = ask.id, "the client left"),
        }
        drop(permit);
    }));
    let stream = UnboundedReceiverStream::new(stream).map(|event| {
        Ok::<_, Infallible>(sse::Event::default().event(event.name()).data(event.data().to_string()))
    });
    Sse::new(stream).keep_alive(KeepAlive::default()).into_response()
}

#[utoipa::path(get, path = "/requests/{id}", params(("id" = String, Path, description = "the beginning of it, or `last`")), responses(
    (status = 200, body = RecordedChange),
    (status = "4XX", body = Failure),
))]
/// The whole id of a request of one's own.
pub async fn find(
    State(app): State<Arc<App>>,
    ConnectInfo(peer): Caller,
    Path(id): Path<String>,
) -> Response {
    match app.store.requests.find(peer.0, &id) {
        Ok(id) => {
            let changes = match app.store.requests.changes(peer.0, Group::Request(&id)) {
                Ok(changes) => changes,
                Err(why) => return not_one(NotOne::Unreadable(why), &id),
            };
            match changes.into_iter().find(|change| change.request_id == id) {
                Some(change) => Json(change).into_response(),
                // It only looked, or took something back.
                None => Json(json!({ "request_id": id })).into_response(),
            }
        }
        Err(why) => not_one(why, &id),
    }
}

fn not_one(why: NotOne, id: &str) -> Response {
    let status = match why {
        NotOne::Unknown => StatusCode::NOT_FOUND,
        NotOne::Several | NotOne::Open(_) | NotOne::NoneLeft(_) => StatusCode::CONFLICT,
        NotOne::Unreadable(_) => StatusCode::SERVICE_UNAVAILABLE,
    };
    let AgentError { code, message, .. } = why.fault(id);
    fault(status, &code, &message)
}

/// Which changes are listed.
#[derive(Deserialize, IntoParams)]
#[into_params(parameter_in = Query)]
#[serde(deny_unknown_fields)]
pub struct Changes {
    /// A task's id or the beginning of it, or `last`: what belongs to the newest change.
    of: String,
}

#[utoipa::path(get, path = "/requests", params(Changes), responses(
    (status = 200, body = Vec<RecordedChange>),
    (status = "4XX", body = Failure),
))]
/// The changes that belong together, the oldest first, and what they left behind.
pub async fn list(
    State(app): State<Arc<App>>,
    ConnectInfo(peer): Caller,
    Query(Changes { of }): Query<Changes>,
) -> Response {
    let requests = &app.store.requests;
    let changes = |group: Group<'_>| match requests.changes(peer.0, group) {
        Ok(changes) => Json(changes).into_response(),
        Err(why) => not_one(NotOne::Unreadable(why), &of),
    };
    if of == "last" {
        return match requests.find(peer.0, "last") {
            Ok(_) => changes(Group::Newest),
            Err(why) => not_one(why, "last"),
        };
    }
    match find_task(&app, peer.0, Right::Control, &of) {
        Ok(entry) => changes(Group::Task(&entry.id())),
        Err(answer) => *answer,
    }
}

/// To the helper every request is the agent's: whose it is, is kept here. Another person's is unknown.
fn foreign(app: &App, owner: Owner, ask: &PendingRequest) -> Option<Refused> {
    let refuse = |code: &str, message: &str| {
        Some(Refused { code: code.to_owned(), message: message.to_owned(), ..Refused::default() })
    };
    if let Request::RequestResult(of) | Request::RequestUndo(of) | Request::RequestKeep(of) = &ask.request {
        match app.store.requests.owns(owner, &of.of) {
            Ok(true) => {}
            Ok(false) => {
                let AgentError { code, message, .. } = NotOne::Unknown.fault(&of.of);
                return refuse(&code, &message);
            }
            Err(why) => return refuse("internal", &why),
        }
    }
    // Only what takes its id at the helper is claimed, before it is sent: reads must not push out others' ids.
    let (effect, is_undo) = (ask.effect(), ask.request.undoes().is_some());
    if effect == Effect::Possible {
        let target = ask.request.target();
        let part = Part { task: "", step: 0, verb: ask.request.verb(), target: &target, left_out: &[] };
        match app.store.requests.claim(owner, &ask.id, is_undo, effect, Some(&part)) {
            Ok(true) => {}
            Ok(false) => return refuse("request_id_conflict", "this request id is taken"),
            Err(why) => return refuse("internal", &why),
        }
    }
    None
}
