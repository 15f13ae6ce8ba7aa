//! Prompts to a model and its replies, independent of the wire format.

use super::reply_parser::{self, Reading};
use super::tools::Tool;
use serde::{Deserialize, Serialize};

/// A request to a model.
#[derive(Clone, Copy, Debug)]
pub struct Prompt<'p> {
    /// The system prompt.
    pub system: &'p str,
    /// The conversation so far; the last turn is not the model's.
    pub turns: &'p [Turn],
    /// The tools offered.
    pub tools: &'p [Tool],
}

/// Somebody's turn.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Turn {
    /// A person's words, or the agent's own.
    User(String),
    /// The model's.
    Model(Reply),
    /// Results of the calls of the turn before.
    Results(Vec<CallResult>),
}

/// Result of one call.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CallResult {
    /// The call's id; empty where the call was text.
    pub id: String,
    /// JSON.
    pub text: String,
    /// The call failed or was not made.
    pub is_error: bool,
}

/// A call in the fields of a wire format, not read yet.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct NativeCall {
    /// The endpoint's id of it; may be empty.
    pub id: String,
    /// The tool.
    pub name: String,
    /// JSON, as the model wrote it.
    pub arguments: String,
}

/// Why a model stopped.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum StopReason {
    /// It had said what it wanted.
    #[default]
    Done,
    /// The limit of tokens: what it said may be cut off.
    Length,
    /// The endpoint or the model refused to go on.
    Refusal,
}

impl StopReason {
    /// Returns the word in JSON.
    #[must_use]
    pub fn word(self) -> &'static str {
        match self {
            Self::Done => "done",
            Self::Length => "length",
            Self::Refusal => "refusal",
        }
    }
}

/// Tokens, as the endpoint counts them.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct Usage {
    /// Read.
    pub input: u64,
    /// Of those, from a cache.
    pub cached_input: u64,
    /// Written.
    pub output: u64,
}

/// A model's answer.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct Reply {
    /// Its words, without reasoning that came in a field of its own.
    pub text: String,
    /// Its calls in fields of the wire format.
    pub calls: Vec<NativeCall>,
    /// Why it stopped.
    pub stop: StopReason,
    /// Tokens.
    pub usage: Usage,
}

impl Reply {
    /// The calls in it, each with the id under which its result is awaited. Where the wire format has
    /// calls, the words beside them are none.
    #[must_use]
    pub fn read(&self, tools: &[Tool]) -> Vec<(&str, Reading)> {
        if self.calls.is_empty() {
            return vec![("", reply_parser::read(&self.text, tools))];
        }
        let is_multiple = self.calls.len() > 1;
        let read = |call: &NativeCall| Reading {
            is_multiple,
            ..reply_parser::read_native(&call.name, &call.arguments, tools)
        };
        self.calls.iter().map(|call| (call.id.as_str(), read(call))).collect()
    }
}
