//! `postern serve`: the HTTP service on agent.sock, and the worker that runs one task after the other.

mod health;
mod listen;
mod requests;
mod tasks;

use crate::ask::Door;
use crate::config::tables::Limits;
use crate::event::Event;
use crate::helper::Helper;
use crate::hook::Hook;
use crate::model::endpoint::Endpoint;
use crate::secrets::Secrets;
use crate::task::{Care, Consents, Effect, Entry, Runner, Store, Task, Turn};
use crate::{Host, config};
use axum::Router;
use axum::extract::{DefaultBodyLimit, connect_info::ConnectInfo};
use axum::http::StatusCode;
use axum::response::{IntoResponse, Response};
use axum::routing::{get, post};
use health::Health;
pub(crate) use health::probe;
use serde_json::json;
use std::io;
use std::sync::Arc;
use std::time::Duration;
pub(crate) use tasks::described;
use tokio::net::UnixListener;
use tokio::sync::{Semaphore, mpsc};
use tokio::task::JoinSet;

/// Tasks that may wait.
const QUEUE_LIMIT: usize = 100;
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
    queue: mpsc::Sender<Arc<Entry>>,
    health: Health,
    slots: Arc<Semaphore>,
    /// Makes the steps of tasks; without one the offline planner does.
    model: Option<Arc<Model>>,
}

/// A model's endpoint, and what a task with it may cost.
struct Model {
    endpoint: Endpoint,
    limits: Limits,
    consents: Arc<Consents>,
}

/// The uid behind a connection, as the kernel says.
#[derive(Clone, Copy, Debug)]
struct Peer(u32);

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
        tracing::error!("the configuration is not in use: {}", crate::show::line(why));
    }
    let (secrets, missing) = Secrets::fetch(&config);
    for why in &missing {
        tracing::error!("not in use: {}", crate::show::line(why));
    }
    secrets.keep_out_of_log();
    let (model, llm) = match Endpoint::new(&config.model, &config.retry) {
        Ok(endpoint) => {
            let (limits, consents) = (config.limits.clone(), Arc::default());
            (endpoint.map(|endpoint| Arc::new(Model { endpoint, limits, consents })), None)
        }
        Err(why) => {
            tracing::error!("the model is not in use: {}", crate::show::line(&why));
            (None, Some(why))
        }
    };
    let helper = Helper::new(&host.helper_socket).with_hook(Hook::new(&config.approvals.hook));
    let door = Arc::new(Door::Helper(helper));
    let store = Arc::new(Store::default());
    let (queue, orders) = mpsc::channel(QUEUE_LIMIT);
    let worker = tokio::spawn(work(orders, Arc::clone(&door), Arc::clone(&store), model.clone(), secrets));
    let slots = Arc::new(Semaphore::new(REQUEST_LIMIT));
    let app = Arc::new(App { door, store, queue, health: Health::new(wrong, llm), slots, model });
    let routes = Router::new()
        .route("/execute", post(tasks::execute))
        .route("/tasks", get(tasks::list))
        .route("/tasks/{id}", get(tasks::show))
        .route("/tasks/{id}/events", get(tasks::events))
        .route("/tasks/{id}/cancel", post(tasks::cancel))
        .route("/tasks/{id}/answer", post(tasks::answer))
        .route("/plan", post(tasks::plan))
        .route("/requests", post(requests::ask).layer(DefaultBodyLimit::max(REQUEST_BODY_LIMIT)))
        .route("/requests/{id}", get(requests::find))
        .route("/health", get(health::health))
        .fallback(|| async { fault(StatusCode::NOT_FOUND, "not_found", "there is no such route") })
        .layer(DefaultBodyLimit::max(TASK_BODY_LIMIT))
        .with_state(app);
    let service = routes.into_make_service_with_connect_info::<Peer>();
    // Open event streams would hold a graceful end up for ever: whoever listens comes again.
    let serving = axum::serve(listener, service);
    let end = tokio::select! {
        end = async { serving.await } => end,
        () = stop => {
            tokio::time::sleep(Duration::from_millis(50)).await;
            Ok(())
        }
    };
    worker.abort();
    end
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
    mut orders: mpsc::Receiver<Arc<Entry>>,
    door: Arc<Door>,
    store: Arc<Store>,
    model: Option<Arc<Model>>,
    secrets: Arc<Secrets>,
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
        let Some(entry) = orders.recv().await else { return };
        turn.take().await;
        while running.try_join_next().is_some() {}
        let Some(task) = entry.begin() else { continue };
        running.spawn(carry_out(
            entry,
            task,
            turn,
            Arc::clone(&door),
            Arc::clone(&store),
            model.clone(),
            Arc::clone(&secrets),
        ));
    }
}

async fn carry_out(
    entry: Arc<Entry>,
    mut task: Task,
    mut turn: Turn,
    door: Arc<Door>,
    store: Arc<Store>,
    model: Option<Arc<Model>>,
    secrets: Arc<Secrets>,
) {
    tracing::info!(task = task.id, uid = entry.order.uid, steps = entry.order.steps.len(), "task begins");
    let uid = entry.order.uid;
    let mut asked = Asked::default();
    let mut on = |name: &'static str, data: serde_json::Value, task: &Task| {
        if name == "request" {
            // A task's ids are made here and nobody else's.
            asked = serde_json::from_value(data).unwrap_or_default();
            store.requests.claim(uid, &asked.request_id, asked.undoes.is_some(), asked.effect);
            return;
        }
        if let Ok(end) = Event::from_parts(name, &data) {
            store.requests.settle(&asked.request_id, asked.undoes.as_deref(), &end);
        }
        entry.update(task);
        entry.note(name, data);
    };
    let cancel = entry.cancel.subscribe();
    let session = if entry.order.session.is_empty() { &task.id } else { &entry.order.session };
    let care = model.as_ref().map(|model| Care::new(&model.consents, format!("{uid} {session}")));
    let whole_id = |id: &str| store.requests.find(uid, id).map_err(|why| why.fault(id));
    let runner = Runner {
        door: &door,
        order: &entry.order,
        cancel,
        person: entry.person(),
        care,
        secrets: &secrets,
        tool: String::new(),
        questions: 0,
        turn: &mut turn,
        whole_id: &whole_id,
        on: &mut on,
    };
    match &model {
        Some(model) => runner.run_model(&mut task, &model.endpoint, &model.limits).await,
        None => runner.run(&mut task).await,
    }
    tracing::info!(task = task.id, status = ?task.status, "task ended");
    entry.update(&task);
    entry.close();
    store.tidy();
}

/// The request that a task asks now.
#[derive(Default, serde::Deserialize)]
#[serde(default)]
struct Asked {
    request_id: String,
    effect: Effect,
    undoes: Option<String>,
}

/// An error as JSON.
fn fault(status: StatusCode, code: &str, message: &str) -> Response {
    (status, axum::Json(json!({ "error": { "code": code, "message": message } }))).into_response()
}

/// A body that axum could not read, as an error of ours.
fn bad_body(rejection: &axum::extract::rejection::JsonRejection) -> Response {
    match rejection.status() {
        StatusCode::PAYLOAD_TOO_LARGE => {
            fault(StatusCode::PAYLOAD_TOO_LARGE, "too_large", "the body is larger than this route takes")
        }
        _ => fault(StatusCode::BAD_REQUEST, "invalid_argument", &rejection.body_text()),
    }
}
