//! The routes about tasks. A task belongs to the uid that gave it: to all others it does not exist.

use super::{App, Caller, Peer, bad_body, fault};
use crate::ask::{Mode, new_id};
use crate::planner;
use crate::task::question::{Answer, Choice};
use crate::task::{Entry, Find, Order, Task};
use crate::tool::Tool;
use axum::Json;
use axum::extract::rejection::JsonRejection;
use axum::extract::{ConnectInfo, Path, Query, State};
use axum::http::StatusCode;
use axum::response::sse::{self, KeepAlive, Sse};
use axum::response::{IntoResponse, Response};
use serde::Deserialize;
use serde_json::{Value, json};
use std::convert::Infallible;
use std::sync::Arc;
use tokio::sync::mpsc;
use tokio_stream::wrappers::ReceiverStream;

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Execute {
    task: String,
    #[serde(default)]
    session: String,
    #[serde(default = "yes")]
    wait: bool,
    #[serde(default)]
    mode: Mode,
    #[serde(default)]
    reason: String,
    #[serde(default)]
    wait_ms: u32,
    /// The person is there and answers questions.
    #[serde(default)]
    interactive: bool,
}

fn yes() -> bool {
    true
}

/// Plans the task at once, so that what is not understood is said before anything is done, and queues it.
/// A client that leaves does not end it.
pub async fn execute(
    State(app): State<Arc<App>>,
    ConnectInfo(Peer(uid)): Caller,
    body: Result<Json<Execute>, JsonRejection>,
) -> Response {
    let Json(body) = match body {
        Ok(body) => body,
        Err(rejection) => return bad_body(&rejection),
    };
    // A model makes its steps one by one; every one of them has the person's words as its reason.
    let (steps, reason) = if app.model.is_some() {
        let words = if body.reason.is_empty() { body.task.clone() } else { body.reason };
        (Vec::new(), words)
    } else {
        match planner::plan(&body.task) {
            Ok(steps) => (steps, body.reason),
            Err(why) => return not_understood(&why),
        }
    };
    if body.mode == Mode::Check {
        return fault(StatusCode::BAD_REQUEST, "invalid_argument", "a task's mode is execute or preview");
    }
    let order = Order {
        task: body.task,
        session: body.session,
        steps,
        mode: body.mode,
        reason,
        wait_ms: body.wait_ms,
        uid,
        interactive: body.interactive,
    };
    let id = new_id();
    let entry = app.store.add(id.clone(), order);
    if app.queue.try_send(Arc::clone(&entry)).is_err() {
        app.store.forget(&id);
        return fault(StatusCode::TOO_MANY_REQUESTS, "busy", "100 tasks are waiting; try again later");
    }
    if !body.wait {
        return (StatusCode::ACCEPTED, Json(json!({ "id": id }))).into_response();
    }
    let mut news = entry.listen();
    while !entry.task().status.is_final() {
        if news.changed().await.is_err() {
            break;
        }
    }
    Json(entry.task()).into_response()
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Plan {
    task: String,
}

/// Shows the steps that a task would come to.
pub async fn plan(body: Result<Json<Plan>, JsonRejection>) -> Response {
    match body.map(|Json(body)| planner::plan(&body.task)) {
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

fn not_understood(why: &planner::NotUnderstood) -> Response {
    let message = format!("{why}; nothing has been done");
    fault(StatusCode::UNPROCESSABLE_ENTITY, "invalid_argument", &message)
}

pub async fn list(State(app): State<Arc<App>>, ConnectInfo(Peer(uid)): Caller) -> Json<Vec<Task>> {
    Json(app.store.list(uid))
}

pub async fn show(
    State(app): State<Arc<App>>,
    ConnectInfo(Peer(uid)): Caller,
    Path(id): Path<String>,
) -> Response {
    match find(&app, uid, &id) {
        Ok(entry) => Json(entry.task()).into_response(),
        Err(answer) => *answer,
    }
}

/// Ends a task: one that runs stops before its next step. A started effect is not undone.
pub async fn cancel(
    State(app): State<Arc<App>>,
    ConnectInfo(Peer(uid)): Caller,
    Path(id): Path<String>,
) -> Response {
    match find(&app, uid, &id) {
        Ok(entry) => {
            entry.cancel.send_replace(true);
            if entry.cancel_queued() {
                entry.close();
            }
            Json(entry.task()).into_response()
        }
        Err(answer) => *answer,
    }
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Given {
    /// The question's number.
    question: u32,
    answer: Choice,
    #[serde(default)]
    text: Option<String>,
}

/// Answers what a task asks its person now.
pub async fn answer(
    State(app): State<Arc<App>>,
    ConnectInfo(Peer(uid)): Caller,
    Path(id): Path<String>,
    body: Result<Json<Given>, JsonRejection>,
) -> Response {
    let Given { question, answer, text } = match body {
        Ok(Json(body)) => body,
        Err(rejection) => return bad_body(&rejection),
    };
    let entry = match find(&app, uid, &id) {
        Ok(entry) => entry,
        Err(answer) => return *answer,
    };
    let is_offered = entry
        .task()
        .question
        .is_some_and(|asked| asked.number == question && asked.choices.contains(&answer));
    let answer = match (answer, text) {
        (Choice::Yes, None) => Answer::Yes,
        (Choice::Always, None) => Answer::Always,
        (Choice::No, None) => Answer::No,
        (Choice::Text, Some(text)) => Answer::Text(text),
        _ => {
            return fault(
                StatusCode::BAD_REQUEST,
                "invalid_argument",
                "text goes with the answer text alone",
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

#[derive(Deserialize)]
pub struct After {
    #[serde(default)]
    after: u64,
}

/// The task's events from the first or from `after` on, to its end.
pub async fn events(
    State(app): State<Arc<App>>,
    ConnectInfo(Peer(uid)): Caller,
    Path(id): Path<String>,
    Query(After { after }): Query<After>,
) -> Response {
    let entry = match find(&app, uid, &id) {
        Ok(entry) => entry,
        Err(answer) => return *answer,
    };
    let (sender, stream) = mpsc::channel(64);
    tokio::spawn(tell(entry, after, sender));
    Sse::new(ReceiverStream::new(stream)).keep_alive(KeepAlive::default()).into_response()
}

async fn tell(entry: Arc<Entry>, mut seen: u64, to: mpsc::Sender<Result<sse::Event, Infallible>>) {
    let mut news = entry.listen();
    loop {
        // Asked before the events are taken: none can come between the last of them and the end.
        let is_final = entry.task().status.is_final();
        for note in entry.notes_after(seen) {
            seen = note.number;
            let event =
                sse::Event::default().id(seen.to_string()).event(note.name).data(note.data.to_string());
            if to.send(Ok(event)).await.is_err() {
                return;
            }
        }
        if is_final {
            return;
        }
        tokio::select! {
            changed = news.changed() => if changed.is_err() { return },
            () = to.closed() => return,
        }
    }
}

fn find(app: &App, uid: u32, id: &str) -> Result<Arc<Entry>, Box<Response>> {
    match app.store.find(uid, id) {
        Find::One(entry) => Ok(entry),
        Find::None => {
            Err(Box::new(fault(StatusCode::NOT_FOUND, "not_found", "no task of yours has this id")))
        }
        Find::Several => {
            Err(Box::new(fault(StatusCode::CONFLICT, "invalid_argument", "several of your tasks begin so")))
        }
    }
}
