//! Limits of every tool in time and output, and how results are cut to them.

use postern_agent::agent_loop::results::{fit, shown, within};
use postern_agent::agent_loop::tool_result::{CallOutcome, ToolResult};
use postern_agent::llm::conversation::{CallResult, Turn};
use postern_agent::llm::tools::{ALL, REQUEST_OUTPUT, TOOLS, Time};
use postern_agent::redaction::excerpt;
use serde_json::{Value, json};
use std::collections::BTreeSet;
use std::time::Duration;

#[test]
fn every_tool_says_all_of_itself_under_a_name_of_its_own() {
    let five: Vec<&str> = TOOLS.iter().map(|tool| tool.name).collect();
    assert_eq!(five, ["shell", "service", "pkg_install", "write_file", "read_file"]);
    let names: BTreeSet<&str> = ALL.iter().map(|tool| tool.name).collect();
    assert_eq!(names.len(), ALL.len());
    for tool in ALL {
        let schema = tool.schema();
        assert_eq!(
            (&schema["type"], &schema["additionalProperties"]),
            (&json!("object"), &json!(false)),
            "{tool:?}"
        );
        assert!(tool.about().ends_with('.') && tool.output.get() <= REQUEST_OUTPUT, "{tool:?}");
        if let Time::Within(limit) = tool.time {
            assert!(limit > Duration::ZERO && limit <= Duration::from_secs(60), "{tool:?}");
        }
    }
}

#[tokio::test(start_paused = true)]
async fn a_call_that_never_ends_is_ended() {
    let time = Time::Within(Duration::from_secs(5));
    let done = within(time, std::future::pending()).await;
    assert_eq!((&done.content["status"], done.outcome), (&json!("timeout"), CallOutcome::Failed));
    assert_eq!(done.content["unread"], "Do not infer facts from unread content");
    // A running effect in the helper is not abandoned.
    let long = async {
        tokio::time::sleep(Duration::from_secs(3600)).await;
        ToolResult { content: json!({}), outcome: CallOutcome::Changed }
    };
    assert_eq!(within(Time::Rule, long).await.outcome, CallOutcome::Changed);
}

#[test]
fn a_result_is_never_longer_than_its_tool_allows() {
    let quotes = "\"\n\u{1}".repeat(20_000);
    for told in [
        json!({ "status": "ok", "stdout": "x".repeat(1_000_000) }),
        json!({ "status": "ok", "stdout": quotes }),
        json!({ "list": vec![json!({ "text": "y".repeat(3_000) }); 50] }),
        json!({ "list": (0..100_000).collect::<Vec<u32>>() }),
        json!({ "\u{fc}": "\u{fc}".repeat(100_000) }),
    ] {
        let text = shown(told, 20_000);
        assert!(text.chars().count() <= 20_000, "{}", text.len());
        assert!(text.contains("ot infer"), "{text}");
        assert!(serde_json::from_str::<Value>(&text).unwrap().is_object());
    }
    let short = json!({ "status": "ok", "stdout": "x".repeat(19_000) });
    assert_eq!(shown(short.clone(), 20_000), short.to_string());
}

#[test]
fn a_request_leaves_out_its_oldest_results_first() {
    let result =
        |id: &str, size: usize| CallResult { id: id.into(), text: "x".repeat(size), is_error: false };
    let mut turns = vec![
        Turn::User("words".into()),
        Turn::Results(vec![result("a", 20_000), result("b", 100)]),
        Turn::Results(vec![result("c", 20_000)]),
        Turn::Results(vec![result("d", 20_000)]),
    ];
    let texts = |turns: &[Turn]| -> Vec<String> {
        let results = turns.iter().filter_map(|turn| match turn {
            Turn::Results(results) => Some(results.iter().map(|result| result.text.clone())),
            Turn::User(_) | Turn::Model(_) => None,
        });
        results.flatten().collect()
    };
    fit(&mut turns);
    let after = texts(&turns);
    assert!(after[0].contains("left out") && after[0].contains("Do not infer facts from unread content"));
    assert_eq!((after[1].len(), after[3].len()), (100, 20_000));
    assert!(after.iter().map(String::len).sum::<usize>() <= REQUEST_OUTPUT);
    // Results within the limit stay unchanged, so that the endpoint's prompt cache stays valid.
    let before = texts(&turns);
    fit(&mut turns);
    assert_eq!(texts(&turns), before);
}

#[test]
fn a_part_of_a_file_that_begins_in_a_key_loses_it() {
    let body = "MIIEvQIBADANBgkqhkiG9w0BAQEFAASCBKcwggSjAgEAAoIBAQC7VJTUt9Us8cKj";
    for (text, expected) in [
        (format!("9Us8cKj\n{body}\n-----END PRIVATE KEY-----\nafter"), "[REDACTED]after"),
        (format!("{body}\n{body}\n9Us8cKj="), "[REDACTED]"),
        (format!("9Us8cKj\n{body}\n9U==\nplain"), "[REDACTED]plain"),
        (format!("{body}\nplain words\n"), "[REDACTED]plain words\n"),
        ("plain\nwords\n".to_owned(), "plain\nwords\n"),
        (format!("name = {body}\n"), &format!("name = {body}\n")),
    ] {
        let mut told = json!({ "stdout": [text] });
        let count = excerpt::strings(&mut told);
        assert_eq!(
            (&told["stdout"][0], count > 0),
            (&json!(expected), expected.contains("REDACTED")),
            "{text}"
        );
    }
}
