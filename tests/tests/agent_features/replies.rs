//! How a model's reply is read, and what becomes of one that is no call.

use serde_json::{Value, json};

use crate::host::{Host, call, finish, service};

const STATUS: &str = r#"{"tool": "service", "args": {"action": "status", "name": "app"}}"#;

fn text(words: &str) -> Value {
    json!({ "text": words })
}

/// Tools of the steps that were carried out.
fn tools(task: &Value) -> Vec<&str> {
    task["results"].as_array().expect("results").iter().filter_map(|one| one["tool"].as_str()).collect()
}

fn malformed(task: &Value) -> usize {
    let results = task["results"].as_array().expect("results");
    results.iter().filter(|one| one["error"] == "parse_error").count()
}

pub fn calls_in_text_are_read_in_every_form_and_several_are_told(host: &Host) {
    let write =
        r#"{"tool": "write_file", "args": {"path": "/srv/app/braces.txt", "content": "a{b} \"c\" }d\\n"}}"#;
    let replies = [
        text(STATUS),
        text(&format!("I look first.\n```json\n{STATUS}\n```\nThen I go on.")),
        text(&format!("<think>maybe {{ or }} {{</think>{STATUS}")),
        text(write),
        text(&format!("{STATUS} {}", STATUS.replace("app", "other"))),
        text(r#"<tool_call name="service"><arg name="action">stop</arg></tool_call>"#),
        finish("read"),
    ];
    let task = host.told(&replies, "read app in every form");
    // The two objects of one reply and the XML are no calls: nothing was run for them.
    assert_eq!(tools(&task), ["service", "service", "service", "write_file"], "{task}");
    assert_eq!(malformed(&task), 2, "{task}");
    assert_eq!(host.sh("cat /srv/app/braces.txt"), "a{b} \"c\" }d\\n", "{task}");
    let journal = host.journal();
    assert!(journal.contains("multiple JSON objects in one reply"), "{journal}");
    assert!(journal.contains("event=misformat") && !journal.contains("no new privileges"), "{journal}");
}

pub fn five_malformed_replies_end_a_task_and_a_valid_call_begins_the_count_anew(host: &Host) {
    // Of both kinds: no JSON, and JSON that is no call.
    let no = || [text("I cannot say"), text(r#"{"result": "fine"}"#), text("well"), text(r#"{"tool": ""}"#)];
    let mut replies = no().to_vec();
    replies.push(service("status", "app"));
    replies.extend(no());
    replies.push(service("status", "app"));
    replies.extend(no());
    replies.extend([text("the fifth"), finish("never asked")]);
    let task = host.told(&replies, "look at app");
    assert_eq!((&task["status"], malformed(&task)), (&json!("failed"), 13), "{task}");
    let seen = host.seen();
    assert_eq!(seen.len(), 15, "the sixteenth reply is not asked for");
    let told = seen[4]["messages"].to_string();
    assert!(told.contains("attempt 4/5"), "{told}");
    assert!(!told.contains("```"), "the example has no fence: {told}");
}

pub fn malformed_arguments_are_a_result_and_the_other_calls_are_made(host: &Host) {
    let replies = [
        json!({ "calls": [
            { "tool": "write_file", "arguments": "{\"path\": \"/srv/app/cut.txt\", \"content\": \"x" },
            { "tool": "service", "args": { "action": "status", "name": "app", "now": true } },
            { "tool": "service", "args": { "action": "status", "name": "app" } },
        ] }),
        finish("looked"),
    ];
    let task = host.told(&replies, "is app up");
    let results = host.results();
    assert_eq!(results.len(), 3, "{results:?}");
    let error = |at: usize| results[at]["error"].as_str().unwrap_or_default().to_owned();
    assert!(
        error(0).contains("the arguments of write_file are wrong: they could not be parsed as JSON"),
        "{results:?}"
    );
    assert!(error(1).contains("now"), "no argument is dropped: {results:?}");
    assert_eq!(results[2]["status"], "ok", "{results:?}");
    assert_eq!(host.begun(&task), ["unit.status"; 0], "{task}");
    let _ = host.sh("! ls /srv/app/cut.txt");
}

pub fn repairs_are_counted_and_what_was_reasoned_never_runs(host: &Host) {
    let stop = STATUS.replace("status", "stop");
    let replies = [
        text(&STATUS.replace('"', "'")),
        text(&format!("<think>{stop}")),
        // A change in a repaired reply is returned to the model.
        text(&stop.replace('"', "'")),
        finish("looked"),
    ];
    let task = host.told(&replies, "is app up?");
    assert_eq!((tools(&task), malformed(&task)), (vec!["service"], 2), "{task}");
    assert_eq!(host.machine.property("app.service", "ActiveState"), "active");
    let health = host.postern(&["health", "--json"]).json();
    assert_eq!(health["repaired"]["single_quotes"], 2, "{health}");
    assert!(host.journal().contains("event=repaired"), "{}", host.journal());
}

pub fn raw_replies_are_shown_on_request_without_secrets(host: &Host) {
    let content = json!({ "password": "s3cret x" }).to_string();
    let replies = [
        text("I would, password=hunter2hunter2, {\"tool\": "),
        call("write_file", json!({ "path": "/etc/not-granted", "content": content })),
        call("finish", json!({ "outcome": "not_done", "summary": "refused" })),
    ];
    let task = host.told(&replies, "what is up?");
    let shown = host.postern(&["tasks", "show", task["id"].as_str().expect("an id"), "--replies"]).ok();
    for line in ["I would, password=[REDACTED], {\"tool\": ", "reply 3 (done; tokens: 100 in, 10 out)"] {
        assert!(shown.lines().any(|one| one == line), "{line}: {shown}");
    }
    assert!(shown.contains("call write_file ") && shown.contains("call finish "), "{shown}");
    assert!(!shown.contains("hunter2") && !shown.contains("s3cret x"), "{shown}");
    // They are the person's own.
    let other = host
        .machine
        .run("ann", &["postern", "tasks", "show", task["id"].as_str().expect("an id"), "--replies"]);
    assert!(other.code != 0 && !other.stdout.contains("I would"), "{other}");
}
