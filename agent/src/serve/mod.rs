//! `postern serve`: the HTTP service on agent.sock, and the worker that runs the tasks.

mod connections;
mod health;
mod limits;
mod listen;
mod plans;
mod requests;
mod routes;
mod schemas;
mod tasks;
mod tcp;
mod worker;

use crate::ask::Door;
use crate::config::tables::Limits;
use crate::event::Fault;
use crate::helper::Helper;
use crate::hook::Hook;
use crate::local::Local;
use crate::model::endpoint::Endpoint;
use crate::secrets::Secrets;
use crate::task::{Commands, Owner, Queue, Store};
use crate::{Host, config};
use axum::body::to_bytes;
use axum::extract::connect_info::ConnectInfo;
use axum::http::StatusCode;
use axum::http::header::CONTENT_TYPE;
use axum::middleware::{from_fn, from_fn_with_state, map_response};
use axum::response::{IntoResponse, Response};
use health::Health;
pub(crate) use health::probe;
use limits::Limit;
pub use routes::ROUTES;
use serde::Serialize;
use std::io;
use std::num::NonZeroU32;
use std::sync::Arc;
use std::time::Duration;
use tokio::net::UnixListener;
use utoipa::ToSchema;
use worker::Worker;

/// Connections at a time, of all people and of each.
const CONNECTIONS: (usize, usize) = (512, 64);
/// Typed requests at a time, likewise.
const REQUESTS: (usize, usize) = (32, 8);
/// Bytes of bodies that are being read, likewise.
const BODIES: (usize, usize) = (64 << 20, 26 << 20);
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
    requests: Arc<Limit>,
    /// Makes the steps of tasks; without one the offline planner does.
    model: Option<Arc<Model>>,
}

/// A model's endpoint, and what a task with it may cost.
struct Model {
    endpoint: Endpoint,
    limits: Limits,
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
/// The listener fails, or the secrets of the configuration could not be kept out of what is shown.
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
    let (secrets, missing) = Secrets::fetch(&config).map_err(io::Error::other)?;
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
    let helper = Helper::new(&host.helper_socket)
        .with_hook(Hook::new(&config.approvals.hook, config.approvals.hook_timeout.0));
    let door = Arc::new(Door::Helper(helper));
    let store = Arc::new(Store::open(&host.state)?);
    let size = |number: NonZeroU32| usize::try_from(number.get()).unwrap_or(usize::MAX);
    let queue = Queue::new(size(config.limits.queue), size(config.limits.parallel));
    // Health tells of a database that cannot be read; what was queued stays so in it.
    store.take_up().unwrap_or_default().into_iter().for_each(|entry| queue.push_back(entry));
    let worker = Worker {
        queue: Arc::clone(&queue),
        door: Arc::clone(&door),
        store: Arc::clone(&store),
        model: model.clone(),
        commands: Commands::new(host, &config, store.allowed()),
        limits: config.limits.clone(),
        local: Local::new(&config, host),
        secrets,
        consents: Arc::default(),
        host: host.clone(),
    };
    let rules = worker.commands.fault().map(|why| format!("no command is run: {why}"));
    if let Some(why) = &rules {
        tracing::error!(event = "shell_rules", "{why}");
    }
    let mut worker = tokio::spawn(worker.work());
    let [requests, connections, bodies] =
        [REQUESTS, CONNECTIONS, BODIES].map(|(all, each)| Limit::new(all, each));
    let health = Health::new(wrong.or(rules).or(closed), llm);
    let app = Arc::new(App { door, store, queue, health, requests, model });
    let routes = routes::router()
        .with_state(app)
        .layer(map_response(as_json))
        .layer(from_fn_with_state(bodies, connections::whole_body))
        .layer(from_fn(connections::traced));
    let over_tcp = async {
        match tcp {
            Some((listener, gate)) => {
                let routes = routes.clone().layer(from_fn_with_state(gate, tcp::check));
                let token = |_: &_| Peer(Owner::Token);
                connections::serve(listener, routes, Arc::clone(&connections), token).await;
            }
            None => std::future::pending().await,
        }
    };
    // Open event streams would hold a graceful end up for ever: whoever listens comes again.
    let ended = tokio::select! {
        () = connections::serve(listener, routes.clone(), Arc::clone(&connections), listen::peer) => Ok(()),
        () = over_tcp => Ok(()),
        // Nothing would run any more while all else looks well: systemd starts the service anew.
        ended = &mut worker => Err(io::Error::other(format!("the worker of the tasks ended: {ended:?}"))),
        () = stop => {
            tokio::time::sleep(Duration::from_millis(50)).await;
            Ok(())
        }
    };
    worker.abort();
    ended
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
