//! Serves the replies of a task's model as they came, without secrets: they explain why a task ended as it did.

use super::app::{App, Caller, Peer};
use super::failure::{Failure, fault};
use super::tasks::find;
use crate::llm::conversation::{NativeCall, Reply};
use crate::protocol::owner::Right;
use crate::redaction::Secrets;
use axum::Json;
use axum::extract::connect_info::ConnectInfo;
use axum::extract::{Path, State};
use axum::http::StatusCode;
use axum::response::{IntoResponse, Response};
use serde::Serialize;
use serde_json::Value;
use std::sync::Arc;
use utoipa::ToSchema;

/// The most bytes of all replies in one answer.
const LIMIT: usize = 4 << 20;

/// The replies of a task's model.
#[derive(Serialize, ToSchema)]
pub struct Replies {
    /// The oldest first; none are kept of an older task.
    replies: Vec<RawReply>,
    /// The oldest that did not fit.
    left_out: usize,
}

/// One reply, without secrets.
#[derive(Serialize, ToSchema)]
pub struct RawReply {
    /// Counts from 1.
    number: usize,
    /// Its words.
    text: String,
    /// Its calls in fields of the wire format.
    calls: Vec<RawCall>,
    /// Why it ended: `done`, `length` or `refusal`.
    stop: String,
    /// Tokens of the request.
    input_tokens: u64,
    /// Tokens of the reply.
    output_tokens: u64,
}

/// A call as the model wrote it.
#[derive(Serialize, ToSchema)]
pub struct RawCall {
    /// The tool.
    name: String,
    /// Perhaps JSON.
    arguments: String,
}

#[utoipa::path(get, path = "/tasks/{id}/replies", params(("id" = String, Path, description = "or the beginning of it")),
    responses((status = 200, body = Replies), (status = "4XX", body = Failure)))]
/// The replies of the task's model as they came, without secrets. Of finished tasks the newest eight have them.
pub async fn replies(
    State(app): State<Arc<App>>,
    ConnectInfo(Peer(owner)): Caller,
    Path(id): Path<String>,
) -> Response {
    let entry = match find(&app, owner, Right::See, &id) {
        Ok(entry) => entry,
        Err(answer) => return *answer,
    };
    match entry.replies() {
        // Megabytes are searched for secrets.
        Ok(replies) => {
            match tokio::task::spawn_blocking(move || within_limit(&replies, &app.secrets)).await {
                Ok(shown) => Json(shown).into_response(),
                Err(error) => fault(StatusCode::SERVICE_UNAVAILABLE, "internal", &error.to_string()),
            }
        }
        Err(why) => fault(StatusCode::SERVICE_UNAVAILABLE, "internal", &why),
    }
}

/// Keeps the newest replies that fit in one answer.
fn within_limit(replies: &[Reply], secrets: &Secrets) -> Replies {
    let (mut shown, mut room) = (Vec::new(), LIMIT);
    for (index, reply) in replies.iter().enumerate().rev() {
        let reply = raw(index + 1, reply, secrets);
        let calls = reply.calls.iter().map(|call| call.name.len() + call.arguments.len());
        let size = reply.text.len() + calls.sum::<usize>();
        if size > room {
            break;
        }
        room -= size;
        shown.push(reply);
    }
    shown.reverse();
    Replies { left_out: replies.len() - shown.len(), replies: shown }
}

fn raw(number: usize, reply: &Reply, secrets: &Secrets) -> RawReply {
    let clean = |text: &str| clean(text, secrets);
    let call = |call: &NativeCall| RawCall { name: clean(&call.name), arguments: clean(&call.arguments) };
    RawReply {
        number,
        text: clean(&reply.text),
        calls: reply.calls.iter().map(call).collect(),
        stop: reply.stop.word().to_owned(),
        input_tokens: reply.usage.input,
        output_tokens: reply.usage.output,
    }
}

/// Takes secrets out of a text. In JSON the shapes of credentials are found in its strings, not beside its escapes.
fn clean(text: &str, secrets: &Secrets) -> String {
    match serde_json::from_str::<Value>(text) {
        Ok(mut value @ (Value::Object(_) | Value::Array(_))) => {
            within_json(&mut value, secrets);
            secrets.text(&value.to_string()).0
        }
        Ok(_) | Err(_) => secrets.text(text).0,
    }
}

/// Takes secrets out of the strings of a value, which may be JSON themselves.
fn within_json(value: &mut Value, secrets: &Secrets) {
    secrets.strings(value);
    match value {
        Value::String(text) => *text = clean(text, secrets),
        Value::Array(items) => items.iter_mut().for_each(|item| within_json(item, secrets)),
        Value::Object(members) => members.values_mut().for_each(|member| within_json(member, secrets)),
        Value::Null | Value::Bool(_) | Value::Number(_) => {}
    }
}
