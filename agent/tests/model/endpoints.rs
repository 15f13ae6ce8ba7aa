//! Endpoints that work, that are odd, and that fail.

use crate::server::{Play, Seen, Server};
use postern_agent::config::Config;
use postern_agent::config::values::{BaseUrl, Provider, SecretRef, Span, Value as _};
use postern_agent::llm::conversation::{CallResult, NativeCall, Prompt, Reply, StopReason, Turn, Usage};
use postern_agent::llm::endpoints::failure::{Failure, Kind};
use postern_agent::llm::endpoints::{Chunk, Endpoint, Format, ToolCalls};
use postern_agent::llm::tools::{TOOLS, Tool};
use serde_json::{Value, json};
use std::sync::Mutex;
use std::time::Duration;
use tokio::time::Instant;

fn config(server: &Server, provider: Provider) -> Config {
    let mut config = Config::default();
    config.model.provider = provider;
    config.model.name = "a-model".into();
    config.model.base_url = Some(BaseUrl::from_text(&format!("http://{}/v1", server.address)).unwrap());
    config.retry.backoff_base = Span(Duration::from_millis(1));
    config.retry.backoff_max = Span(Duration::from_millis(5));
    config
}

/// Asks with a conversation; what came, and what was heard on the way.
async fn ask(endpoint: &Endpoint, turns: &[Turn], tools: &[Tool]) -> (Result<Reply, Failure>, String) {
    let heard = Mutex::new(String::new());
    let hear = |what: Chunk<'_>| match what {
        Chunk::Words(words) => heard.lock().unwrap().push_str(words),
        Chunk::Again | Chunk::Retry(_) => heard.lock().unwrap().clear(),
    };
    let prompt = Prompt { system: "You administer a host.", turns, tools };
    let reply = endpoint.ask(&prompt, Instant::now() + Duration::from_secs(60), &hear).await;
    (reply, heard.into_inner().unwrap())
}

/// Asks once for a call.
async fn play(plays: Vec<Play>, provider: Provider) -> (Result<Reply, Failure>, String, Vec<Seen>) {
    let server = Server::start(plays).await;
    let config = config(&server, provider);
    let endpoint = Endpoint::new(&config.model, &config.retry).unwrap().unwrap();
    let (reply, heard) = ask(&endpoint, &[Turn::User("look at nginx".to_owned())], TOOLS).await;
    (reply, heard, server.seen())
}

fn events(datas: &[Value]) -> String {
    datas.iter().map(|data| format!("data: {data}\n\n")).collect::<Vec<_>>().concat()
}

fn delta(delta: &Value) -> Value {
    json!({ "choices": [{ "index": 0, "delta": delta, "finish_reason": null }] })
}

fn finished(reason: &str) -> Value {
    json!({ "choices": [{ "index": 0, "delta": {}, "finish_reason": reason }] })
}

/// A whole stream that says a text.
fn says(text: &str) -> Play {
    Play::Stream(events(&[delta(&json!({ "content": text })), finished("stop")]) + "data: [DONE]\n\n")
}

fn error(status: u16, message: &str) -> Play {
    Play::Answer(
        status,
        &[("content-type", "application/json")],
        json!({ "error": { "message": message } }).to_string(),
    )
}

#[tokio::test]
async fn chat_completions_are_streamed_and_put_together() {
    let stream = events(&[
        delta(&json!({ "role": "assistant", "content": "Näch" })),
        delta(&json!({ "content": "stes: ", "reasoning_content": "rm -rf" })),
        delta(
            &json!({ "tool_calls": [{ "index": 0, "id": "c1", "type": "function", "function": { "name": "service", "arguments": "" } }] }),
        ),
        delta(
            &json!({ "tool_calls": [{ "index": 0, "function": { "arguments": "{\"action\": \"status\"," } }] }),
        ),
        delta(
            &json!({ "tool_calls": [{ "index": 1, "id": "c2", "function": { "name": "shell", "arguments": "{\"cmd\":\"id\"}" } }] }),
        ),
        delta(
            &json!({ "tool_calls": [{ "index": 0, "function": { "arguments": "\"name\": \"nginx\"}" } }] }),
        ),
        finished("tool_calls"),
        json!({ "choices": [], "usage": { "prompt_tokens": 100, "completion_tokens": 20, "prompt_tokens_details": { "cached_tokens": 64 } } }),
    ]);
    let stream = format!(": keep-alive\n\n{stream}: keep-alive\n\ndata: [DONE]\n\n");
    let (reply, heard, seen) = play(vec![Play::Stream(stream)], Provider::Openai).await;
    let reply = reply.unwrap();
    assert_eq!(reply.text, "Nächstes: ");
    assert_eq!(heard, reply.text);
    assert_eq!(reply.usage, Usage { input: 100, cached_input: 64, output: 20 });
    let calls = reply.read(TOOLS);
    assert_eq!(calls.len(), 2);
    assert_eq!(calls[0].0, "c1");
    assert_eq!(
        json!(calls[0].1.call.as_ref().unwrap()),
        json!({ "tool": "service", "args": { "action": "status", "name": "nginx" } })
    );
    assert!(calls[0].1.is_multiple && calls[1].1.call.is_ok());
    let body = &seen[0].body;
    assert!(seen[0].head.starts_with("POST /v1/chat/completions "), "{}", seen[0].head);
    assert_eq!(
        (&body["model"], &body["max_tokens"], &body["stream"]),
        (&json!("a-model"), &json!(4096), &json!(true))
    );
    assert_eq!(body["tools"][1]["function"]["name"], "service");
    assert_eq!(body["tools"][1]["function"]["parameters"]["additionalProperties"], false);
    assert_eq!(body["messages"][1], json!({ "role": "user", "content": "look at nginx" }));
}

#[tokio::test]
async fn oddities_of_compatible_servers_are_tolerated() {
    let call = json!([{ "type": "function", "function": { "name": "shell", "arguments": { "cmd": "id" } } }]);
    let empty = json!([{ "id": "x", "function": { "name": "shell", "arguments": "" } }]);
    for (play_one, expected) in [
        // No stream although one was asked for; null and list content; arguments as an object; no id.
        (Play::Answer(200, &[], json!({ "choices": [{ "message": { "content": null, "tool_calls": call } }] }).to_string()), Err(Kind::Connection)),
        (Play::Answer(200, &[], json!({ "choices": [{ "message": { "content": null, "tool_calls": call }, "finish_reason": "stop" }], "usage": null }).to_string()), Ok("{\"cmd\":\"id\"}")),
        (Play::Answer(200, &[], json!({ "choices": [{ "message": { "content": [{ "type": "text", "text": "" }], "tool_calls": empty }, "finish_reason": "" }], "error": null }).to_string()), Err(Kind::Connection)),
        (Play::Stream(format!("{}data: [DONE]", events(&[json!({ "choices": null }), delta(&json!({ "content": null, "tool_calls": empty })), json!({})]))), Ok("")),
        // Any line end, no blank after the colon, no number of the call, no blank line at the end.
        (Play::Stream(format!("event: x\r\nid: 1\r\ndata:{}\r\n\r\ndata:{}\r\rdata: [DONE]\n", delta(&json!({ "tool_calls": [{ "id": "a", "function": { "name": "shell", "arguments": "{\"cmd\"" } }] })), delta(&json!({ "tool_calls": [{ "function": { "arguments": ":1}" } }] })))), Ok("{\"cmd\":1}")),
        // The name and id again with each piece.
        (Play::Stream(events(&[delta(&json!({ "tool_calls": [{ "index": 0, "id": "a", "function": { "name": "shell", "arguments": "{" } }] })), delta(&json!({ "tool_calls": [{ "index": 0, "id": "a", "function": { "name": "shell", "arguments": "}" } }] })), finished("stop")])), Ok("{}")),
    ] {
        let (reply, _, _) = play(vec![play_one], Provider::Openai).await;
        match (reply, expected) {
            (Ok(reply), Ok(arguments)) => {
                assert_eq!(reply.calls.len(), 1);
                assert_eq!((reply.calls[0].name.as_str(), reply.calls[0].arguments.as_str()), ("shell", arguments));
                assert!(!reply.calls[0].id.is_empty());
            }
            (Err(failure), Err(kind)) => assert_eq!(failure.kind, kind),
            (reply, expected) => panic!("{reply:?} is not {expected:?}"),
        }
    }
    let content = json!({ "content": [{ "type": "text", "text": "a" }, { "type": "image" }, "b"] });
    let (reply, _, _) =
        play(vec![Play::Stream(events(&[delta(&content), finished("length")]))], Provider::Openai).await;
    let reply = reply.unwrap();
    assert_eq!((reply.text.as_str(), reply.stop), ("ab", StopReason::Length));
}

#[tokio::test]
async fn anthropic_messages_are_streamed_and_put_together() {
    let block = |index: u64, block: Value| json!({ "type": "content_block_start", "index": index, "content_block": block });
    let piece =
        |index: u64, delta: Value| json!({ "type": "content_block_delta", "index": index, "delta": delta });
    let stream = events(&[
        json!({ "type": "message_start", "message": { "usage": { "input_tokens": 10, "cache_read_input_tokens": 90, "output_tokens": 1 } } }),
        json!({ "type": "ping" }),
        block(0, json!({ "type": "thinking", "thinking": "" })),
        piece(0, json!({ "type": "thinking_delta", "thinking": "{\"tool\": \"shell\"}" })),
        block(1, json!({ "type": "text", "text": "" })),
        piece(1, json!({ "type": "text_delta", "text": "I look." })),
        block(2, json!({ "type": "tool_use", "id": "toolu_1", "name": "shell", "input": {} })),
        piece(2, json!({ "type": "input_json_delta", "partial_json": "" })),
        piece(2, json!({ "type": "input_json_delta", "partial_json": "{\"cmd\": \"i" })),
        piece(2, json!({ "type": "input_json_delta", "partial_json": "d\"}" })),
        json!({ "type": "content_block_stop", "index": 2 }),
        json!({ "type": "a_new_kind" }),
        json!({ "type": "message_delta", "delta": { "stop_reason": "tool_use" }, "usage": { "output_tokens": 30 } }),
        json!({ "type": "message_stop" }),
    ]);
    let (reply, heard, seen) = play(vec![Play::Stream(stream)], Provider::Anthropic).await;
    let reply = reply.unwrap();
    assert_eq!(heard, "I look.");
    let call =
        NativeCall { id: "toolu_1".into(), name: "shell".into(), arguments: "{\"cmd\": \"id\"}".into() };
    assert_eq!(
        reply,
        Reply {
            text: "I look.".into(),
            calls: vec![call],
            stop: StopReason::Done,
            usage: Usage { input: 100, cached_input: 90, output: 30 }
        }
    );
    assert!(
        seen[0].head.starts_with("POST /v1/v1/messages ")
            && seen[0].head.contains("anthropic-version: 2023-06-01")
    );
    assert_eq!(seen[0].body["tools"][0]["input_schema"]["required"], json!(["cmd"]));
    assert_eq!(seen[0].body["system"], "You administer a host.");
    let overloaded = Play::Stream(events(&[
        json!({ "type": "error", "error": { "type": "overloaded_error", "message": "Overloaded" } }),
    ]));
    let whole = json!({ "type": "message", "content": [{ "type": "text", "text": "ok" }], "stop_reason": "max_tokens", "usage": {} });
    let whole = Play::Answer(200, &[("content-type", "application/json")], whole.to_string());
    let (reply, heard, seen) = play(vec![overloaded, whole], Provider::Anthropic).await;
    assert_eq!((reply.unwrap().stop, heard.as_str(), seen.len()), (StopReason::Length, "ok", 2));
}

#[tokio::test]
async fn what_can_pass_is_tried_again_and_what_was_heard_is_void() {
    let half = events(&[delta(&json!({ "content": "half of it" }))]);
    for bad in [
        error(500, "boom"),
        error(502, "boom"),
        error(503, "busy"),
        error(504, "boom"),
        error(408, "slow"),
        Play::Answer(429, &[("retry-after", "0")], String::new()),
        Play::Answer(502, &[("content-type", "text/html")], "<html><h1>Bad gateway</h1></html>".into()),
        Play::Half(half.clone()),
        Play::Reset(half.clone()),
        Play::Reset(String::new()),
        Play::Short(json!({ "choices": [] }).to_string()),
        Play::Stream(events(&[json!({ "error": { "code": 503, "message": "gone" } })])),
    ] {
        let (reply, heard, seen) = play(vec![bad, says("whole")], Provider::Openai).await;
        assert_eq!(reply.unwrap().text, "whole");
        assert_eq!((heard.as_str(), seen.len()), ("whole", 2));
    }
}

#[tokio::test]
async fn what_will_not_pass_is_asked_once() {
    for (bad, told) in [
        (error(400, "no such\nparameter"), "the endpoint answers 400: no such parameter"),
        (error(401, "wrong key"), "the endpoint answers 401: wrong key; see key in [model]"),
        (
            Play::Answer(403, &[], String::new()),
            "the endpoint answers 403: (nothing more); see key in [model]",
        ),
        (
            Play::Answer(404, &[], "<html>".into()),
            "the endpoint answers 404: (a page of HTML); see base_url and name in [model]",
        ),
        (
            Play::Answer(302, &[("location", "http://127.0.0.1:1/")], String::new()),
            "the endpoint answers 302: (nothing more)",
        ),
        (
            Play::Answer(200, &[("content-type", "text/html")], "<html>".into()),
            "the endpoint answers with a page of HTML; see base_url in [model]",
        ),
        (Play::Answer(200, &[], "nonsense".into()), "the endpoint's answer is no chat completion: nonsense"),
    ] {
        let (reply, _, seen) = play(vec![bad], Provider::Openai).await;
        assert_eq!(reply.unwrap_err().message, told);
        assert_eq!(seen.len(), 1, "{told}");
    }
}

#[tokio::test]
async fn an_endpoint_that_keeps_failing_is_tried_a_bounded_number_of_times() {
    let (reply, _, seen) = play(vec![error(500, "boom")], Provider::Openai).await;
    assert_eq!(reply.unwrap_err().kind, Kind::Status(500));
    assert_eq!(seen.len(), 4, "one try and three more");
}

#[tokio::test]
async fn a_model_that_is_being_loaded_is_waited_for_however_long() {
    let mut plays = vec![error(503, "Loading model"); 10];
    plays.push(says("loaded"));
    let (reply, _, seen) = play(plays, Provider::Openai).await;
    assert_eq!((reply.unwrap().text.as_str(), seen.len()), ("loaded", 11));
}

#[tokio::test]
async fn a_slow_drip_and_a_hang_end_by_the_time_limit() {
    for bad in [Play::Drip, Play::Hang] {
        let server = Server::start(vec![bad]).await;
        let mut config = config(&server, Provider::Openai);
        config.model.timeout = Span(Duration::from_millis(200));
        config.retry.max_attempts = 1;
        let endpoint = Endpoint::new(&config.model, &config.retry).unwrap().unwrap();
        let (reply, _) = ask(&endpoint, &[Turn::User("x".to_owned())], TOOLS).await;
        let failure = reply.unwrap_err();
        assert_eq!(
            (failure.kind, failure.message.as_str()),
            (Kind::Timeout, "the endpoint did not answer within 200ms")
        );
    }
}

#[tokio::test]
async fn nobody_listening_is_told_and_counted_as_passing() {
    let server = Server::start(vec![Play::Hang]).await;
    let mut config = config(&server, Provider::Openai);
    // A port that is bound and not listened at: nobody else gets it meanwhile.
    let socket = tokio::net::TcpSocket::new_v4().unwrap();
    socket.bind("127.0.0.1:0".parse().unwrap()).unwrap();
    let free = socket.local_addr().unwrap();
    config.model.base_url = Some(BaseUrl::from_text(&format!("http://{free}/v1")).unwrap());
    let endpoint = Endpoint::new(&config.model, &config.retry).unwrap().unwrap();
    let (reply, _) = ask(&endpoint, &[Turn::User("x".to_owned())], TOOLS).await;
    let failure = reply.unwrap_err();
    assert!(failure.is_passing() && failure.message.contains("onnection refused"), "{failure}");
}

#[tokio::test]
async fn a_refusal_of_tools_or_of_a_form_is_met_once_and_remembered() {
    let plays = vec![
        error(500, "tools param requires --jinja flag"),
        error(400, "response_format of type json_schema is not supported"),
        says("{\"tool\": \"shell\", \"args\": {\"cmd\": \"id\"}}"),
        says("{}"),
    ];
    let server = Server::start(plays).await;
    let config = config(&server, Provider::Openai);
    let endpoint = Endpoint::new(&config.model, &config.retry).unwrap().unwrap();
    let (reply, _) = ask(&endpoint, &[Turn::User("x".to_owned())], TOOLS).await;
    assert!(reply.unwrap().read(TOOLS)[0].1.call.is_ok());
    let (reply, _) = ask(&endpoint, &[Turn::User("y".to_owned())], TOOLS).await;
    assert!(reply.is_ok());
    assert_eq!(
        (endpoint.abilities().tools, endpoint.abilities().format),
        (ToolCalls::Refused, Format::Object)
    );
    let seen = server.seen();
    assert_eq!(seen.len(), 4);
    assert!(seen[0].body["tools"].is_array() && seen[0].body["response_format"].is_null());
    assert!(seen[1].body["tools"].is_null());
    let schema = &seen[1].body["response_format"]["json_schema"]["schema"];
    assert_eq!(schema["anyOf"].as_array().unwrap().len(), TOOLS.len());
    let system = seen[1].body["messages"][0]["content"].as_str().unwrap();
    assert!(system.contains("exactly one JSON object") && !system.contains("```"), "{system}");
    for later in &seen[2..] {
        assert_eq!(later.body["response_format"], json!({ "type": "json_object" }));
    }
}

#[tokio::test]
async fn an_endpoint_that_took_tools_is_not_thought_to_refuse_them() {
    let server = Server::start(vec![says("ok"), error(400, "a tool message without a call")]).await;
    let config = config(&server, Provider::Openai);
    let endpoint = Endpoint::new(&config.model, &config.retry).unwrap().unwrap();
    let (reply, _) = ask(&endpoint, &[Turn::User("x".to_owned())], TOOLS).await;
    assert!(reply.is_ok());
    let (reply, _) = ask(&endpoint, &[Turn::User("x".to_owned())], TOOLS).await;
    assert_eq!(reply.unwrap_err().kind, Kind::Status(400));
    assert_eq!((endpoint.abilities().tools, server.seen().len()), (ToolCalls::Taken, 2));
}

#[tokio::test]
async fn a_call_without_its_result_is_given_one_before_the_next_request() {
    let call =
        |id: &str| NativeCall { id: id.into(), name: "shell".into(), arguments: "{\"cmd\": \"id\"}".into() };
    let result = |id: &str| CallResult { id: id.into(), text: "{\"status\":\"ok\"}".into(), is_error: false };
    let turns = [
        Turn::User("x".into()),
        Turn::Model(Reply { calls: vec![call("a"), call("b")], ..Reply::default() }),
        Turn::Results(vec![result("b"), result("of nothing")]),
        Turn::Model(Reply { calls: vec![call("c")], ..Reply::default() }),
        Turn::User("go on".into()),
        Turn::Results(vec![result("c")]),
    ];
    for provider in [Provider::Openai, Provider::Anthropic] {
        let answer = json!({ "type": "message", "content": [], "choices": [{ "message": {}, "finish_reason": "stop" }] });
        let server = Server::start(vec![Play::Answer(200, &[], answer.to_string())]).await;
        let config = config(&server, provider);
        let endpoint = Endpoint::new(&config.model, &config.retry).unwrap().unwrap();
        ask(&endpoint, &turns, TOOLS).await.0.unwrap();
        let body = server.seen().remove(0).body;
        let text = body["messages"].to_string();
        assert_eq!(text.matches("interrupted").count(), 2, "{text}");
        assert!(!text.contains("of nothing"));
        let results: Vec<&Value> = match provider {
            Provider::Anthropic => body["messages"]
                .as_array()
                .unwrap()
                .iter()
                .flat_map(|message| message["content"].as_array().unwrap())
                .filter_map(|block| block.get("tool_use_id"))
                .collect(),
            Provider::Openai | Provider::Offline | Provider::Scripted => body["messages"]
                .as_array()
                .unwrap()
                .iter()
                .filter_map(|message| message.get("tool_call_id"))
                .collect(),
        };
        assert_eq!(results, ["a", "b", "c"]);
    }
}

#[tokio::test]
async fn a_key_is_sent_and_never_shown() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("key");
    std::fs::write(&path, "sk-hunter2\n").unwrap();
    std::fs::set_permissions(&path, std::os::unix::fs::PermissionsExt::from_mode(0o600)).unwrap();
    for (provider, header) in [
        (Provider::Openai, "authorization: Bearer sk-hunter2"),
        (Provider::Anthropic, "x-api-key: sk-hunter2"),
    ] {
        let server = Server::start(vec![error(401, "the key sk-hunter2 is wrong")]).await;
        let mut config = config(&server, provider);
        config.model.key = Some(SecretRef::File(path.clone()));
        let endpoint = Endpoint::new(&config.model, &config.retry).unwrap().unwrap();
        assert!(!format!("{endpoint:?}").contains("hunter2"));
        let failure = ask(&endpoint, &[Turn::User("x".into())], TOOLS).await.0.unwrap_err();
        assert_eq!(
            failure.message,
            "the endpoint answers 401: the key [REDACTED] is wrong; see key in [model]"
        );
        assert!(server.seen()[0].head.contains(header));
    }
}
