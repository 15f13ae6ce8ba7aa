//! Anthropic's messages.

use super::failure::{Failure, Kind, in_stream, one_line};
use super::wire::{arguments, count, paired};
use crate::config::tables::Model;
use crate::llm::conversation::{CallResult, NativeCall, Prompt, Reply, StopReason, Turn, Usage};
use crate::llm::text_calls;
use serde_json::{Map, Value, json};

/// The version of the API that this speaks.
pub const VERSION: &str = "2023-06-01";

/// The body of a request.
#[must_use]
pub fn request(model: &Model, prompt: &Prompt<'_>) -> Value {
    let mut body = Map::new();
    body.insert("model".to_owned(), json!(model.name));
    body.insert("max_tokens".to_owned(), json!(model.max_tokens));
    body.insert("stream".to_owned(), json!(true));
    body.insert("system".to_owned(), json!(prompt.system));
    body.insert("messages".to_owned(), messages(prompt));
    if !prompt.tools.is_empty() {
        let tool = |tool: &crate::llm::tools::Tool| json!({ "name": tool.name, "description": tool.about(), "input_schema": tool.schema() });
        body.insert("tools".to_owned(), prompt.tools.iter().map(tool).collect());
    }
    super::wire::add_extra(model, &mut body);
    Value::Object(body)
}

fn messages(prompt: &Prompt<'_>) -> Value {
    let message = |turn: Turn| match turn {
        Turn::User(text) => json!({ "role": "user", "content": [text_block(&text)] }),
        Turn::Model(reply) => {
            let text = if reply.calls.is_empty() && reply.text.trim().is_empty() {
                "(nothing)"
            } else {
                &reply.text
            };
            // The endpoint refuses an empty block.
            let text = (!text.trim().is_empty()).then(|| text_block(text));
            let content: Vec<Value> = text.into_iter().chain(reply.calls.iter().map(call_block)).collect();
            json!({ "role": "assistant", "content": content })
        }
        Turn::Results(results) if results.iter().all(|result| !result.id.is_empty()) => {
            let content: Vec<Value> = results.iter().map(result_block).collect();
            json!({ "role": "user", "content": content })
        }
        Turn::Results(results) => {
            json!({ "role": "user", "content": [text_block(&text_calls::results(&results))] })
        }
    };
    paired(prompt.turns).into_iter().map(message).collect()
}

fn text_block(text: &str) -> Value {
    json!({ "type": "text", "text": text })
}

fn call_block(call: &NativeCall) -> Value {
    // The API accepts only objects, which malformed arguments are not.
    let input = serde_json::from_str::<Map<String, Value>>(&call.arguments).unwrap_or_default();
    json!({ "type": "tool_use", "id": call.id, "name": call.name, "input": input })
}

fn result_block(result: &CallResult) -> Value {
    json!({ "type": "tool_result", "tool_use_id": result.id, "content": result.text, "is_error": result.is_error })
}

/// An answer that is being put together.
#[derive(Default)]
pub struct MessagesReply {
    reply: Reply,
    /// Each content block's number, and its place among the calls if it is one.
    blocks: Vec<(u64, Option<usize>)>,
    is_whole: bool,
}

impl MessagesReply {
    /// Takes the data of one event, or a whole answer; gives the words in it.
    ///
    /// # Errors
    /// It is an error of the endpoint, or not of this form.
    pub fn take(&mut self, data: &str) -> Result<String, Failure> {
        let form =
            || Failure::new(Kind::Form, format!("the endpoint's answer is no message: {}", one_line(data)));
        let event: Value = serde_json::from_str(data).map_err(|_| form())?;
        match event["type"].as_str().ok_or_else(form)? {
            "error" => return Err(in_stream(&event["error"])),
            "message_start" => self.usage(&event["message"]["usage"]),
            "content_block_start" => {
                return Ok(self.block(event["index"].as_u64().unwrap_or_default(), &event["content_block"]));
            }
            "content_block_delta" => return Ok(self.delta(&event)),
            "message_delta" => {
                self.usage(&event["usage"]);
                self.stop(&event["delta"]["stop_reason"]);
            }
            "message_stop" => self.is_whole = true,
            // Not a stream.
            "message" => {
                self.usage(&event["usage"]);
                self.stop(&event["stop_reason"]);
                self.is_whole = true;
                let blocks = event["content"].as_array().map(Vec::as_slice).unwrap_or_default();
                return Ok(blocks.iter().zip(0..).map(|(block, index)| self.block(index, block)).collect());
            }
            // The endpoint may send kinds of events that are newer than this.
            _ => {}
        }
        Ok(String::new())
    }

    fn block(&mut self, index: u64, block: &Value) -> String {
        let text = |key: &str| block[key].as_str().unwrap_or_default().to_owned();
        match block["type"].as_str() {
            Some("tool_use") => {
                self.blocks.push((index, Some(self.reply.calls.len())));
                let input = Some(&block["input"])
                    .filter(|input| input.as_object().is_some_and(|map| !map.is_empty()));
                let arguments = input.map(arguments).unwrap_or_default();
                self.reply.calls.push(NativeCall { id: text("id"), name: text("name"), arguments });
                String::new()
            }
            Some("text") => {
                self.blocks.push((index, None));
                let text = text("text");
                self.reply.text.push_str(&text);
                text
            }
            // Reasoning: it is not said.
            _ => String::new(),
        }
    }

    fn delta(&mut self, event: &Value) -> String {
        let index = event["index"].as_u64().unwrap_or_default();
        let block = self.blocks.iter().find(|(number, _)| *number == index).map(|(_, call)| *call);
        let delta = &event["delta"];
        match (delta["type"].as_str(), block) {
            (Some("text_delta"), Some(None)) => {
                let text = delta["text"].as_str().unwrap_or_default();
                self.reply.text.push_str(text);
                text.to_owned()
            }
            (Some("input_json_delta"), Some(Some(call))) => {
                let piece = delta["partial_json"].as_str().unwrap_or_default();
                self.reply.calls[call].arguments.push_str(piece);
                String::new()
            }
            _ => String::new(),
        }
    }

    fn stop(&mut self, reason: &Value) {
        self.reply.stop = match reason.as_str() {
            Some("max_tokens" | "model_context_window_exceeded") => StopReason::Length,
            Some("refusal") => StopReason::Refusal,
            Some(_) | None => StopReason::Done,
        };
    }

    /// The numbers stand in two events, each with some of them.
    fn usage(&mut self, usage: &Value) {
        let cached = count(usage, "/cache_read_input_tokens");
        let input = count(usage, "/input_tokens") + cached + count(usage, "/cache_creation_input_tokens");
        let own: &mut Usage = &mut self.reply.usage;
        own.input = own.input.max(input);
        own.cached_input = own.cached_input.max(cached);
        own.output = own.output.max(count(usage, "/output_tokens"));
    }

    /// The answer, once the stream has ended.
    ///
    /// # Errors
    /// The stream broke off before the answer was whole.
    pub fn finish(mut self) -> Result<Reply, Failure> {
        if !self.is_whole {
            return Err(Failure::new(Kind::Connection, "the endpoint's answer broke off"));
        }
        for call in &mut self.reply.calls {
            // A call without arguments comes without a piece of them.
            if call.arguments.is_empty() {
                "{}".clone_into(&mut call.arguments);
            }
        }
        Ok(self.reply)
    }
}
