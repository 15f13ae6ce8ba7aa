//! `postern model`.

use super::session::Session;
use super::subcommands::{Endpoint, Model};
use crate::config;
use crate::llm::endpoints;
use crate::llm::endpoints::{Format, ToolCalls};
use crate::llm::reply_parser::{self, Code, Reading};
use crate::llm::tools::{Call, TOOLS};
use crate::llm::trial::{TrialCall, trial};
use crate::protocol::event::AgentError;
use crate::protocol::exit::Exit;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};
use std::io::Read;
use std::path::PathBuf;

/// A reading as it is printed.
#[derive(Serialize)]
#[serde(untagged)]
enum Printed<'r> {
    Call {
        #[serde(flatten)]
        call: &'r Call,
        multiple: bool,
    },
    Error {
        error: Code,
        multiple: bool,
    },
}

impl<'r> From<&'r Reading> for Printed<'r> {
    fn from(reading: &'r Reading) -> Self {
        let multiple = reading.is_multiple;
        match &reading.call {
            Ok(call) => Self::Call { call, multiple },
            Err(malformed) => Self::Error { error: malformed.code, multiple },
        }
    }
}

/// A row of a corpus: `expect` is a call or an error's code.
#[derive(Deserialize)]
struct Row {
    id: String,
    text: String,
    expect: Value,
    multiple: bool,
}

impl Session<'_> {
    pub(super) async fn model(&mut self, command: Model) -> Exit {
        let done = match command {
            Model::Read { corpus: None } => self.read_reply(),
            Model::Read { corpus: Some(corpus) } => self.read_corpus(&corpus),
            Model::Test(endpoint) => self.test_model(endpoint).await,
        };
        done.unwrap_or_else(|why| self.fail(&AgentError::new("failed", why)))
    }

    fn read_reply(&mut self) -> Result<Exit, String> {
        let mut reply = String::new();
        self.console.input.read_to_string(&mut reply).map_err(|e| format!("cannot read the reply: {e}"))?;
        let reading = reply_parser::read(&reply, TOOLS);
        self.console.json(&Printed::from(&reading));
        if let Err(malformed) = &reading.call
            && !self.is_silent()
        {
            self.console.say(&malformed.why);
        }
        Ok(Exit::Done)
    }

    fn read_corpus(&mut self, corpus: &PathBuf) -> Result<Exit, String> {
        let name = corpus.display();
        let text = std::fs::read_to_string(corpus).map_err(|e| format!("cannot read {name}: {e}"))?;
        let (mut rows, mut held) = (0, 0);
        for (index, line) in text.lines().enumerate().filter(|(_, line)| !line.trim().is_empty()) {
            let row: Row = serde_json::from_str(line).map_err(|e| format!("{name}:{}: {e}", index + 1))?;
            let reading = reply_parser::read(&row.text, TOOLS);
            let got = match &reading.call {
                Ok(call) => json!(call),
                Err(malformed) => json!(malformed.code),
            };
            rows += 1;
            if got == row.expect && reading.is_multiple == row.multiple {
                held += 1;
                continue;
            }
            let differs =
                |expect: &Value, multiple| format!("{expect}{}", if multiple { " of several" } else { "" });
            let (expected, got) = (differs(&row.expect, row.multiple), differs(&got, reading.is_multiple));
            self.console.result(&format!("{}: expected {expected}, read {got}", row.id));
        }
        self.console.result(&format!("{held} of {rows}"));
        Ok(if held == rows { Exit::Done } else { Exit::Failed })
    }

    async fn test_model(&mut self, over: Endpoint) -> Result<Exit, String> {
        let mut config = config::read(&self.host.config)?;
        let own = &mut config.model;
        own.provider = over.provider.unwrap_or(own.provider);
        own.base_url = over.base_url.or(own.base_url.take());
        own.name = over.name.unwrap_or(std::mem::take(&mut own.name));
        own.key = over.key.or(own.key.take());
        let endpoint = endpoints::Endpoint::new(&config.model, &config.retry)?;
        let none =
            "there is no endpoint: give provider in [model] of agent.toml, or --provider and --base-url";
        let endpoint = endpoint.ok_or(none)?;
        let limit = self.global.timeout.unwrap_or(config.model.timeout.0);
        let found =
            trial(&endpoint, limit).await.map_err(|failure| format!("{}: {failure}", endpoint.url()))?;
        let works = found.call.is_call();
        if self.global.json.is_some() {
            self.console.json(&found);
        } else {
            let usage = found.usage;
            let streamed = if found.is_streamed { "streamed" } else { "in one piece" };
            let describe = |asked: &TrialCall| match asked {
                TrialCall::Call(call) => format!("reads well: {}", json!(call)),
                TrialCall::NoCall(why) => format!("asked for, but {why}"),
            };
            let tools = match found.abilities.tools {
                ToolCalls::Taken => describe(&found.call),
                ToolCalls::Untried | ToolCalls::Refused => "refused: calls are text".to_owned(),
            };
            let text = match (&found.call_in_text, found.abilities.tools) {
                (Some(asked), _) => describe(asked),
                (None, ToolCalls::Refused) => describe(&found.call),
                (None, ToolCalls::Taken | ToolCalls::Untried) => "not needed".to_owned(),
            };
            let form = match found.abilities.format {
                Format::Schema => "json_schema",
                Format::Object => "json_object",
                Format::None => "none",
            };
            self.console.result(&format!(
                "endpoint     {}\nanswers      in {} ms, {streamed}; {} tokens in, {} out\ntool calls   {tools}\n\
                 text calls   {text}\nform         {form}\n",
                found.url, found.latency_ms, usage.input, usage.output
            ));
        }
        Ok(if works { Exit::Done } else { Exit::Failed })
    }
}
