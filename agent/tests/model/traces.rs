//! One trace id from the command line to the model, the helper and the log; and what the log looks like.

use crate::common::{Kept, Place, Play, ended, keep_a_second_subscriber};
use crate::http::ask;
use crate::server::{self, Server};
use crate::tasks::{calls, configure};
use postern_agent::Exit;
use postern_agent::config::tables::Log;
use postern_agent::config::values::{LogFormat, LogLevel};
use postern_agent::protocol::trace::Trace;
use postern_agent::redaction::log;
use postern_proto::v1::Status;
use serde_json::{Value, json};
use tracing::subscriber::DefaultGuard;

/// The log of this thread.
fn logged(format: LogFormat, level: LogLevel) -> (Kept, DefaultGuard) {
    keep_a_second_subscriber();
    let kept = Kept::default();
    let to = kept.clone();
    let subscriber = log::subscriber(&Log { format, level }, move || to.clone());
    (kept, tracing::subscriber::set_default(subscriber))
}

fn trace_of(traceparent: &str) -> String {
    Trace::of_traceparent(traceparent).expect(traceparent).to_string()
}

#[tokio::test]
async fn one_trace_goes_from_the_command_line_to_model_helper_and_log() {
    let (log, _guard) = logged(LogFormat::Json, LogLevel::Info);
    let server = Server::start(vec![
        server::Play::Answer(200, &[("content-type", "application/json")], reply("I will look. token=hunter2secret")),
        server::Play::Answer(200, &[("content-type", "application/json")], reply("{\"tool\":\"service\",\"args\":{\"action\":\"restart\",\"name\":\"a\"}} {\"tool\":\"service\",\"args\":{\"action\":\"restart\",\"name\":\"b\"}}")),
        calls("service", &json!({ "action": "restart", "name": "nginx" })),
        calls("finish", &json!({ "outcome": "done", "summary": "nginx runs again" })),
    ])
    .await;
    let place = Place::new();
    configure(&place, &server);
    let helper = place.helper(vec![
        Play::Events(vec![ended(Status::Done, "")]),
        Play::Events(vec![ended(Status::Done, "")]),
    ]);
    place.serve();
    let task = place.run(&["run", "restart nginx", "--json"]).await.json();
    let trace = task["trace_id"].as_str().unwrap().to_owned();
    assert!(Trace::of_id(&trace).is_some(), "{task}");
    let metas: Vec<String> = helper.seen().iter().map(|seen| seen.meta().traceparent).collect();
    assert_eq!(metas.len(), 2);
    assert!(metas.iter().all(|parent| trace_of(parent) == trace), "{metas:?}");
    assert_ne!(metas[0], metas[1], "each call has a span of its own");
    for seen in server.seen() {
        let lower = seen.head.to_lowercase();
        let parent = lower.lines().find_map(|line| line.strip_prefix("traceparent: ")).expect("the header");
        assert_eq!(trace_of(parent), trace);
    }
    assert!(place.run(&["tasks", "show", task["id"].as_str().unwrap()]).await.out.contains(&trace));

    // A reply that was no call is among the results, in its place.
    assert_eq!(
        task["results"][0],
        json!({ "step": 1, "error": "parse_error", "response": "I will look. token=[REDACTED]" })
    );
    assert_eq!(
        (&task["results"][1]["step"], &task["results"][1]["error"]),
        (&json!(1), &json!("parse_error"))
    );
    // They take no number: it is the task's first step.
    assert_eq!((&task["results"][2]["step"], &task["results"][2]["tool"]), (&json!(1), &json!("service")));

    let lines: Vec<Value> = log.text().lines().map(|line| serde_json::from_str(line).expect(line)).collect();
    let of_task: Vec<&Value> = lines.iter().filter(|line| line["trace_id"] == trace.as_str()).collect();
    let events: Vec<&str> = of_task.iter().filter_map(|line| line["event"].as_str()).collect();
    assert_eq!(
        events,
        [
            "task_begins",
            "model_call",
            "misformat",
            "model_call",
            "repaired",
            "multiple_json",
            "misformat",
            "model_call",
            "step",
            "model_call",
            "task_ended"
        ],
        "{}",
        log.text()
    );
    let call =
        of_task.iter().find(|line| line["event"] == "model_call" && line["input_tokens"] == 100).unwrap();
    assert_eq!((&call["output_tokens"], &call["cached_tokens"]), (&json!(10), &json!(0)));
    assert!(call["latency_ms"].is_u64() && call["time"].is_string());
    assert!(!log.text().contains("hunter2"), "{}", log.text());
}

fn reply(text: &str) -> String {
    json!({ "choices": [{ "message": { "content": text }, "finish_reason": "stop" }] }).to_string()
}

#[test]
fn a_trace_is_read_from_a_header_of_the_form_and_from_no_other() {
    let id = "4bf92f3577b34da6a3ce929d0e0e4736";
    let vectors = [
        (format!("00-{id}-00f067aa0ba902b7-01"), true),
        (format!("00-{id}-00f067aa0ba902b7-00"), true),
        (format!("00-{id}-0000000000000000-01"), false),
        ("00-00000000000000000000000000000000-00f067aa0ba902b7-01".to_owned(), false),
        (format!("01-{id}-00f067aa0ba902b7-01"), false),
        (format!("00-{}-00f067aa0ba902b7-01", id.to_uppercase()), false),
        (format!("00-{id}-00f067aa0ba902b7-01-x"), false),
        (format!("00-{id}-00f067aa0ba902b7"), false),
        ("\u{1}".to_owned(), false),
        (String::new(), false),
    ];
    for (text, is_one) in vectors {
        let read = Trace::of_traceparent(&text).map(|trace| trace.to_string());
        assert_eq!(read.as_deref(), is_one.then_some(id), "{text:?}");
    }
}

#[test]
fn a_line_of_the_log_is_one_line_whatever_it_quotes() {
    let hostile = "a\nINFO forged \u{1b}[2J\u{202e}x";
    for format in [LogFormat::Text, LogFormat::Json] {
        let (log, _guard) = logged(format, LogLevel::Warn);
        tracing::warn!(target: "postern_agent", event = "odd", what = hostile, "it says {hostile}");
        tracing::info!(target: "postern_agent", "less than the level");
        tracing::info!(target: "hyper", "a library's");
        let text = log.text();
        assert_eq!(text.lines().count(), 1, "{text:?}");
        assert!(!text.trim_end_matches('\n').chars().any(|c| c.is_control() || c == '\u{202e}'), "{text:?}");
        match format {
            LogFormat::Text => assert!(
                text.starts_with("WARN - it says a\\x0aINFO") && text.contains(" event=odd what=\""),
                "{text}"
            ),
            LogFormat::Json => {
                let line: Value = serde_json::from_str(&text).unwrap();
                assert_eq!((&line["level"], &line["what"]), (&json!("warn"), &json!(hostile)));
                assert!(line.get("trace_id").is_none(), "{line}");
            }
        }
    }
}

#[tokio::test]
async fn a_request_asked_again_under_its_id_is_the_same_to_the_byte() {
    let place = Place::new();
    let helper = place.helper((0..6).map(|_| Play::Events(vec![ended(Status::Done, "")])).collect());
    place.serve();
    let id = "018f0000-0000-7000-8000-00000000000a";
    let again = ["service", "restart", "nginx", "--request-id", id];
    for args in [&again[..], &again[..], &[&again[..], &["--direct"]].concat()] {
        assert_eq!(place.run(args).await.exit, Exit::Done);
    }
    let seen = helper.seen();
    assert_eq!(trace_of(&seen[0].meta().traceparent), id.replace('-', ""));
    assert!(seen.iter().all(|one| one.body == seen[0].body), "{seen:?}");
    // Over HTTP a client that names no trace has the same; one that does has its own.
    let body = json!({ "verb": "unit.restart", "args": { "unit": "nginx.service" }, "request_id": id });
    let own = "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01";
    for headers in [&[][..], &[], &[("traceparent", own)]] {
        assert_eq!(ask(&place, "POST", "/requests", headers, &body.to_string()).await.0, 200);
    }
    let seen = helper.seen();
    assert_eq!(seen[3].body, seen[4].body);
    assert_eq!(trace_of(&seen[5].meta().traceparent), trace_of(own));
}
