//! `postern serve`: the HTTP service on agent.sock, and the worker that runs the tasks.

mod anchor;
mod app;
#[expect(clippy::disallowed_methods, reason = "the program is systemd's own, by its constant path")]
pub mod calendar;
mod connections;
mod execute;
mod failure;
mod health;
mod health_route;
mod insights;
mod knowledge;
mod limits;
mod listen;
mod metrics;
mod metrics_route;
mod permit;
mod plans;
mod replies;
mod requests;
mod routes;
mod scheduler;
mod schedules;
mod tasks;
mod tcp;
mod webhook;
mod worker;

use crate::audit::{self, AuditLog};
use crate::client::helper::Helper;
use crate::client::hook::Hook;
use crate::client::transport::Transport;
use crate::config;
use crate::config::host::Host;
use crate::executor::Commands;
use crate::inspect::ReadTools;
use crate::knowledge::{KnowledgeBase, Limits};
use crate::llm::endpoints::Endpoint;
use crate::protocol::owner::Owner;
use crate::redaction::Secrets;
use crate::store::{Queue, Store};
use anchor::Anchor;
use app::{App, Model, Peer};
use axum::middleware::{from_fn, from_fn_with_state, map_response};
use failure::as_json;
use health::Health;
pub(crate) use health::probe;
use limits::Limit;
use metrics::Metrics;
pub use routes::ROUTES;
use scheduler::Scheduler;
use std::io;
use std::num::NonZeroU32;
use std::sync::Arc;
use std::time::Duration;
use tokio::net::UnixListener;
use worker::Worker;

/// Connections at a time, of all people and of each.
const CONNECTIONS: (usize, usize) = (512, 64);
/// Typed requests at a time, likewise.
const REQUESTS: (usize, usize) = (32, 8);
/// Bytes of bodies that are being read, likewise.
const BODIES: (usize, usize) = (64 << 20, 26 << 20);
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
    let (config, wrong) = configuration(host);
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
    let (model, llm) = model_of(&config);
    let store = Arc::new(Store::open(&host.state)?);
    let (notices, unsent) = webhook::start(&config.webhook, &config.retry, store.messages());
    let hook = Hook::new(&config.approvals.hook, config.approvals.hook_timeout.0, notices.clone());
    let helper = Helper::new(&host.helper_socket).with_root(&host.system).with_hook(hook);
    let model_calls = model.as_deref().map(|model| model.endpoint.seconds());
    let metrics = Arc::new(Metrics::new(helper.counts(), model_calls));
    let transport = Arc::new(Transport::Helper(helper));
    let size = |number: NonZeroU32| usize::try_from(number.get()).unwrap_or(usize::MAX);
    let queue = Queue::new(size(config.limits.queue), size(config.limits.parallel));
    // Health tells of a database that cannot be read; what was queued stays so in it.
    store.take_up().unwrap_or_default().into_iter().for_each(|entry| queue.push_back(entry));
    let knowledge =
        KnowledgeBase::open(host, &config.knowledge, &config.model, Arc::clone(&secrets), Limits::default());
    let audit = Arc::new(AuditLog::open(&host.state.join("audit"), audit::Limits::default()));
    let worker = Worker {
        knowledge: knowledge.clone(),
        queue: Arc::clone(&queue),
        transport: Arc::clone(&transport),
        store: Arc::clone(&store),
        model: model.clone(),
        commands: Commands::new(host, &config, store.allowed()),
        limits: config.limits.clone(),
        local: ReadTools::new(&config, host),
        secrets: Arc::clone(&secrets),
        consents: Arc::default(),
        metrics: Arc::clone(&metrics),
        audit: Arc::clone(&audit),
        notices: notices.clone(),
        host: host.clone(),
    };
    let rules = worker.commands.fault().map(|why| format!("no command is run: {why}"));
    if let Some(why) = &rules {
        tracing::error!(event = "shell_rules", "{why}");
    }
    let scheduler = Scheduler::new(host, &store, &queue, model.is_some());
    let mut worker = tokio::spawn(worker.work());
    let (anchoring, mut last_anchor) = Anchor::start(&audit, &transport, host.anchor_every);
    let mut scheduling = tokio::spawn(Arc::clone(&scheduler).work());
    let [requests, connections, bodies] =
        [REQUESTS, CONNECTIONS, BODIES].map(|(all, each)| Limit::new(all, each));
    let app = Arc::new(App {
        transport,
        store,
        queue,
        scheduler,
        knowledge,
        audit: Arc::clone(&audit),
        health: Health::new(wrong.or(rules).or(closed).or(unsent), llm),
        metrics,
        requests,
        model,
        notices,
        secrets,
    });
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
        ended = &mut scheduling => Err(io::Error::other(format!("the scheduler ended: {ended:?}"))),
        () = stop => {
            tokio::time::sleep(Duration::from_millis(50)).await;
            Ok(())
        }
    };
    worker.abort();
    scheduling.abort();
    anchoring.abort();
    last_anchor.stop().await;
    ended
}

/// The model's endpoint, or why one that is configured is not in use.
fn model_of(config: &config::Config) -> (Option<Arc<Model>>, Option<String>) {
    match Endpoint::new(&config.model, &config.retry) {
        Ok(endpoint) => {
            (endpoint.map(|endpoint| Arc::new(Model { endpoint, limits: config.limits.clone() })), None)
        }
        Err(why) => {
            tracing::error!(event = "model", "the model is not in use: {why}");
            (None, Some(why))
        }
    }
}

/// Reads the configuration. A fault in it is shown where people look, and is no reason to lock them all out.
fn configuration(host: &Host) -> (config::Config, Option<String>) {
    match config::read(&host.config) {
        Ok(config) => (config, None),
        Err(why) => {
            tracing::error!(event = "configuration", "the configuration is not in use: {why}");
            (config::Config::default(), Some(why))
        }
    }
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
