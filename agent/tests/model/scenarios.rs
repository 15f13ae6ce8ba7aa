//! Whole tasks with a scripted model behind a real HTTP server: one file of tests/scenarios each.

use crate::server::{Play, Server};
use postern_agent::agent_loop::dialogue::{Dialogue, End, ToolExecutor};
use postern_agent::agent_loop::history::{History, HistoryEntry};
use postern_agent::agent_loop::tool_result::{CallOutcome, ToolResult};
use postern_agent::config::Config;
use postern_agent::config::tables::Limits;
use postern_agent::config::values::{BaseUrl, Provider, Span, Value as _};
use postern_agent::llm::endpoints::{Chunk, Endpoint};
use postern_agent::llm::tools::{Call, TASK};
use postern_agent::protocol::plan::Expected;
use serde::Deserialize;
use serde_json::{Value, json};
use std::collections::VecDeque;
use std::num::NonZeroU32;
use std::path::Path;
use std::time::Duration;

/// A scenario, as its file has it.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Scenario {
    /// The behaviour that it holds fast.
    pins: String,
    #[serde(default = "openai")]
    provider: Provider,
    #[serde(default)]
    limits: Limits,
    /// Tokens that the model takes, where the configuration says so.
    #[serde(default)]
    context: Option<NonZeroU32>,
    /// The dialogue's history from an earlier process.
    #[serde(default)]
    kept: Vec<Value>,
    /// The endpoint's answers, in order.
    replies: Vec<Reply>,
    /// Results of the calls; when they are used up, calls succeed.
    #[serde(default)]
    results: Vec<Scripted>,
    expect: Expect,
}

fn openai() -> Provider {
    Provider::Openai
}

/// One answer of the endpoint: words, calls in the fields of the wire format, or a failure.
#[derive(Deserialize)]
#[serde(deny_unknown_fields, default)]
#[derive(Default)]
struct Reply {
    text: String,
    calls: Vec<Value>,
    stop: Option<String>,
    tokens: u64,
    status: Option<u16>,
    headers: bool,
    raises: Option<Raise>,
}

/// How the endpoint breaks off.
#[derive(Clone, Copy, Deserialize)]
#[serde(rename_all = "snake_case")]
enum Raise {
    Half,
    Reset,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Scripted {
    content: Value,
    #[serde(default)]
    outcome: How,
}

#[derive(Clone, Copy, Default, Deserialize)]
#[serde(rename_all = "snake_case")]
enum How {
    Changed,
    #[default]
    Ok,
    Failed,
    Cancelled,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Expect {
    /// The calls that are run, `{tool, args}` each.
    #[serde(default)]
    calls: Vec<Value>,
    /// `finished`, `failed`, `out_of_budget` or `cancelled`.
    end: String,
    /// Part of the words that it ends with.
    #[serde(default)]
    words: String,
    /// Parts of the last request to the model.
    #[serde(default)]
    told: Vec<String>,
    /// Texts that it must not contain.
    #[serde(default)]
    untold: Vec<String>,
    /// How often the endpoint was asked.
    requests: usize,
}

struct Script {
    results: VecDeque<Scripted>,
    calls: Vec<Value>,
}

impl Script {
    fn next(&mut self) -> ToolResult {
        match self.results.pop_front() {
            None => ToolResult { content: json!({ "status": "ok" }), outcome: CallOutcome::Ok },
            Some(Scripted { content, outcome }) => {
                let outcome = match outcome {
                    How::Changed => CallOutcome::Changed,
                    How::Ok => CallOutcome::Ok,
                    How::Failed => CallOutcome::Failed,
                    How::Cancelled => CallOutcome::Cancelled,
                };
                ToolResult { content, outcome }
            }
        }
    }
}

impl ToolExecutor for Script {
    async fn run(&mut self, call: &Call) -> ToolResult {
        self.calls.push(json!(call));
        self.next()
    }

    async fn verify(&mut self, expected: &Expected) -> ToolResult {
        self.calls.push(json!({ "verify": expected }));
        self.next()
    }

    fn stream_listener(&self) -> impl Fn(Chunk<'_>) + Send + Sync + 'static {
        |_| {}
    }

    fn cancelled(&self) -> impl Future<Output = ()> + Send + 'static {
        std::future::pending()
    }
}

fn events(datas: &[Value]) -> String {
    datas.iter().map(|data| format!("data: {data}\n\n")).collect::<Vec<_>>().concat()
}

/// Arguments as a model wrote them: an object, or text where that is to be odd.
fn arguments(call: &Value) -> String {
    call["args"].as_str().map_or_else(|| call["args"].to_string(), str::to_owned)
}

fn chat(reply: &Reply) -> String {
    let mut datas = vec![json!({ "choices": [{ "delta": { "role": "assistant", "content": reply.text } }] })];
    for (call, index) in reply.calls.iter().zip(0..) {
        let function = json!({ "name": call["tool"], "arguments": arguments(call) });
        let call = json!({ "index": index, "id": format!("call_{index}"), "type": "function", "function": function });
        datas.push(json!({ "choices": [{ "delta": { "tool_calls": [call] } }] }));
    }
    datas.push(
        json!({ "choices": [{ "delta": {}, "finish_reason": reply.stop.as_deref().unwrap_or("stop") }] }),
    );
    datas.push(json!({ "choices": [], "usage": { "prompt_tokens": reply.tokens, "completion_tokens": 0 } }));
    events(&datas) + "data: [DONE]\n\n"
}

fn messages(reply: &Reply) -> String {
    let mut datas =
        vec![json!({ "type": "message_start", "message": { "usage": { "input_tokens": reply.tokens } } })];
    let text = (!reply.text.is_empty()).then(|| json!({ "type": "text", "text": reply.text }));
    let calls = reply.calls.iter().zip(0..).map(|(call, index)| {
        json!({ "type": "tool_use", "id": format!("call_{index}"), "name": call["tool"], "input": {}, "arguments": arguments(call) })
    });
    for (block, index) in text.into_iter().chain(calls).zip(0..) {
        let piece = json!({ "type": "input_json_delta", "partial_json": block["arguments"] });
        datas.push(json!({ "type": "content_block_start", "index": index, "content_block": block }));
        if block["type"] == "tool_use" {
            datas.push(json!({ "type": "content_block_delta", "index": index, "delta": piece }));
        }
    }
    let stop = reply.stop.as_deref().unwrap_or("end_turn");
    datas.push(json!({ "type": "message_delta", "delta": { "stop_reason": stop }, "usage": {} }));
    datas.push(json!({ "type": "message_stop" }));
    events(&datas)
}

fn play(provider: Provider, reply: &Reply) -> Play {
    let stream = if provider == Provider::Anthropic { messages(reply) } else { chat(reply) };
    let half = || stream[..stream.len() / 2].to_owned();
    match (reply.status, reply.raises) {
        (Some(status), _) => {
            let headers: &[_] = if reply.headers { &[("retry-after", "0")] } else { &[] };
            Play::Answer(status, headers, json!({ "error": { "message": reply.text } }).to_string())
        }
        (None, Some(Raise::Half)) => Play::Half(half()),
        (None, Some(Raise::Reset)) => Play::Reset(half()),
        (None, None) => Play::Stream(stream),
    }
}

async fn run(scenario: Scenario) -> Result<(), String> {
    let over = Reply { status: Some(400), text: "the scenario is over".to_owned(), ..Reply::default() };
    let replies = scenario.replies.iter().chain([&over]);
    let server = Server::start(replies.map(|reply| play(scenario.provider, reply)).collect()).await;
    let mut config = Config::default();
    config.model.provider = scenario.provider;
    config.model.name = "scripted".into();
    config.model.context = scenario.context;
    config.model.base_url = Some(BaseUrl::from_text(&format!("http://{}", server.address))?);
    config.retry.backoff_base = Span(Duration::from_millis(1));
    config.retry.backoff_max = Span(Duration::from_millis(2));
    let endpoint = Endpoint::new(&config.model, &config.retry)?.ok_or("no endpoint")?;
    let kept: Vec<HistoryEntry> =
        serde_json::from_value(json!(scenario.kept)).map_err(|error| format!("kept: {error}"))?;
    let mut executor = Script { results: scenario.results.into(), calls: Vec::new() };
    let mut task =
        Dialogue::new(&endpoint, &scenario.limits, TASK, "You administer a host.", "make the site work")
            .after(History::new(kept));
    let (end, words) = match task.run(&mut executor).await {
        End::Finished { summary, .. } => ("finished", summary),
        End::Unproven(words) => ("unproven", words),
        End::Failed(words) => ("failed", words),
        End::OutOfBudget(words) => ("out_of_budget", words),
        End::Cancelled => ("cancelled", String::new()),
    };
    let expect = scenario.expect;
    let seen = server.seen();
    let last = seen.last().map(|seen| seen.body["messages"].clone()).unwrap_or_default();
    // The model's view: without JSON's escapes around it.
    let told = last.to_string().replace("\\\\", "\\").replace("\\\"", "\"");
    let mut wrong = Vec::new();
    if end != expect.end || !words.contains(&expect.words) {
        wrong.push(format!("it ended {end}: {words}"));
    }
    if executor.calls != expect.calls {
        wrong.push(format!("the calls were {}", json!(executor.calls)));
    }
    if seen.len() != expect.requests {
        wrong.push(format!("the endpoint was asked {} times", seen.len()));
    }
    wrong.extend(
        expect
            .told
            .iter()
            .filter(|part| !told.contains(*part))
            .map(|part| format!("not told: {part} in {told}")),
    );
    wrong
        .extend(expect.untold.iter().filter(|part| told.contains(*part)).map(|part| format!("told: {part}")));
    if wrong.is_empty() { Ok(()) } else { Err(format!("{}: {}", scenario.pins, wrong.join("; "))) }
}

#[tokio::test]
async fn every_scenario_ends_as_it_says() {
    let directory = Path::new(env!("CARGO_MANIFEST_DIR")).join("../tests/scenarios");
    let mut wrong = Vec::new();
    let mut count = 0;
    for entry in std::fs::read_dir(directory).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            continue;
        }
        let name = path.file_stem().unwrap().to_string_lossy().into_owned();
        let text = std::fs::read_to_string(&path).unwrap();
        count += 1;
        match serde_yaml_ng::from_str(&text) {
            Err(error) => wrong.push(format!("{name}: {error}")),
            Ok(scenario) => wrong.extend(run(scenario).await.err().map(|why| format!("{name}: {why}"))),
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
    assert!(count >= 40, "{count} scenarios");
}
