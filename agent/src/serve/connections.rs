//! Connections: who is behind each, and how long it may take its time.

use super::{Peer, REQUEST_BODY_LIMIT, fault};
use crate::trace::{self, Trace};
use axum::Router;
use axum::body::{Body, to_bytes};
use axum::extract::{ConnectInfo, Request};
use axum::http::{HeaderMap, StatusCode};
use axum::middleware::Next;
use axum::response::Response;
use axum::serve::Listener;
use hyper::body::Incoming;
use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper_util::rt::{TokioIo, TokioTimer};
use std::sync::Arc;
use std::time::Duration;
use tokio::sync::Semaphore;
use tokio::task::JoinSet;
use tower::ServiceExt;

/// Connections at a time; more wait to be accepted.
const CONNECTION_LIMIT: usize = 256;
/// From one request's end, or the connection's beginning, to the end of the next one's headers.
const HEADER_TIME: Duration = Duration::from_secs(30);
/// Of a request's line and headers.
const HEADER_LIMIT: usize = 16 << 10;
/// From a request's headers to the end of its body.
const BODY_TIME: Duration = Duration::from_secs(30);

/// Serves connections for ever. Dropped, it ends all of them.
pub async fn serve<L: Listener>(mut listener: L, routes: Router, peer: impl Fn(&L::Io) -> Peer) {
    let slots = Arc::new(Semaphore::new(CONNECTION_LIMIT));
    let mut connections = JoinSet::new();
    loop {
        // Nothing closes the semaphore.
        let Ok(slot) = Arc::clone(&slots).acquire_owned().await else { return };
        let (io, _) = listener.accept().await;
        while connections.try_join_next().is_some() {}
        let (peer, routes) = (peer(&io), routes.clone());
        let service = service_fn(move |mut request: hyper::Request<Incoming>| {
            request.extensions_mut().insert(ConnectInfo(peer));
            routes.clone().oneshot(request)
        });
        let connection = http1::Builder::new()
            .timer(TokioTimer::new())
            .header_read_timeout(HEADER_TIME)
            .max_buf_size(HEADER_LIMIT)
            .serve_connection(TokioIo::new(io), service);
        connections.spawn(async move {
            if let Err(why) = connection.await {
                tracing::debug!(event = "connection_lost", "{why}");
            }
            drop(slot);
        });
    }
}

/// Reads a body before anything is done with it, so that one that drips in holds nothing else up.
pub async fn whole_body(request: Request, next: Next) -> Response {
    let (head, body) = request.into_parts();
    match tokio::time::timeout(BODY_TIME, to_bytes(body, REQUEST_BODY_LIMIT)).await {
        Ok(Ok(body)) => next.run(Request::from_parts(head, Body::from(body))).await,
        Ok(Err(_)) => {
            fault(StatusCode::PAYLOAD_TOO_LARGE, "too_large", "the body is larger than this service takes")
        }
        Err(_) => fault(StatusCode::REQUEST_TIMEOUT, "timeout", "the body did not come within half a minute"),
    }
}

/// Answers within the trace that the request names, or a new one.
pub async fn traced(request: Request, next: Next) -> Response {
    let trace = named_trace(request.headers()).unwrap_or_default();
    trace::within(trace, next.run(request)).await
}

/// The trace that a request names.
pub fn named_trace(headers: &HeaderMap) -> Option<Trace> {
    headers.get("traceparent").and_then(|value| value.to_str().ok()).and_then(Trace::of_traceparent)
}
