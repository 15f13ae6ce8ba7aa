//! `postern model read`.

use crate::server::{Play, Server};
use postern_agent::{Exit, Host, cli};
use serde_json::{Value, json};
use std::io::Write;
use std::sync::{Arc, Mutex};

#[derive(Clone, Default)]
struct Shared(Arc<Mutex<Vec<u8>>>);

impl Write for Shared {
    fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
        self.0.lock().unwrap().extend_from_slice(bytes);
        Ok(bytes.len())
    }
    fn flush(&mut self) -> std::io::Result<()> {
        Ok(())
    }
}

impl Shared {
    fn text(&self) -> String {
        String::from_utf8(self.0.lock().unwrap().clone()).unwrap()
    }
}

/// Runs a command: its end, its results and its messages.
async fn run(args: &[&str], input: &str) -> (Exit, String, String) {
    // No file of this host configures a test.
    run_on(&Host { config: "/no/such/file".into(), ..Host::default() }, args, input).await
}

async fn run_on(host: &Host, args: &[&str], input: &str) -> (Exit, String, String) {
    let (out, err) = (Shared::default(), Shared::default());
    let mut console = cli::Console {
        out: Box::new(out.clone()),
        err: Box::new(err.clone()),
        input: Box::new(std::io::Cursor::new(input.to_owned().into_bytes())),
        in_is_terminal: false,
        out_is_terminal: false,
        err_is_terminal: false,
        height: None,
        pager: None,
        width: None,
        color: false,
        is_broken: false,
    };
    let words = std::iter::once("postern").chain(args.iter().copied()).map(Into::into);
    let exit = cli::run(words, host, &mut console).await;
    (exit, out.text(), err.text())
}

#[tokio::test]
async fn a_reply_is_printed_as_a_call_or_a_code() {
    let reply = "First: {'tool': 'shell', 'args': {'cmd': 'id'}} {\"tool\": \"rm\"}";
    let (exit, out, err) = run(&["model", "read"], reply).await;
    assert_eq!((exit, err.as_str()), (Exit::Done, ""));
    assert_eq!(out, "{\"tool\":\"shell\",\"args\":{\"cmd\":\"id\"},\"multiple\":true}\n");
    let (exit, out, err) = run(&["model", "read"], "I am done.").await;
    assert_eq!((exit, err.as_str()), (Exit::Done, "the reply holds no JSON object\n"));
    assert_eq!(out, "{\"error\":\"no_json\",\"multiple\":false}\n");
}

#[tokio::test]
async fn a_corpus_is_counted_and_its_rows_that_differ_are_shown() {
    let corpus = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/corpus/llm_outputs.jsonl");
    let (exit, out, _) = run(&["model", "read", "--corpus", corpus], "").await;
    assert_eq!((exit, out.as_str()), (Exit::Done, "160 of 160\n"));
    let directory = tempfile::tempdir().unwrap();
    let other = directory.path().join("other.jsonl");
    std::fs::write(
        &other,
        "{\"id\": \"a\", \"text\": \"{}\", \"expect\": \"no_json\", \"multiple\": false}\n",
    )
    .unwrap();
    let (exit, out, _) = run(&["model", "read", "--corpus", other.to_str().unwrap()], "").await;
    assert_eq!(exit, Exit::Failed);
    assert_eq!(out, "a: expected \"no_json\", read \"missing_tool\"\n0 of 1\n");
    std::fs::write(&other, "{\"id\": 1}\n").unwrap();
    let (exit, out, err) = run(&["model", "read", "--corpus", other.to_str().unwrap()], "").await;
    assert_eq!((exit, out.as_str()), (Exit::Failed, ""));
    assert!(err.contains("other.jsonl:1: "), "{err}");
}

fn says(message: &Value) -> Play {
    let body = json!({ "choices": [{ "message": message, "finish_reason": "stop" }] });
    Play::Answer(200, &[("content-type", "application/json")], body.to_string())
}

#[tokio::test]
async fn an_endpoint_is_tried_and_what_it_can_do_is_told() {
    let call = json!({ "id": "a", "function": { "name": "service", "arguments": "{\"action\":\"status\",\"name\":\"nginx\"}" } });
    let refusal =
        Play::Answer(400, &[], json!({ "error": { "message": "unknown response_format" } }).to_string());
    let plays = vec![
        says(&json!({ "content": "ok" })),
        says(&json!({ "content": null, "tool_calls": [call] })),
        refusal,
        says(&json!({ "content": "I would look at {nginx}." })),
    ];
    let server = Server::start(plays).await;
    let url = format!("http://{}/v1", server.address);
    let args = ["model", "test", "--provider", "openai", "--base-url", &url, "--name", "m"];
    let (exit, out, err) = run(&args, "").await;
    assert_eq!((exit, err.as_str()), (Exit::Done, ""));
    let lines: Vec<&str> = out.lines().collect();
    assert_eq!(lines[0], format!("endpoint     {url}/chat/completions"));
    assert!(
        lines[1].starts_with("answers      in ")
            && lines[1].ends_with(" ms, in one piece; 0 tokens in, 0 out"),
        "{out}"
    );
    assert_eq!(
        lines[2],
        r#"tool calls   reads well: {"args":{"action":"status","name":"nginx"},"tool":"service"}"#
    );
    assert_eq!(
        lines[3..],
        ["text calls   asked for, but the reply holds no JSON object", "form         json_object"]
    );
    assert_eq!(server.seen().len(), 4);
}

#[tokio::test]
async fn an_endpoint_that_does_not_answer_is_told_in_one_line() {
    let (exit, _, err) = run(&["model", "test"], "").await;
    assert_eq!(exit, Exit::Failed);
    assert!(err.contains("there is no endpoint: give provider in [model]"), "{err}");
    let server = Server::start(vec![Play::Answer(401, &[], "<html>".into())]).await;
    let url = format!("http://{}", server.address);
    let (exit, out, err) = run(&["model", "test", "--provider", "openai", "--base-url", &url], "").await;
    assert_eq!((exit, out.as_str(), err.lines().count()), (Exit::Failed, "", 1));
    assert!(
        err.contains(&format!("{url}/chat/completions: the endpoint answers 401: (a page of HTML); see key")),
        "{err}"
    );
    let (exit, _, err) = run(&["model", "test", "--key", "sk-hunter2"], "").await;
    assert_eq!(exit, Exit::Usage);
    assert!(err.contains("credential:NAME"), "{err}");
}
