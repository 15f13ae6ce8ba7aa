//! Read tools and commands of a model: bounded, without secrets, with the program's own words.

use serde_json::{Value, json};

use crate::host::{Host, call, finish, service};

const ROOTS: &str = "[tools]\nread_roots = [\"/var/log/story\"]";

pub fn logs_are_searched_through_rotated_and_compressed_files(host: &Host) {
    host.model(&[call("search_logs", json!({ "text": "needle" })), finish("found")], ROOTS);
    let _ = host.task("where is the needle");
    let found = host.results().remove(0);
    let texts: Vec<_> =
        found["matches"].as_array().expect("matches").iter().map(|hit| hit["text"].clone()).collect();
    let wanted = [
        "now: needle of today password=[REDACTED]",
        "yesterday: needle of before",
        "long ago: needle of old",
    ];
    assert_eq!(json!(texts), json!(wanted), "{found}");
}

pub fn read_files_are_bounded_and_without_secrets(host: &Host) {
    let _ = host.sh(
        "head -c 100000 /dev/zero | tr '\\0' 'x' > /var/log/story/long; ln -sf /etc/shadow /var/log/story/link
        printf -- '-----BEGIN PRIVATE KEY-----\\nMIIEvQIBADANBgkq\\n-----END PRIVATE KEY-----\\n' > /var/log/story/key.txt",
    );
    let read = |args: Value| call("read_file", args);
    let replies = [
        read(json!({ "path": "/var/log/story/app.log.1", "offset": 11, "limit": 6 })),
        read(json!({ "path": "/var/log/story/long" })),
        read(json!({ "path": "/var/log/story/link" })),
        read(json!({ "path": "/var/log/story/key.txt" })),
        call("search_files", json!({ "path": "/var/log/story", "text": "needle" })),
        read(json!({ "path": "/etc/ssh/sshd_config" })),
        finish("seen"),
    ];
    host.model(&replies, ROOTS);
    let _ = host.task("read the logs");
    let results = host.results();
    assert_eq!(results[0]["content"], "needle", "{}", results[0]);
    assert_eq!((&results[1]["status"], &results[1]["size"]), (&json!("truncated"), &json!(100_000)));
    assert_eq!(results[1]["unread"], "Do not infer facts from unread content");
    assert_eq!(results[2]["status"], "denied", "{}", results[2]);
    assert!(results[3]["content"].to_string().contains("[REDACTED]"), "{}", results[3]);
    assert!(!json!(results).to_string().contains("MIIEvQ"), "{results:?}");
    assert!(results[4]["skipped"]["symlinks"] == 1 && !results[4]["matches"].to_string().contains("hunter2"));
    assert_eq!(results[5]["status"], "refused", "outside of the roots the policy decides: {}", results[5]);
    // Every tool of the request has its schema, and no member beside it.
    for tool in host.seen()[0]["body"]["tools"].as_array().expect("tools") {
        assert_eq!(tool["function"]["parameters"]["additionalProperties"], false, "{tool}");
    }
}

pub fn commands_keep_stdout_stderr_and_exit_code_apart(host: &Host) {
    let shell = |cmd: &str| call("shell", json!({ "cmd": cmd }));
    let replies = [
        shell("ls /etc/debian_version /no/such"),
        shell("grep nothing-like-this /etc/debian_version"),
        shell("cat /etc/shadow"),
        shell("echo password=hunter2hunter2"),
        finish("seen"),
    ];
    let task = host.told(&replies, "what do commands say");
    let results = host.results();
    let of = |at: usize, part: &str| results[at][part].as_str().unwrap_or_default().trim_end().to_owned();
    assert_eq!(
        (of(0, "stdout"), &results[0]["exit_code"]),
        ("/etc/debian_version".to_owned(), &json!(2)),
        "{results:?}"
    );
    assert!(of(0, "stderr").starts_with("ls: cannot access '/no/such'"), "{results:?}");
    assert_eq!(
        (of(1, "stdout"), of(1, "stderr"), &results[1]["exit_code"]),
        (String::new(), String::new(), &json!(1)),
        "{results:?}"
    );
    assert!(!results[1].to_string().contains("look at stderr"), "{}", results[1]);
    assert!(results[2]["status"] != "ok" && !results[2].to_string().contains("root:"), "{}", results[2]);
    assert_eq!(of(3, "stdout"), "password=[REDACTED]", "{}", results[3]);
    assert_eq!(host.begun(&task), [""; 0], "no command was root's");
}

pub fn independent_looks_of_one_reply_are_made_together(host: &Host) {
    let replies =
        [json!({ "calls": [service("status", "app"), service("status", "other")] }), finish("both are up")];
    let task = host.told(&replies, "are app and other up");
    assert_eq!((&task["status"], host.seen().len()), (&json!("completed"), 2), "{task}");
    let results = host.results();
    assert!(results.len() == 2 && results[0].to_string().contains("app.service"), "{results:?}");
    assert!(results[1].to_string().contains("other.service"), "{results:?}");
}

pub fn background_task_is_followed_by_its_events(host: &Host) {
    host.model(&[service("status", "app"), finish("app is up")], "");
    let curl = "runuser -u visitor -- curl -sf --max-time 20 --unix-socket /run/postern/agent.sock";
    let given = host.visitor_posts("/execute", &json!({ "task": "is app up", "wait": false }));
    let id = given["id"].as_str().expect("an id");
    let events = host.sh(&format!("{curl} http://localhost/tasks/{id}/events"));
    for event in ["event: step", "event: completed", "event: usage"] {
        assert!(events.contains(event), "{event}: {events}");
    }
    // The stream ends with the task.
    let task = host.postern(&["tasks", "show", id, "--json"]).json();
    assert_eq!(task["status"], "completed", "{task}");
    let later = host.sh(&format!("{curl} http://localhost/tasks/{id}/events"));
    assert!(later.contains("event: completed"), "who comes late gets them again: {later}");
}
