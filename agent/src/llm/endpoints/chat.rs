//! `OpenAI`'s chat completions, as everybody offers them.

use super::failure::{Failure, Kind, one_line};
use super::wire::{arguments, count, nullable, paired, words};
use super::{Abilities, Format};
use crate::config::tables::Model;
use crate::config::values::TokenParameter;
use crate::llm::conversation::{NativeCall, Prompt, Reply, StopReason, Turn, Usage};
use crate::llm::text_calls;
use serde::Deserialize;
use serde_json::{Map, Value, json};

/// The body of a request.
#[must_use]
pub fn request(model: &Model, prompt: &Prompt<'_>, abilities: Abilities) -> Value {
    let mut body = Map::new();
    if !model.name.is_empty() {
        body.insert("model".to_owned(), json!(model.name));
    }
    let limit = match model.token_parameter {
        TokenParameter::MaxTokens => "max_tokens",
        TokenParameter::MaxCompletionTokens => "max_completion_tokens",
    };
    body.insert(limit.to_owned(), json!(model.max_tokens));
    body.insert("stream".to_owned(), json!(true));
    if abilities.stream_usage {
        body.insert("stream_options".to_owned(), json!({ "include_usage": true }));
    }
    let is_native = abilities.tools.may_be_used() && !prompt.tools.is_empty();
    body.insert("messages".to_owned(), messages(prompt, is_native));
    if is_native {
        let function = |tool: &crate::llm::tools::Tool| {
            let function =
                json!({ "name": tool.name, "description": tool.about(), "parameters": tool.schema() });
            json!({ "type": "function", "function": function })
        };
        body.insert("tools".to_owned(), prompt.tools.iter().map(function).collect());
    } else if !prompt.tools.is_empty() {
        let format = match abilities.format {
            Format::Schema => Some(json!({ "type": "json_schema", "json_schema": {
                "name": "call", "strict": true, "schema": text_calls::schema(prompt.tools) } })),
            Format::Object => Some(json!({ "type": "json_object" })),
            Format::None => None,
        };
        body.extend(format.map(|format| ("response_format".to_owned(), format)));
    }
    super::wire::add_extra(model, &mut body);
    Value::Object(body)
}

fn messages(prompt: &Prompt<'_>, is_native: bool) -> Value {
    let mut system = prompt.system.to_owned();
    if !is_native && !prompt.tools.is_empty() {
        system.push_str(&text_calls::instructions(prompt.tools));
    }
    let mut messages = vec![json!({ "role": "system", "content": system })];
    for turn in paired(prompt.turns) {
        match turn {
            Turn::User(text) => messages.push(json!({ "role": "user", "content": text })),
            Turn::Model(reply) if is_native && !reply.calls.is_empty() => {
                let call = |call: &NativeCall| {
                    let function = json!({ "name": call.name, "arguments": call.arguments });
                    json!({ "id": call.id, "type": "function", "function": function })
                };
                let calls: Vec<Value> = reply.calls.iter().map(call).collect();
                messages.push(json!({ "role": "assistant", "content": reply.text, "tool_calls": calls }));
            }
            Turn::Model(reply) => {
                messages.push(json!({ "role": "assistant", "content": text_calls::as_text(&reply) }));
            }
            Turn::Results(results) if is_native && results.iter().all(|result| !result.id.is_empty()) => {
                messages.extend(results.into_iter().map(
                    |result| json!({ "role": "tool", "tool_call_id": result.id, "content": result.text }),
                ));
            }
            Turn::Results(results) => {
                messages.push(json!({ "role": "user", "content": text_calls::results(&results) }));
            }
        }
    }
    Value::Array(messages)
}

#[derive(Default, Deserialize)]
#[serde(default)]
struct Chunk {
    #[serde(deserialize_with = "nullable")]
    choices: Vec<Choice>,
    usage: Value,
    error: Value,
}

#[derive(Default, Deserialize)]
#[serde(default)]
struct Choice {
    /// In a stream.
    #[serde(deserialize_with = "nullable")]
    delta: Part,
    /// Without one.
    #[serde(deserialize_with = "nullable")]
    message: Part,
    #[serde(deserialize_with = "nullable")]
    finish_reason: String,
}

#[derive(Default, Deserialize)]
#[serde(default)]
struct Part {
    content: Value,
    refusal: Value,
    #[serde(deserialize_with = "nullable")]
    tool_calls: Vec<PartialCall>,
}

#[derive(Default, Deserialize)]
#[serde(default)]
struct PartialCall {
    index: Option<usize>,
    #[serde(deserialize_with = "nullable")]
    id: String,
    #[serde(deserialize_with = "nullable")]
    function: PartialFunction,
}

#[derive(Default, Deserialize)]
#[serde(default)]
struct PartialFunction {
    #[serde(deserialize_with = "nullable")]
    name: String,
    arguments: Value,
}

/// An answer that is being put together.
#[derive(Default)]
pub struct ChatReply {
    reply: Reply,
    /// The place of each call, as the endpoint numbers them.
    places: Vec<Option<usize>>,
    is_whole: bool,
}

impl ChatReply {
    /// Takes a chunk of a stream, or a whole answer; gives the words in it.
    ///
    /// # Errors
    /// It is an error of the endpoint, or not of this form.
    pub fn take(&mut self, data: &str) -> Result<String, Failure> {
        if data.trim() == "[DONE]" {
            self.is_whole = true;
            return Ok(String::new());
        }
        let chunk: Chunk = serde_json::from_str(data).map_err(|_| {
            Failure::new(
                Kind::Form,
                format!("the endpoint's answer is no chat completion: {}", one_line(data)),
            )
        })?;
        if !chunk.error.is_null() {
            return Err(super::failure::in_stream(&chunk.error));
        }
        if chunk.usage.is_object() {
            self.reply.usage = Usage {
                input: count(&chunk.usage, "/prompt_tokens"),
                cached_input: count(&chunk.usage, "/prompt_tokens_details/cached_tokens"),
                output: count(&chunk.usage, "/completion_tokens"),
            };
        }
        let mut said = String::new();
        // One answer was asked for.
        if let Some(choice) = chunk.choices.into_iter().next() {
            for part in [choice.delta, choice.message] {
                said.push_str(&words(&part.content));
                if part.refusal.as_str().is_some_and(|text| !text.is_empty()) {
                    self.reply.stop = StopReason::Refusal;
                }
                part.tool_calls.into_iter().for_each(|call| self.call(call));
            }
            self.is_whole |= !choice.finish_reason.is_empty();
            match choice.finish_reason.as_str() {
                "length" => self.reply.stop = StopReason::Length,
                "content_filter" => self.reply.stop = StopReason::Refusal,
                _ => {}
            }
        }
        self.reply.text.push_str(&said);
        Ok(said)
    }

    /// A call, or the next piece of one: known by its number, or where servers leave that out, by a new id.
    fn call(&mut self, part: PartialCall) {
        let calls = &mut self.reply.calls;
        let known = match part.index {
            Some(index) => self.places.iter().position(|place| *place == Some(index)),
            None if part.id.is_empty() && part.function.name.is_empty() => calls.len().checked_sub(1),
            None => calls.iter().position(|call| !part.id.is_empty() && call.id == part.id),
        };
        let at = known.unwrap_or_else(|| {
            self.places.push(part.index);
            calls.push(NativeCall::default());
            calls.len() - 1
        });
        let call = &mut calls[at];
        // Sent once or with each piece, never in pieces.
        if call.id.is_empty() {
            call.id = part.id;
        }
        if call.name.is_empty() {
            call.name = part.function.name;
        }
        call.arguments.push_str(&arguments(&part.function.arguments));
    }

    /// The answer, once the stream has ended.
    ///
    /// # Errors
    /// The stream broke off before the answer was whole.
    pub fn finish(mut self) -> Result<Reply, Failure> {
        if !self.is_whole {
            return Err(Failure::new(Kind::Connection, "the endpoint's answer broke off"));
        }
        for (number, call) in self.reply.calls.iter_mut().enumerate() {
            if call.id.is_empty() {
                call.id = format!("call_{number}");
            }
        }
        Ok(self.reply)
    }
}
