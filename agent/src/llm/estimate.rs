//! Estimates how many tokens a request to a model has, before the endpoint counts them.

use super::conversation::{Prompt, Turn};
use serde::Serialize;

/// The tokens of one request, estimated.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Estimate {
    /// Instructions, with what the host is and what may be done.
    pub instructions: usize,
    /// Names, descriptions and schemas of the tools.
    pub tools: usize,
    /// Turns of the conversation and results of calls so far.
    pub conversation: usize,
    /// All of it.
    pub total: usize,
}

impl Estimate {
    /// Estimates a request that is about to be sent.
    #[must_use]
    pub fn of(prompt: &Prompt<'_>) -> Self {
        let tool = |tool: &super::tools::Tool| {
            tokens(tool.name) + tokens(tool.about()) + tokens(&tool.schema().to_string())
        };
        let (instructions, tools) = (tokens(prompt.system), prompt.tools.iter().map(tool).sum());
        let conversation = prompt.turns.iter().map(turn).sum();
        Self { instructions, tools, conversation, total: instructions + tools + conversation }
    }
}

fn turn(turn: &Turn) -> usize {
    match turn {
        Turn::User(words) => tokens(words),
        Turn::Model(reply) => {
            let calls = reply.calls.iter().map(|call| tokens(&call.name) + tokens(&call.arguments));
            tokens(&reply.text) + calls.sum::<usize>()
        }
        Turn::Results(results) => results.iter().map(|result| tokens(&result.text)).sum(),
    }
}

/// Estimates the tokens of a text, erring upwards: as the common tokenizers do, words, numbers of three digits
/// and runs of signs are counted each for itself, long words as several.
#[must_use]
pub fn tokens(text: &str) -> usize {
    let kind = |c: char| match c {
        c if c.is_alphabetic() => 0,
        c if c.is_ascii_digit() => 1,
        ' ' => 2,
        c if c.is_whitespace() => 3,
        _ => 4,
    };
    let (mut tokens, mut run, mut last) = (0, 0_usize, 2);
    for c in text.chars().chain(['\n']) {
        if kind(c) == last {
            run += 1;
            continue;
        }
        tokens += match last {
            0 => run.div_ceil(8),
            1 => run.div_ceil(3),
            // A blank belongs to the word after it.
            2 => 0,
            3 => 1,
            _ => run.div_ceil(4),
        };
        (run, last) = (1, kind(c));
    }
    tokens
}
