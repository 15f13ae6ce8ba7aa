//! Tries an endpoint and says what it can do: what `postern model test` prints.

use super::conversation::{Prompt, Turn, Usage};
use super::endpoints::failure::Failure;
use super::endpoints::{Abilities, Chunk, Endpoint, ToolCalls};
use super::tools::{Call, TOOLS, Tool};
use serde::Serialize;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;
use tokio::time::Instant;

const SYSTEM: &str = "You administer one Debian host.";
const WORDS: &str = "Answer with the word ok.";
const ORDER: &str = "Look at the status of the unit nginx. Call the tool that does it.";

/// Result of a trial of an endpoint.
#[derive(Clone, Debug, Serialize)]
pub struct Trial {
    /// Where it answers.
    pub url: String,
    /// How long its first answer took.
    pub latency_ms: u64,
    /// Its answer came in pieces.
    pub is_streamed: bool,
    /// Tokens of the first answer; all zero where the endpoint does not count.
    pub usage: Usage,
    /// Learned abilities of the endpoint.
    pub abilities: Abilities,
    /// The call in the wire format's fields, or in text where the endpoint has none.
    pub call: TrialCall,
    /// The call in text, where the endpoint has native calls too.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub call_in_text: Option<TrialCall>,
}

/// Result of asking for a call.
#[derive(Clone, Debug, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum TrialCall {
    /// A call.
    Call(Call),
    /// Something else; why it is no call.
    NoCall(String),
}

impl TrialCall {
    /// A call came.
    #[must_use]
    pub fn is_call(&self) -> bool {
        matches!(self, Self::Call(_))
    }
}

/// Tries an endpoint, each question for at most `limit`.
///
/// # Errors
/// It does not answer.
pub async fn trial(endpoint: &Endpoint, limit: Duration) -> Result<Trial, Failure> {
    let begun = Instant::now();
    let pieces = AtomicUsize::new(0);
    let count = |heard: Chunk<'_>| match heard {
        Chunk::Words(_) => {
            pieces.fetch_add(1, Ordering::Relaxed);
        }
        Chunk::Again | Chunk::Retry(_) => pieces.store(0, Ordering::Relaxed),
    };
    let turns = [Turn::User(WORDS.to_owned())];
    let prompt = Prompt { system: SYSTEM, turns: &turns, tools: &[] };
    let first = endpoint.ask(&prompt, begun + limit, &count).await?;
    let latency_ms = u64::try_from(begun.elapsed().as_millis()).unwrap_or(u64::MAX);
    let call = ask(endpoint, limit, TOOLS).await?;
    let mut abilities = endpoint.abilities();
    let mut call_in_text = None;
    if abilities.tools == ToolCalls::Taken
        && let Some(text) = endpoint.with_calls_in_text()
    {
        call_in_text = Some(ask(&text, limit, TOOLS).await?);
        abilities.format = text.abilities().format;
    }
    Ok(Trial {
        url: endpoint.url().to_owned(),
        latency_ms,
        is_streamed: pieces.into_inner() > 1,
        usage: first.usage,
        abilities,
        call,
        call_in_text,
    })
}

async fn ask(endpoint: &Endpoint, limit: Duration, tools: &[Tool]) -> Result<TrialCall, Failure> {
    let turns = [Turn::User(ORDER.to_owned())];
    let prompt = Prompt { system: SYSTEM, turns: &turns, tools };
    let reply = endpoint.ask(&prompt, Instant::now() + limit, &|_| {}).await?;
    Ok(match reply.read(tools).swap_remove(0).1.call {
        Ok(call) => TrialCall::Call(call),
        Err(malformed) => TrialCall::NoCall(malformed.why),
    })
}
