//! Limits results in the model's context: each one, and all of one request together.

use super::tool_result::{CallOutcome, ToolResult};
use crate::inspect::UNREAD;
use crate::llm::conversation::{CallResult, Turn};
use crate::llm::tools::{REQUEST_OUTPUT, Time};
use serde_json::{Value, json};
use std::time::Duration;

/// Size to which all results of a request are cut once they exceed [`REQUEST_OUTPUT`]: well below it, so that the
/// cut is rare and the endpoint's prompt cache stays valid for some turns.
const FITTED: usize = REQUEST_OUTPUT / 3 * 2;

/// How much later a call is ended than it should have ended itself, with what it has.
const GRACE: Duration = Duration::from_secs(1);

/// Runs a call within the time limit of its tool.
pub async fn within(time: Time, run: impl Future<Output = ToolResult>) -> ToolResult {
    let Time::Within(limit) = time else { return run.await };
    let timed_out = || json!({ "status": "timeout", "error": "timeout: it took too long", "unread": UNREAD });
    let late = |_| ToolResult { content: timed_out(), outcome: CallOutcome::Failed };
    tokio::time::timeout(limit + GRACE, run).await.unwrap_or_else(late)
}

/// A result as JSON of at most so many characters: its longest texts lose their middle, and say so.
#[must_use]
pub fn shown(content: Value, limit: usize) -> String {
    shortened(content, limit).to_string()
}

/// The same before it is written down.
#[must_use]
pub fn shortened(mut content: Value, limit: usize) -> Value {
    let mut most = limit;
    // Each round halves what a text may be: JSON's escapes make them longer than they are.
    while size(&content) > limit && most > 100 {
        most /= 2;
        shorten(&mut content, most);
    }
    if size(&content) > limit {
        let error = format!("the result has more than {limit} characters: ask for less. {UNREAD}");
        content = json!({ "status": "truncated", "error": error });
    }
    content
}

fn size(content: &Value) -> usize {
    content.to_string().chars().count()
}

fn shorten(value: &mut Value, most: usize) {
    match value {
        Value::String(text) => {
            let count = text.chars().count();
            if count > most {
                let head: String = text.chars().take(most / 3 * 2).collect();
                let tail: String = text.chars().skip(count - most / 4).collect();
                let left = text.len().saturating_sub(head.len() + tail.len());
                *text =
                    format!("{head}\n[{left} bytes are left out here: do not infer what they say]\n{tail}");
            }
        }
        Value::Array(items) => items.iter_mut().for_each(|item| shorten(item, most)),
        Value::Object(members) => members.values_mut().for_each(|member| shorten(member, most)),
        Value::Null | Value::Bool(_) | Value::Number(_) => {}
    }
}

/// Leaves out the oldest results where a request would hold too many characters of them.
pub fn fit(turns: &mut [Turn]) {
    let results = |turn: &Turn| match turn {
        Turn::Results(results) => results.iter().map(|result| result.text.chars().count()).sum(),
        Turn::User(_) | Turn::Model(_) => 0,
    };
    let mut total: usize = turns.iter().map(results).sum();
    if total <= REQUEST_OUTPUT {
        return;
    }
    let left_out = json!({
        "status": "truncated",
        "error": format!("this earlier result is left out for want of room; call again what you need. {UNREAD}"),
    });
    let left_out = left_out.to_string();
    for turn in turns {
        let Turn::Results(results) = turn else { continue };
        for CallResult { text, .. } in results.iter_mut().filter(|result| result.text.len() > left_out.len())
        {
            if total <= FITTED {
                return;
            }
            total -= text.chars().count() - left_out.len();
            text.clone_from(&left_out);
        }
    }
}
