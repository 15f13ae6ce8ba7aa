//! From a call's name and arguments to what is asked of the helper.

use super::offer::{RESULT, TOOLS, WAIT_MAX_S};
use crate::llm::tools::{self, NoCall};
use crate::protocol::args::Of;
use crate::protocol::event::AgentError;
use crate::protocol::mode::Mode;
use crate::protocol::request::Request;
use crate::protocol::tool::{PackageTool, Tool};
use crate::protocol::tool_request::request;
use serde_json::{Map, Value, json};
use std::time::Duration;

/// One call, its arguments checked.
#[derive(Clone, Debug)]
pub struct Order {
    /// The action.
    pub what: What,
    /// How far.
    pub mode: Mode,
    /// Why.
    pub reason: String,
    /// How long the call waits, if it says so.
    pub wait: Option<Duration>,
}

/// The action that a call asks for.
#[derive(Clone, Debug)]
pub enum What {
    /// A request as it is.
    Request(Request),
    /// A diff: the request is made from what the files hold.
    Patch(String),
    /// The newest change of this session is taken back.
    UndoLast,
    /// The outcome of a request.
    Result(String),
}

impl Order {
    /// The question for the outcome of an earlier request.
    #[must_use]
    pub fn outcome_of(id: &str) -> Self {
        let reason = format!("the outcome of {id}");
        Self { what: What::Result(id.to_owned()), mode: Mode::Execute, reason, wait: None }
    }

    /// No further than this: where changes are only previewed, looking is looking still.
    #[must_use]
    pub fn within(self, mode: Mode) -> Self {
        let is_effect = match &self.what {
            What::Request(request) => request.is_effect(),
            What::Patch(_) | What::UndoLast => true,
            What::Result(_) => false,
        };
        if is_effect && mode != Mode::Execute { Self { mode, ..self } } else { self }
    }
}

/// Reads a call.
///
/// # Errors
/// There is no such tool, or the arguments are not exactly its own.
pub fn read(name: &str, mut args: Map<String, Value>) -> Result<Order, AgentError> {
    let invalid = |why: String| AgentError::new("invalid_argument", why);
    let dry_run = taken(&mut args, "dry_run", Value::as_bool, "true or false").map_err(invalid)?;
    let reason =
        taken(&mut args, "reason", |value| value.as_str().map(str::to_owned), "a text").map_err(invalid)?;
    let wait = taken(&mut args, "wait_s", Value::as_u64, "a number of seconds").map_err(invalid)?;
    if wait.is_some_and(|wait| wait > WAIT_MAX_S) {
        return Err(invalid(format!("wait_s is at most {WAIT_MAX_S}")));
    }
    let order = order(name, args)?;
    let mode = if dry_run == Some(true) { Mode::Preview } else { order.mode };
    let reason = reason.unwrap_or(order.reason);
    Ok(Order { mode, reason, wait: wait.map(Duration::from_secs), ..order })
}

/// Parses a call's arguments.
fn order(name: &str, args: Map<String, Value>) -> Result<Order, AgentError> {
    let of = |what, mode, reason| Order { what, mode, reason, wait: None };
    if name == RESULT {
        return match args.into_iter().collect::<Vec<_>>().as_slice() {
            [(key, Value::String(id))] if key == "request_id" => Ok(Order::outcome_of(id)),
            _ => Err(AgentError::new(
                "invalid_argument",
                "request_id is a text, and nothing else belongs here",
            )),
        };
    }
    let call = tools::check(TOOLS, name, args).map_err(|no_call| match no_call {
        NoCall::UnknownTool => AgentError::new(
            "unknown_tool",
            postern_text::unknown("tool", name, TOOLS.iter().map(|tool| tool.name)),
        ),
        NoCall::BadArgs(why) => AgentError::new("invalid_argument", why),
    })?;
    let tool: Tool = serde_json::from_value(json!(call)).map_err(|error| {
        let why = postern_text::with_nearest(&error.to_string());
        AgentError::new("invalid_argument", format!("these are no arguments of {name}: {why}"))
    })?;
    let words = tool.reason();
    let what = match &tool {
        Tool::ApplyPatch { diff } => What::Patch(diff.clone()),
        Tool::Undo { request_id } if request_id == "last" => What::UndoLast,
        // Looked at, never done: an upgrade of everything has an action of its own.
        Tool::Package(PackageTool::ListUpgrades {}) => {
            let all = Tool::Package(PackageTool::Upgrade { names: Vec::new() });
            return Ok(of(What::Request(single(name, &all)?), Mode::Preview, words));
        }
        tool => What::Request(single(name, tool)?),
    };
    Ok(of(what, Mode::Execute, words))
}

fn single(name: &str, tool: &Tool) -> Result<Request, AgentError> {
    request(tool).ok_or_else(|| AgentError::new("invalid_argument", format!("{name} is no request")))
}

/// The recorded outcome of a request.
pub fn recorded(of: &str) -> Request {
    Request::RequestResult(Of { of: of.to_owned() })
}

fn taken<T>(
    args: &mut Map<String, Value>,
    key: &str,
    read: impl Fn(&Value) -> Option<T>,
    kind: &str,
) -> Result<Option<T>, String> {
    match args.remove(key) {
        None => Ok(None),
        Some(value) => read(&value).map(Some).ok_or_else(|| format!("{key} is {kind}")),
    }
}
