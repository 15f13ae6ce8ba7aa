//! Replies from a file in the place of a model: for trying the agent, its policy and its sandbox without one.

use super::Chunk;
use super::failure::{Failure, Kind};
use crate::llm::conversation::{NativeCall, Prompt, Reply, Turn, Usage};
use serde::Deserialize;
use serde_json::Value;
use std::path::Path;

/// The replies, in their order.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Script {
    replies: Vec<Scripted>,
}

/// One reply: words, calls, or both.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(default, deny_unknown_fields)]
struct Scripted {
    text: String,
    calls: Vec<ScriptedCall>,
}

#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct ScriptedCall {
    tool: String,
    #[serde(default)]
    args: Value,
}

impl Script {
    /// Reads a file of replies.
    ///
    /// # Errors
    /// One line: the file, and what is wrong with it.
    pub fn read(path: &Path) -> Result<Self, String> {
        let name = path.display();
        let text = std::fs::read_to_string(path).map_err(|error| format!("cannot read {name}: {error}"))?;
        let script: Self = serde_saphyr::from_str(&text)
            .map_err(|error| format!("{name}: {}", error.to_string().lines().next().unwrap_or_default()))?;
        if script.replies.is_empty() {
            return Err(format!("{name}: it has no replies"));
        }
        Ok(script)
    }

    /// The reply to a conversation: as many as it has are used up. The last one is given again.
    ///
    /// # Errors
    /// None is left.
    pub fn answer(
        &self,
        prompt: &Prompt<'_>,
        listener: &(dyn Fn(Chunk<'_>) + Send + Sync),
    ) -> Result<Reply, Failure> {
        let used = prompt.turns.iter().filter(|turn| matches!(turn, Turn::Model(_))).count();
        let reply = self.replies.get(used).or(self.replies.last());
        let Scripted { text, calls } =
            reply.ok_or_else(|| Failure::new(Kind::Form, "the script is empty"))?;
        listener(Chunk::Again);
        listener(Chunk::Words(text));
        let call = |(number, call): (usize, &ScriptedCall)| NativeCall {
            id: format!("call_{used}_{number}"),
            name: call.tool.clone(),
            arguments: if call.args.is_null() { "{}".to_owned() } else { call.args.to_string() },
        };
        Ok(Reply {
            text: text.clone(),
            calls: calls.iter().enumerate().map(call).collect(),
            usage: Usage::default(),
            ..Reply::default()
        })
    }
}
