//! `postern serve`: the HTTP service on agent.sock, and the worker that runs one task after the other.

mod connections;
mod health;
mod listen;
mod plans;
mod requests;
mod routes;
mod schemas;
mod tasks;
mod tcp;

use crate::ask::Door;
use crate::config::tables::Limits;
use crate::event::Fault;
use crate::helper::Helper;
use crate::hook::Hook;
use crate::local::Local;
use crate::model::budget::Budget;
use crate::model::endpoint::Endpoint;
use crate::secrets::Secrets;
use crate::task::{
    Author, Care, Commands, Consents, Group, Owner, Place, Queue, Runner, Store, Task, Turn, Work,
};
use crate::trace::{self, Trace};
use crate::undo::{Earlier, UndoGrants};
use crate::{Host, config};
use axum::body::to_bytes;
use axum::extract::connect_info::ConnectInfo;
use axum::http::StatusCode;
use axum::http::header::CONTENT_TYPE;
use axum::middleware::{from_fn, from_fn_with_state, map_response};
use axum::response::{IntoResponse, Response};
use health::Health;
pub(crate) use health::probe;
pub use routes::ROUTES;
use serde::Serialize;
use std::io;
use std::sync::Arc;
use std::time::Duration;
use tokio::net::UnixListener;
use tokio::sync::Semaphore;
use tokio::task::JoinSet;
use utoipa::ToSchema;

/// Typed requests at a time.
const REQUEST_LIMIT: usize = 32;
/// A task's text and what goes with it.
const TASK_BODY_LIMIT: usize = 1 << 20;
/// A `file.patch` of 8 MiB in base64, and some.
const REQUEST_BODY_LIMIT: usize = 12 << 20;

/// What the handlers share.
struct App {
    door: Arc<Door>,
    store: Arc<Store>,
    queue: Arc<Queue>,
    health: Health,
    slots: Arc<Semaphore>,
    /// Makes the steps of tasks; without one the offline planner does.
    model: Option<Arc<Model>>,
}

/// A model's endpoint, and what a task with it may cost.
struct Model {
    endpoint: Endpoint,
    limits: Limits,
}

/// What tasks run by themselves, and what one may cost.
struct Own {
    commands: Commands,
    limits: Limits,
    local: Local,
    secrets: Arc<Secrets>,
    consents: Arc<Consents>,
}

/// Who is behind a connection.
#[derive(Clone, Copy, Debug)]
struct Peer(Owner);

type Caller = ConnectInfo<Peer>;

/// Serves on the socket that systemd passed, or on one that it binds itself, until it is told to stop.
///
/// # Errors
/// The socket cannot be had.
pub async fn serve(host: &Host) -> io::Result<()> {
    let listener = listen::listener(&host.agent_socket)?;
    serve_on(listener, host, stop_signal()).await
}

/// Serves on a listener until `stop` is ready.
///
/// # Errors
/// The listener fails.
pub async fn serve_on(
    listener: UnixListener,
    host: &Host,
    stop: impl Future<Output = ()> + Send + 'static,
) -> io::Result<()> {
    // A fault in it is told where people look, and is no reason to lock them all out.
    let (config, wrong) = match config::read(&host.config) {
        Ok(config) => (config, None),
        Err(why) => (config::Config::default(), Some(why)),
    };
    if let Some(why) = &wrong {
        tracing::error!(event = "configuration", "the configuration is not in use: {why}");
    }
    let (secrets, missing) = Secrets::fetch(&config);
    for why in &missing {
        tracing::error!(event = "secret", "not in use: {why}");
    }
    secrets.keep_out_of_log();
    let (tcp, closed) = match tcp::listen(&config.http).await {
        Ok(tcp) => (tcp, None),
        Err(why) => {
            tracing::error!(event = "http", "TCP is not served: {why}");
            (None, Some(why))
        }
    };
    let (model, llm) = match Endpoint::new(&config.model, &config.retry) {
        Ok(endpoint) => {
            (endpoint.map(|endpoint| Arc::new(Model { endpoint, limits: config.limits.clone() })), None)
        }
        Err(why) => {
            tracing::error!(event = "model", "the model is not in use: {why}");
            (None, Some(why))
        }
    };
    let helper = Helper::new(&host.helper_socket).with_hook(Hook::new(&config.approvals.hook));
    let door = Arc::new(Door::Helper(helper));
    let store = Arc::new(Store::open(&host.state)?);
    let queue = Queue::new(usize::try_from(config.limits.queue.get()).unwrap_or(usize::MAX));
    store.take_up().into_iter().for_each(|entry| queue.push_back(entry));
    let own = Arc::new(Own {
        commands: Commands::new(host, &config),
        limits: config.limits.clone(),
        local: Local::new(&config, host),
        secrets,
        consents: Arc::default(),
    });
    let rules = own.commands.fault().map(|why| format!("no command is run: {why}"));
    if let Some(why) = &rules {
        tracing::error!(event = "shell_rules", "{why}");
    }
    let worker =
        tokio::spawn(work(Arc::clone(&queue), Arc::clone(&door), Arc::clone(&store), model.clone(), own));
    let slots = Arc::new(Semaphore::new(REQUEST_LIMIT));
    let app = Arc::new(App {
        door,
        store,
        queue,
        health: Health::new(wrong.or(rules).or(closed), llm),
        slots,
        model,
    });
    let routes = routes::router()
        .with_state(app)
        .layer(map_response(as_json))
        .layer(from_fn(connections::whole_body))
        .layer(from_fn(connections::traced));
    let over_tcp = async {
        match tcp {
            Some((listener, gate)) => {
                let routes = routes.clone().layer(from_fn_with_state(gate, tcp::check));
                connections::serve(listener, routes, |_| Peer(Owner::Token)).await;
            }
            None => std::future::pending().await,
        }
    };
    // Open event streams would hold a graceful end up for ever: whoever listens comes again.
    tokio::select! {
        () = connections::serve(listener, routes.clone(), listen::peer) => {}
        () = over_tcp => {}
        () = stop => tokio::time::sleep(Duration::from_millis(50)).await,
    }
    worker.abort();
    Ok(())
}

async fn stop_signal() {
    use tokio::signal::unix::{SignalKind, signal};
    let (Ok(mut term), Ok(mut int)) = (signal(SignalKind::terminate()), signal(SignalKind::interrupt()))
    else {
        return std::future::pending().await;
    };
    tokio::select! {
        _ = term.recv() => {}
        _ = int.recv() => {}
    }
}

/// Runs the tasks. One acts at a time: two at once would change what the other has just looked at.
async fn work(
    queue: Arc<Queue>,
    door: Arc<Door>,
    store: Arc<Store>,
    model: Option<Arc<Model>>,
    own: Arc<Own>,
) {
    let turns = Arc::new(Semaphore::new(1));
    // Dropped with this worker, and the tasks with it.
    let mut running = JoinSet::new();
    loop {
        // Tasks stay in the queue, whose room is limited, until one can run. While there is none, the turn is
        // nobody's: one that has waited for a person takes it.
        let mut turn = Turn::of(&turns);
        turn.take().await;
        turn.give();
        let place = queue.next().await;
        turn.take().await;
        while running.try_join_next().is_some() {}
        let Some(task) = place.entry.begin() else { continue };
        let (door, store, own) = (Arc::clone(&door), Arc::clone(&store), Arc::clone(&own));
        let trace = Trace::of_id(&task.trace_id).unwrap_or_default();
        let work = carry_out(place, task, turn, door, store, model.clone(), own);
        running.spawn(trace::within(trace, work));
    }
}

async fn carry_out(
    place: Place,
    mut task: Task,
    mut turn: Turn,
    door: Arc<Door>,
    store: Arc<Store>,
    model: Option<Arc<Model>>,
    own: Arc<Own>,
) {
    let entry = &place.entry;
    tracing::info!(event = "task_begins", task = task.id, owner = ?entry.order.owner, steps = entry.order.steps.len(), "task begins");
    let owner = entry.order.owner;
    let left = store.left(entry, &task);
    let memory = left.memory.clone();
    let mut keeper = store.keeper(entry);
    let mut on = |name: &'static str, data: serde_json::Value, task: &Task| keeper.on(name, data, task);
    let cancel = entry.cancel.subscribe();
    let session = if entry.order.session.is_empty() { &task.id } else { &entry.order.session };
    let is_the_persons = !entry.order.steps.is_empty() || matches!(entry.order.work, Work::CarryOut(_));
    let author = if is_the_persons { Author::Person } else { Author::Model };
    let care = Some(Care::new(&own.consents, format!("{owner:?} {session}"), author));
    let earlier = |id: &str| {
        let id = store.requests.find(owner, id).map_err(|why| why.fault(id))?;
        let changes = store.requests.changes(owner, Group::Request(&id));
        let followers =
            changes.into_iter().find(|change| change.request_id == id).map(|change| change.followers);
        Ok(Earlier { id, followers: followers.unwrap_or_default() })
    };
    let runner = Runner {
        door: &door,
        local: &own.local,
        order: &entry.order,
        cancel,
        person: entry.person(),
        care,
        secrets: &own.secrets,
        tool: String::new(),
        questions: 0,
        turn: &mut turn,
        left,
        commands: &own.commands,
        undo_grants: UndoGrants::default(),
        budget: Budget::new(&own.limits),
        earlier: &earlier,
        on: &mut on,
    };
    let model = model.as_deref().map(|model| (&model.endpoint, &model.limits));
    Box::pin(runner.work(&mut task, model)).await;
    tracing::info!(event = "task_ended", task = task.id, status = ?task.status, "task ended");
    keeper.end(&mut task, memory);
}

/// An error.
#[derive(Serialize, ToSchema)]
struct Failure {
    error: Fault,
}

/// What axum says in words of its own, as an error of ours.
async fn as_json(response: Response) -> Response {
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
fn fault(status: StatusCode, code: &str, message: &str) -> Response {
    (status, axum::Json(Failure { error: Fault::new(code, message) })).into_response()
}

/// A body that axum could not read, as an error of ours.
fn bad_body(rejection: &axum::extract::rejection::JsonRejection) -> Response {
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
