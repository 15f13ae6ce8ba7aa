//! Connections: who is behind each, how many they may have, and how long each may take its time.

use super::app::{Caller, Peer, REQUEST_BODY_LIMIT, TASK_BODY_LIMIT};
use super::failure::{Failure, fault};
use super::limits::{Limit, Permit};
use crate::client::agent::SESSION;
use crate::client::person::is_token;
use crate::protocol::event::AgentError;
use crate::protocol::trace::{self, Trace};
use axum::Router;
use axum::body::{Body, Bytes};
use axum::extract::{ConnectInfo, Request, State};
use axum::http::{HeaderMap, Method, StatusCode};
use axum::middleware::Next;
use axum::response::Response;
use axum::serve::Listener;
use http_body_util::{BodyExt, LengthLimitError, Limited};
use hyper::body::Incoming;
use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper_util::rt::{TokioIo, TokioTimer};
use std::sync::Arc;
use std::time::Duration;
use tokio::io::{AsyncWrite, AsyncWriteExt};
use tokio::task::JoinSet;
use tower::ServiceExt;

/// From one request's end, or the connection's beginning, to the end of the next one's headers.
const HEADER_TIME: Duration = Duration::from_secs(30);
/// Of a request's line and headers.
const HEADER_LIMIT: usize = 16 << 10;
/// From a request's headers to the end of its body.
const BODY_TIME: Duration = Duration::from_secs(30);

/// How long saying no to a connection may take: its buffer is empty.
const REFUSAL_TIME: Duration = Duration::from_millis(200);

/// Serves connections for ever. Dropped, it ends all of them.
pub async fn serve<L: Listener>(
    mut listener: L,
    routes: Router,
    limit: Arc<Limit>,
    peer: impl Fn(&L::Io) -> Peer,
) {
    let mut connections = JoinSet::new();
    loop {
        let (mut io, _) = listener.accept().await;
        while connections.try_join_next().is_some() {}
        let (peer, routes) = (peer(&io), routes.clone());
        let Some(permit) = limit.take(peer.0, 1) else {
            refuse(&mut io, limit.each()).await;
            continue;
        };
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
            drop(permit);
        });
    }
}

/// Says why a connection is closed at once.
async fn refuse(io: &mut (impl AsyncWrite + Unpin), each: usize) {
    let message = format!("too many connections; one person may have {each}");
    let body =
        serde_json::to_string(&Failure { error: AgentError::new("busy", message) }).unwrap_or_default();
    let text = format!(
        "HTTP/1.1 503 Service Unavailable\r\ncontent-type: application/json\r\nconnection: close\r\n\
         content-length: {}\r\n\r\n{body}",
        body.len()
    );
    // A client that does not read it sees the connection closed.
    let _ = tokio::time::timeout(REFUSAL_TIME, io.write_all(text.as_bytes())).await;
}

/// Why a body is not taken.
enum Refused {
    TooLarge,
    NoMemory,
    Broken,
}

/// A body with its part of the memory, given back once it has been read as JSON.
struct CountedBody {
    bytes: Vec<u8>,
    _memory: Permit,
}

impl AsRef<[u8]> for CountedBody {
    fn as_ref(&self) -> &[u8] {
        &self.bytes
    }
}

/// Reads a body before anything is done with it, so that one that drips in holds nothing else up, and counts what it
/// takes of the memory while it comes.
pub async fn whole_body(
    State(memory): State<Arc<Limit>>,
    ConnectInfo(Peer(owner)): Caller,
    request: Request,
    next: Next,
) -> Response {
    let has_content =
        request.method() == Method::POST && matches!(request.uri().path(), "/requests" | "/knowledge");
    let most = if has_content { REQUEST_BODY_LIMIT } else { TASK_BODY_LIMIT };
    let (head, body) = request.into_parts();
    let Some(permit) = memory.take(owner, 0) else { return no_memory() };
    match tokio::time::timeout(BODY_TIME, read(Limited::new(body, most), permit)).await {
        Ok(Ok(whole)) => next.run(Request::from_parts(head, Body::from(Bytes::from_owner(whole)))).await,
        Ok(Err(Refused::TooLarge)) => {
            fault(StatusCode::PAYLOAD_TOO_LARGE, "too_large", "the body is larger than this route takes")
        }
        Ok(Err(Refused::NoMemory)) => no_memory(),
        Ok(Err(Refused::Broken)) => {
            fault(StatusCode::BAD_REQUEST, "invalid_argument", "the body ended before its end")
        }
        Err(_) => fault(StatusCode::REQUEST_TIMEOUT, "timeout", "the body did not come within half a minute"),
    }
}

fn no_memory() -> Response {
    let message = "too many bytes of requests are on their way; try again later";
    fault(StatusCode::SERVICE_UNAVAILABLE, "busy", message)
}

async fn read(mut body: Limited<Body>, mut memory: Permit) -> Result<CountedBody, Refused> {
    let mut bytes = Vec::new();
    while let Some(frame) = body.frame().await {
        let frame = frame.map_err(|error| {
            if error.is::<LengthLimitError>() { Refused::TooLarge } else { Refused::Broken }
        })?;
        if let Some(data) = frame.data_ref() {
            if !memory.grow(data.len()) {
                return Err(Refused::NoMemory);
            }
            bytes.extend_from_slice(data);
        }
    }
    Ok(CountedBody { bytes, _memory: memory })
}

/// Answers within the trace that the request names, or a new one.
pub async fn traced(request: Request, next: Next) -> Response {
    let trace = named_trace(request.headers()).unwrap_or_default();
    trace::within(trace, next.run(request)).await
}

/// The token of a person's session that a request quotes; empty if it has none.
pub fn named_session(headers: &HeaderMap) -> String {
    let token = headers.get(SESSION).and_then(|value| value.to_str().ok());
    token.filter(|token| is_token(token)).unwrap_or_default().to_owned()
}

/// The trace that a request names.
pub fn named_trace(headers: &HeaderMap) -> Option<Trace> {
    headers.get("traceparent").and_then(|value| value.to_str().ok()).and_then(Trace::of_traceparent)
}
