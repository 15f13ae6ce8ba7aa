//! `POST /execute`: gives a task.

use super::app::{App, Caller, Peer};
use super::connections::named_session;
use super::failure::{Failure, bad_body, fault, unreadable};
use super::plans::{RunbookOrder, Wanted, Words, understood};
use super::tasks::find;
use crate::client::pending_request::new_id;
use crate::protocol::mode::Mode;
use crate::protocol::owner::{Owner, Right};
use crate::protocol::task::{Task, TaskOrder};
use crate::protocol::tool::Tool;
use crate::store::{Added, Entry, IdempotencyKey, KnownOrder};
use axum::Json;
use axum::extract::rejection::JsonRejection;
use axum::extract::{ConnectInfo, State};
use axum::http::{HeaderMap, StatusCode};
use axum::response::{IntoResponse, Response};
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};
use std::sync::Arc;
use utoipa::ToSchema;

/// The header of the HTTP API working group's draft "The Idempotency-Key HTTP Header Field".
const KEY_HEADER: &str = "idempotency-key";
/// Longest key in bytes.
const KEY_LIMIT: usize = 255;

/// An order.
#[derive(Deserialize, Serialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct Execute {
    /// In the person's words; may be absent where a plan is given.
    #[serde(default)]
    task: String,
    /// A plan to carry out.
    #[serde(default)]
    #[schema(value_type = Option<Object>)]
    plan: Option<Value>,
    /// No more than a plan is wanted.
    #[serde(default)]
    only_plan: bool,
    /// Name for tasks that belong together.
    #[serde(default)]
    session: String,
    /// Answer when it has ended.
    #[serde(default = "yes", skip_serializing)]
    wait: bool,
    /// `execute` or `preview`.
    #[serde(default)]
    mode: Mode,
    /// Why, for the audit.
    #[serde(default)]
    reason: String,
    /// How long each step may wait for locks and approval; 0 = as the policy says.
    #[serde(default)]
    wait_ms: u32,
    /// The person is there and answers questions.
    #[serde(default)]
    interactive: bool,
    /// Goes on with what the person's last task left, in the session or at all. Where it is not said, a task with a
    /// session goes on and one without does not.
    #[serde(default)]
    r#continue: Option<bool>,
    /// The steps, where the person says them instead of the words.
    #[serde(default)]
    steps: Vec<Tool>,
    /// A runbook of this host to carry out: a plan that no model repairs.
    #[serde(default)]
    runbook: Option<RunbookOrder>,
}

fn yes() -> bool {
    true
}

#[utoipa::path(post, path = "/execute", request_body = Execute, params(
    ("Idempotency-Key" = Option<String>, Header, description = "up to 255 printable ASCII characters: the same key with the \
     same order is the same task for 24 hours, and is carried out once"),
), responses(
    (status = 200, description = "the task, ended", body = Task),
    (status = 202, description = "it waits for its turn", body = Accepted),
    (status = 410, description = "the task of this key is no longer kept", body = Failure),
    (status = 422, description = "not understood, or the key was used with another order", body = Failure),
    (status = "4XX", body = Failure),
))]
/// Plans the task at once, so that what is not understood is said before anything is done, and queues it.
/// A client that leaves does not end it.
pub async fn execute(
    State(app): State<Arc<App>>,
    ConnectInfo(Peer(owner)): Caller,
    headers: HeaderMap,
    body: Result<Json<Execute>, JsonRejection>,
) -> Response {
    let Json(body) = match body {
        Ok(body) => body,
        Err(rejection) => return bad_body(&rejection),
    };
    let (wait, session) = (body.wait, named_session(&headers));
    let key = match key(&headers, &body) {
        Ok(key) => key,
        Err(why) => return fault(StatusCode::BAD_REQUEST, "invalid_argument", &why),
    };
    // Looked up first: what an order comes to may have changed since.
    match key.as_ref().map(|key| app.store.known_order(owner, key)).transpose() {
        Ok(Some(Some(known))) => return again(&app, owner, session, known, wait).await,
        Ok(Some(None) | None) => {}
        Err(why) => return unreadable(&why),
    }
    let order = match order(&app, owner, body).await {
        Ok(order) => order,
        Err(answer) => return *answer,
    };
    let id = new_id();
    let entry = match app.store.add(id.clone(), order, key.as_ref()) {
        Ok(Added::New(entry)) => entry,
        Ok(Added::Known(known)) => return again(&app, owner, session, known, wait).await,
        Err(why) => return unreadable(&why),
    };
    entry.quote(owner, session);
    if !app.queue.push(&entry) {
        app.store.forget(&id);
        let message = format!("{} tasks of yours are waiting; try again later", app.queue.limit());
        return fault(StatusCode::TOO_MANY_REQUESTS, "busy", &message);
    }
    if let Some(ahead) = app.queue.ahead(&entry) {
        entry.note("waits", &json!({ "for": ahead }));
    }
    answer(&entry, wait).await
}

/// Reads the header `Idempotency-Key`, with the quotes that the draft wants or without them.
fn key(headers: &HeaderMap, body: &Execute) -> Result<Option<IdempotencyKey>, String> {
    let mut keys = headers.get_all(KEY_HEADER).iter();
    let (Some(key), None) = (keys.next(), keys.next()) else {
        return if headers.contains_key(KEY_HEADER) {
            Err("several Idempotency-Keys".to_owned())
        } else {
            Ok(None)
        };
    };
    let key = key.to_str().unwrap_or_default().trim();
    let key = key.strip_prefix('"').and_then(|key| key.strip_suffix('"')).unwrap_or(key);
    if key.is_empty() || key.len() > KEY_LIMIT {
        return Err(format!("an Idempotency-Key has 1 to {KEY_LIMIT} printable ASCII characters"));
    }
    let order = serde_json::to_vec(body).map_err(|error| format!("the order cannot be written: {error}"))?;
    Ok(Some(IdempotencyKey::new(key, &order)))
}

/// Answers an order that was given before under the same key.
async fn again(app: &App, owner: Owner, session: String, known: KnownOrder, wait: bool) -> Response {
    let KnownOrder { task, is_same } = known;
    if !is_same {
        let why = format!("this Idempotency-Key was used with another order, which is the task {task}");
        return fault(StatusCode::UNPROCESSABLE_ENTITY, "invalid_argument", &why);
    }
    match find(app, owner, Right::See, &task) {
        Ok(entry) => {
            entry.quote(owner, session);
            answer(&entry, wait).await
        }
        Err(answer) if answer.status() == StatusCode::NOT_FOUND => {
            let why =
                format!("the order was carried out before, as the task {task}, which is no longer kept");
            fault(StatusCode::GONE, "not_found", &why)
        }
        Err(answer) => *answer,
    }
}

/// Makes the order of a task.
async fn order(app: &App, owner: Owner, body: Execute) -> Result<TaskOrder, Box<Response>> {
    let words = Words {
        task: body.task,
        plan: body.plan,
        runbook: body.runbook,
        steps: body.steps,
        only_plan: body.only_plan,
        reason: body.reason,
    };
    let Wanted { task, work, steps, reason, runbook } = understood(app, words).await?;
    if body.mode == Mode::Check {
        let why = "a task's mode is execute or preview";
        return Err(Box::new(fault(StatusCode::BAD_REQUEST, "invalid_argument", why)));
    }
    let goes_on = body.r#continue.unwrap_or(!body.session.is_empty());
    let earlier = if goes_on { app.store.newest(owner, &body.session) } else { Ok(None) };
    let (after, session) = match earlier.map_err(|why| Box::new(unreadable(&why)))? {
        Some((id, session)) => (Some(id), session),
        // A session begins without memory.
        None if !goes_on || !body.session.is_empty() => (None, body.session),
        None => {
            let why = "there is no task of yours to go on from";
            return Err(Box::new(fault(StatusCode::NOT_FOUND, "not_found", why)));
        }
    };
    let (mode, wait_ms, interactive) = (body.mode, body.wait_ms, body.interactive);
    Ok(TaskOrder {
        task,
        session,
        steps,
        mode,
        reason,
        wait_ms,
        owner,
        interactive,
        after,
        work,
        scheduled: None,
        runbook,
    })
}

/// Answers with the task's id, or waits for its end and answers with its record.
async fn answer(entry: &Entry, wait: bool) -> Response {
    if !wait {
        return (StatusCode::ACCEPTED, Json(Accepted::new(entry.id()))).into_response();
    }
    let mut news = entry.listen();
    while !entry.task().status.is_final() {
        if news.changed().await.is_err() {
            break;
        }
    }
    Json(entry.task()).into_response()
}

/// Answer of `POST /execute` without `wait`.
#[derive(Serialize, ToSchema)]
pub struct Accepted {
    id: String,
}

impl Accepted {
    pub fn new(id: String) -> Self {
        Self { id }
    }
}
