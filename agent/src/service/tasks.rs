//! The routes about tasks that were given. A task belongs to whom it came from: to all others it does not exist.

use super::app::{App, Caller, Peer};
use super::connections::named_session;
use super::failure::{Failure, bad_body, fault, unreadable};
use super::plans::not_understood;
use super::worker::tell as tell_webhook;
use crate::offline_planner;
use crate::protocol::event::AgentError;
use crate::protocol::owner::{Owner, Right};
use crate::protocol::question::{Choice, UserAnswer};
use crate::protocol::task::Task;
use crate::protocol::tool::Tool;
use crate::store::{Entry, Find};
use axum::Json;
use axum::extract::rejection::JsonRejection;
use axum::extract::{ConnectInfo, Path, Query, State};
use axum::http::{HeaderMap, StatusCode};
use axum::response::sse::{self, KeepAlive, Sse};
use axum::response::{IntoResponse, Response};
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};
use std::convert::Infallible;
use std::num::NonZeroUsize;
use std::sync::Arc;
use tokio::sync::{broadcast, mpsc};
use tokio_stream::wrappers::ReceiverStream;
use utoipa::{IntoParams, ToSchema};

/// An order to be shown.
#[derive(Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct Plan {
    /// In the person's words.
    task: String,
}

#[utoipa::path(post, path = "/plan", request_body = Plan, responses(
    (status = 200, description = "the steps of the offline planner", body = Object),
    (status = "4XX", body = Failure),
))]
/// Shows the steps that a task would come to.
pub async fn plan(body: Result<Json<Plan>, JsonRejection>) -> Response {
    match body.map(|Json(body)| offline_planner::plan(&body.task)) {
        Err(rejection) => bad_body(&rejection),
        Ok(Err(why)) => not_understood(&why),
        Ok(Ok(steps)) => Json(json!({ "steps": described(&steps) })).into_response(),
    }
}

/// The steps with their words.
pub fn described(steps: &[Tool]) -> Vec<Value> {
    let one = |(index, tool): (usize, &Tool)| {
        let mut step = serde_json::to_value(tool).unwrap_or_default();
        step["step"] = (index + 1).into();
        step["what"] = tool.describe().into();
        step
    };
    steps.iter().enumerate().map(one).collect()
}

/// A part of the list.
#[derive(Deserialize, IntoParams)]
#[into_params(parameter_in = Query)]
#[serde(deny_unknown_fields)]
pub struct Page {
    /// At most so many.
    #[param(value_type = Option<usize>, minimum = 1)]
    limit: Option<NonZeroUsize>,
    /// Those older than the task of this id: the last one of the page before.
    before: Option<String>,
}

/// One's tasks, the newest first; root's list has everybody's.
#[utoipa::path(get, path = "/tasks", params(Page), responses(
    (status = 200, body = Vec<Task>),
    (status = "4XX", body = Failure),
))]
pub async fn list(
    State(app): State<Arc<App>>,
    ConnectInfo(Peer(owner)): Caller,
    Query(page): Query<Page>,
) -> Response {
    let limit = page.limit.map_or(usize::MAX, NonZeroUsize::get);
    match app.store.list(owner, page.before.as_deref(), limit) {
        Ok(Some(tasks)) => Json(tasks).into_response(),
        Ok(None) => fault(StatusCode::NOT_FOUND, "not_found", "no task of yours has the id in before"),
        Err(why) => unreadable(&why),
    }
}

/// One task.
#[utoipa::path(get, path = "/tasks/{id}", params(("id" = String, Path, description = "or the beginning of it")), responses(
    (status = 200, body = Task),
    (status = "4XX", body = Failure),
))]
pub async fn show(
    State(app): State<Arc<App>>,
    ConnectInfo(Peer(owner)): Caller,
    Path(id): Path<String>,
) -> Response {
    match find(&app, owner, Right::See, &id) {
        Ok(entry) => Json(entry.task()).into_response(),
        Err(answer) => *answer,
    }
}

#[utoipa::path(post, path = "/tasks/{id}/cancel", params(("id" = String, Path, description = "or the beginning of it")), responses(
    (status = 200, body = Task),
    (status = "4XX", body = Failure),
))]
/// Ends a task: one that runs stops before its next step. A started effect is not undone.
pub async fn cancel(
    State(app): State<Arc<App>>,
    ConnectInfo(Peer(owner)): Caller,
    Path(id): Path<String>,
) -> Response {
    match find(&app, owner, Right::Control, &id) {
        Ok(entry) => {
            entry.cancel.send_replace(true);
            if entry.cancel_queued() {
                app.queue.remove(&entry);
                entry.close();
                tell_webhook(&app.notices, &entry);
            }
            Json(entry.task()).into_response()
        }
        Err(answer) => *answer,
    }
}

/// How a task is resumed.
#[derive(Default, Deserialize, ToSchema)]
#[serde(deny_unknown_fields, default)]
pub struct Resume {
    /// The person is there and answers questions.
    interactive: bool,
}

/// A task that goes on, and the event after which it does.
#[derive(Serialize, ToSchema)]
pub struct Resumed {
    id: String,
    after: u64,
}

/// Goes on with a task that the end of an earlier agent interrupted.
#[utoipa::path(post, path = "/tasks/{id}/resume", params(("id" = String, Path, description = "or the beginning of it")),
    request_body = Option<Resume>, responses(
    (status = 202, body = Resumed),
    (status = "4XX", body = Failure),
))]
pub async fn resume(
    State(app): State<Arc<App>>,
    ConnectInfo(Peer(owner)): Caller,
    Path(id): Path<String>,
    headers: HeaderMap,
    body: Result<Option<Json<Resume>>, JsonRejection>,
) -> Response {
    let Resume { interactive } = match body {
        Ok(body) => body.map(|Json(body)| body).unwrap_or_default(),
        Err(rejection) => return bad_body(&rejection),
    };
    let entry = match find(&app, owner, Right::Control, &id) {
        Ok(entry) => entry,
        Err(answer) => return *answer,
    };
    // The helper must be reachable: it has the outcome of the last call.
    if let Err(AgentError { code, message, .. }) = app.transport.is_open().await {
        return fault(StatusCode::SERVICE_UNAVAILABLE, &code, &message);
    }
    let after = *entry.listen().borrow();
    let Some(entry) = app.store.resume(&entry, interactive) else {
        let why = "the task was not interrupted: there is nothing to resume";
        return fault(StatusCode::CONFLICT, "precondition_failed", why);
    };
    entry.quote(owner, named_session(&headers));
    // It waited its turn before; that others wait now is no reason to lose it.
    app.queue.push_back(Arc::clone(&entry));
    (StatusCode::ACCEPTED, Json(Resumed { id: entry.id(), after })).into_response()
}

/// An answer.
#[derive(Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct AnswerBody {
    /// The question's number.
    question: u32,
    /// One of its choices.
    answer: Choice,
    /// With `text` alone.
    #[serde(default)]
    text: Option<String>,
    /// With `files` alone: the paths of the question's files that may be changed.
    #[serde(default)]
    files: Option<Vec<String>>,
}

#[utoipa::path(post, path = "/tasks/{id}/answer", params(("id" = String, Path, description = "or the beginning of it")),
    request_body = AnswerBody, responses((status = 200, body = Task), (status = "4XX", body = Failure)))]
/// Answers what a task asks its person now.
pub async fn answer(
    State(app): State<Arc<App>>,
    ConnectInfo(Peer(owner)): Caller,
    Path(id): Path<String>,
    headers: HeaderMap,
    body: Result<Json<AnswerBody>, JsonRejection>,
) -> Response {
    let AnswerBody { question, answer, text, files } = match body {
        Ok(Json(body)) => body,
        Err(rejection) => return bad_body(&rejection),
    };
    let entry = match find(&app, owner, Right::Control, &id) {
        Ok(entry) => entry,
        Err(answer) => return *answer,
    };
    entry.quote(owner, named_session(&headers));
    let asked = entry.task().question.filter(|asked| asked.number == question);
    let is_offered = asked.as_ref().is_some_and(|asked| asked.choices.contains(&answer));
    let of_it = asked.map(|asked| asked.files).unwrap_or_default();
    let answer = match (answer, text, files) {
        (Choice::Yes, None, None) => UserAnswer::Yes,
        (Choice::Always, None, None) => UserAnswer::Always,
        (Choice::No, None, None) => UserAnswer::No,
        (Choice::Text, Some(text), None) => UserAnswer::Text(text),
        (Choice::Files, None, Some(files)) => {
            let has = |path: &String| of_it.iter().any(|file| file.path == *path);
            if is_offered && (files.is_empty() || !files.iter().all(has)) {
                let why = "files are some of the question's files, by their paths";
                return fault(StatusCode::BAD_REQUEST, "invalid_argument", why);
            }
            UserAnswer::Files(files)
        }
        _ => {
            return fault(
                StatusCode::BAD_REQUEST,
                "invalid_argument",
                "text goes with the answer text alone, and files with the answer files",
            );
        }
    };
    if !is_offered || !entry.answer(question, answer) {
        return fault(
            StatusCode::CONFLICT,
            "not_found",
            "the task does not ask this, or takes no such answer",
        );
    }
    Json(entry.task()).into_response()
}

/// Where to begin.
#[derive(Deserialize, IntoParams)]
#[into_params(parameter_in = Query)]
#[serde(deny_unknown_fields)]
pub struct After {
    /// The number of the last event that is known; so is the header `Last-Event-ID`.
    #[serde(default)]
    after: u64,
}

#[utoipa::path(get, path = "/tasks/{id}/events",
    params(("id" = String, Path, description = "or the beginning of it"), After),
    responses(
        (status = 200, description = "server-sent events, numbered, to the task's end",
         content_type = "text/event-stream", body = String),
        (status = "4XX", body = Failure),
    ))]
/// The task's events from the first or from `after` on, to its end.
pub async fn events(
    State(app): State<Arc<App>>,
    ConnectInfo(Peer(owner)): Caller,
    Path(id): Path<String>,
    Query(After { after }): Query<After>,
    headers: HeaderMap,
) -> Response {
    // Sent by a client that reconnects (server-sent events).
    let last = headers.get("last-event-id").and_then(|value| value.to_str().ok()?.parse().ok());
    let after = after.max(last.unwrap_or(0));
    let entry = match find(&app, owner, Right::See, &id) {
        Ok(entry) => entry,
        Err(answer) => return *answer,
    };
    entry.quote(owner, named_session(&headers));
    let (sender, stream) = mpsc::channel(64);
    tokio::spawn(tell(entry, after, sender));
    Sse::new(ReceiverStream::new(stream)).keep_alive(KeepAlive::default()).into_response()
}

/// The next words; of those that came too fast some are missed.
async fn said(live: &mut Option<broadcast::Receiver<String>>) -> String {
    loop {
        match live {
            Some(listener) => match listener.recv().await {
                Ok(words) => return words,
                Err(broadcast::error::RecvError::Lagged(_)) => {}
                Err(broadcast::error::RecvError::Closed) => *live = None,
            },
            None => std::future::pending().await,
        }
    }
}

/// Words that were said already and not told yet.
fn said_by_now(live: &mut Option<broadcast::Receiver<String>>) -> Option<String> {
    let listener = live.as_mut()?;
    loop {
        match listener.try_recv() {
            Ok(words) => return Some(words),
            Err(broadcast::error::TryRecvError::Lagged(_)) => {}
            Err(broadcast::error::TryRecvError::Empty | broadcast::error::TryRecvError::Closed) => {
                return None;
            }
        }
    }
}

async fn tell(entry: Arc<Entry>, mut seen: u64, to: mpsc::Sender<Result<sse::Event, Infallible>>) {
    let mut news = entry.listen();
    let mut live = entry.live.listen();
    loop {
        // Asked before the events are taken: none can come between the last of them and the end.
        let is_final = entry.task().status.is_final();
        while let Some(words) = said_by_now(&mut live) {
            if to.send(Ok(sse::Event::default().event("says").data(words))).await.is_err() {
                return;
            }
        }
        // A stream that ends too soon is asked for again, from the last event that came.
        let Ok(notes) = entry.notes_after(seen) else { return };
        for note in notes {
            seen = note.number;
            let event = sse::Event::default().id(seen.to_string()).event(note.name).data(note.data);
            if to.send(Ok(event)).await.is_err() {
                return;
            }
        }
        if is_final {
            return;
        }
        tokio::select! {
            // Without a number: later listeners do not hear it.
            words = said(&mut live) => {
                if to.send(Ok(sse::Event::default().event("says").data(words))).await.is_err() {
                    return;
                }
            }
            changed = news.changed() => if changed.is_err() { return },
            () = to.closed() => return,
        }
    }
}

/// A task that somebody has this right over; else the answer that says why not.
pub(super) fn find(app: &App, who: Owner, right: Right, id: &str) -> Result<Arc<Entry>, Box<Response>> {
    match app.store.find(who, right, id) {
        Find::One(entry) => Ok(entry),
        Find::None => {
            Err(Box::new(fault(StatusCode::NOT_FOUND, "not_found", "no task of yours has this id")))
        }
        Find::Unreadable(why) => Err(Box::new(unreadable(&why))),
        Find::Several => {
            Err(Box::new(fault(StatusCode::CONFLICT, "invalid_argument", "several of your tasks begin so")))
        }
    }
}
