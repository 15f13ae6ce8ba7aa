//! The client of `postern serve`: HTTP over its Unix socket.

use super::pending_request::{AttemptError, PendingRequest};
use super::person::PersonSession;
use super::sse::{self, Decoder};
use crate::protocol::event::{AgentError, Event};
use http_body_util::{BodyExt, Full};
use hyper::body::{Bytes, Incoming};
use hyper::{Method, Request, Response, StatusCode};
use hyper_util::rt::TokioIo;
use serde_json::{Value, json};
use std::collections::VecDeque;
use std::io::ErrorKind;
use std::path::{Path, PathBuf};
use tokio::net::UnixStream;

/// Largest JSON answer, in bytes.
const ANSWER_LIMIT: usize = 64 << 20;

/// An event of a task or of a request.
#[derive(Debug, PartialEq)]
pub struct Message {
    /// Its number, or 0.
    pub id: u64,
    /// Its name.
    pub event: String,
    /// Its JSON.
    pub data: Value,
}

/// Events in the body of an answer.
pub struct Events {
    body: Incoming,
    decoder: Decoder,
    complete: VecDeque<sse::Event>,
}

impl Events {
    fn new(body: Incoming) -> Self {
        Self { body, decoder: Decoder::new(ANSWER_LIMIT), complete: VecDeque::new() }
    }

    /// Returns the next event whose data is JSON; `None` at the end.
    ///
    /// # Errors
    /// The connection is lost.
    pub async fn next(&mut self) -> Result<Option<Message>, AttemptError> {
        loop {
            while let Some(sse::Event { id, name, data }) = self.complete.pop_front() {
                if let Ok(data) = serde_json::from_str(&data) {
                    return Ok(Some(Message { id, event: name, data }));
                }
            }
            let Some(frame) = self.body.frame().await else { return Ok(None) };
            let frame = frame.map_err(|e| AttemptError::Midway(e.to_string()))?;
            if let Ok(data) = frame.into_data() {
                let complete = &mut self.complete;
                self.decoder
                    .push(&data, |event| complete.push_back(event))
                    .map_err(|why| AttemptError::Midway(why.to_owned()))?;
            }
        }
    }
}

/// `postern serve` behind its socket; a connection a call.
#[derive(Clone)]
pub struct AgentClient {
    path: PathBuf,
    person: Option<PersonSession>,
}

/// The header in which a person's client quotes the token of their session.
pub const SESSION: &str = "postern-session";

/// An answer that is one JSON value.
pub struct HttpReply {
    /// The HTTP status.
    pub status: StatusCode,
    /// The body.
    pub body: Value,
}

impl HttpReply {
    /// The error that the agent reports, if it does.
    pub fn error(&self) -> Option<AgentError> {
        if self.status.is_success() {
            return None;
        }
        let fault = self.body.get("error").and_then(|e| serde_json::from_value(e.clone()).ok());
        Some(
            fault.unwrap_or_else(|| {
                AgentError::new("internal", format!("the agent answered {}", self.status))
            }),
        )
    }
}

impl AgentClient {
    /// The agent at a socket; nothing is connected yet.
    #[must_use]
    pub fn new(path: &Path) -> Self {
        Self { path: path.to_owned(), person: None }
    }

    /// The same, quoting this person's session in each call.
    #[must_use]
    pub fn quoting(self, person: &PersonSession) -> Self {
        Self { person: Some(person.clone()), ..self }
    }

    /// Returns once the session that it quotes has ended; never without one.
    pub async fn session_ended(&self) {
        match &self.person {
            Some(person) => person.ended().await,
            None => std::future::pending().await,
        }
    }

    /// Its socket.
    #[must_use]
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Asks once through `POST /requests`.
    pub async fn attempt(
        &self,
        ask: &PendingRequest,
        on: &mut (dyn FnMut(&Event) + Send),
    ) -> Result<Event, AttemptError> {
        let body = json!({
            "verb": ask.request.verb(), "args": ask.request.args(), "mode": ask.mode, "reason": ask.reason,
            "request_id": ask.id, "wait_ms": ask.wait_ms,
        });
        let response = self.send(Method::POST, "/requests", Some(&body)).await?;
        if !response.status().is_success() {
            let fault = collect(response).await?.error();
            return Ok(Event::Error(fault.unwrap_or_else(|| AgentError::new("internal", "no reason given"))));
        }
        let mut events = Events::new(response.into_body());
        while let Some(message) = events.next().await? {
            let Ok(event) = Event::from_parts(&message.event, &message.data) else { continue };
            if event.is_last() {
                return Ok(event);
            }
            on(&event);
        }
        Err(AttemptError::Midway("the agent closed the connection".to_owned()))
    }

    /// One call that answers with JSON.
    pub async fn call(
        &self,
        method: Method,
        path: &str,
        body: Option<&Value>,
    ) -> Result<HttpReply, AttemptError> {
        collect(self.send(method, path, body).await?).await
    }

    /// The events of a task after `seen`.
    pub async fn task_events(&self, id: &str, seen: u64) -> Result<Events, AttemptError> {
        let path = format!("/tasks/{id}/events?after={seen}");
        let response = self.send(Method::GET, &path, None).await?;
        if response.status().is_success() {
            return Ok(Events::new(response.into_body()));
        }
        let why = collect(response).await?.error().map(|f| f.message);
        Err(AttemptError::Midway(why.unwrap_or_default()))
    }

    async fn send(
        &self,
        method: Method,
        path: &str,
        body: Option<&Value>,
    ) -> Result<Response<Incoming>, AttemptError> {
        let session = match &self.person {
            Some(person) => person.token().await,
            None => String::new(),
        };
        let stream = UnixStream::connect(&self.path)
            .await
            .map_err(|e| AttemptError::Closed(e.kind(), e.to_string()))?;
        let midway = |e: hyper::Error| AttemptError::Midway(e.to_string());
        let (mut sender, connection) =
            hyper::client::conn::http1::handshake(TokioIo::new(stream)).await.map_err(midway)?;
        tokio::spawn(connection);
        let body = body.map(Value::to_string).unwrap_or_default();
        let request = Request::builder()
            .method(method)
            .uri(path)
            .header("host", "localhost")
            .header("content-type", "application/json")
            .header("traceparent", crate::protocol::trace::traceparent())
            .header(SESSION, session)
            .body(Full::new(Bytes::from(body)))
            .map_err(|e| AttemptError::Closed(ErrorKind::InvalidInput, e.to_string()))?;
        sender.send_request(request).await.map_err(midway)
    }
}

async fn collect(response: Response<Incoming>) -> Result<HttpReply, AttemptError> {
    let status = response.status();
    let limited = http_body_util::Limited::new(response.into_body(), ANSWER_LIMIT);
    let bytes = limited.collect().await.map_err(|e| AttemptError::Midway(e.to_string()))?.to_bytes();
    let body = serde_json::from_slice(&bytes)
        .unwrap_or_else(|_| Value::String(String::from_utf8_lossy(&bytes).into_owned()));
    Ok(HttpReply { status, body })
}
