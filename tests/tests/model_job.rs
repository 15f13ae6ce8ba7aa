//! The main job by a model: scripted, behind a real endpoint, in a task of a real agent under its unit.

use postern_tests::{Installed, Release};
use serde_json::{Value, json};

const TOKEN: &str = "a-token-of-this-machine";
const PAGE: &str = "hello from a model\n";

/// A model on loopback, and the agent that asks it and listens on TCP.
fn with_model(host: &Installed, replies: &Value) {
    let setup = format!(
        "install -m 0600 /dev/stdin /etc/postern/http-token <<'END'
{TOKEN}
END
        mkdir -p /etc/systemd/system/postern-agent.service.d
        printf '[Service]\\nLoadCredential=http:/etc/postern/http-token\\n' \
            > /etc/systemd/system/postern-agent.service.d/http.conf
        systemctl daemon-reload"
    );
    let _ = host.shell(&setup).ok();
    let more = "[http]\ntcp = \"127.0.0.1:9000\"\ntoken = \"credential:http\"\n[log]\nformat = \"json\"";
    host.with_model(replies, more);
}

fn lines(text: &str) -> Vec<Value> {
    text.lines().filter_map(|line| serde_json::from_str(line).ok()).collect()
}

#[test]
fn a_model_does_the_main_job_is_refused_once_adapts_and_finishes() {
    let host = Installed::on(Release::Trixie);
    let replies = json!([
        { "tool": "pkg_install", "args": { "name": "nginx-full" } },
        { "tool": "pkg_install", "args": { "name": "nginx-light" } },
        { "tool": "write_file", "args": { "path": "/var/www/html/index.html", "content": PAGE } },
        { "tool": "service", "args": { "action": "restart", "name": "nginx" } },
        { "tool": "finish", "args": { "outcome": "done", "summary": "nginx-light serves the page" } },
        { "tool": "service", "args": { "action": "restart", "name": "nginx" } },
        { "tool": "finish", "args": { "outcome": "done", "summary": "said to nobody" }, "hold": "/var/tmp/model/go" },
        { "tool": "service", "args": { "action": "status", "name": "nginx" } },
        { "tool": "finish", "args": { "outcome": "done", "summary": "nginx was restarted" } },
    ]);
    with_model(&host, &replies);
    let done = host.visitor(&["postern", "run", "--json", "make this host serve a page that says hello"]);
    assert_eq!(done.code, 6, "{done}\n{}", host.journal("postern-agent.service"));
    let task = done.json();
    assert_eq!(task["status"], "partial", "{task}");
    let refused = "NOT done: install nginx-full (refused: no_grant)";
    assert!(task["summary"].as_str().is_some_and(|words| words.ends_with(refused)), "{task}");
    let results = task["results"].as_array().expect("results");
    let went: Vec<_> = results.iter().map(|r| (r["tool"].as_str(), r["status"].as_str())).collect();
    assert_eq!(
        went,
        [
            (Some("pkg_install"), Some("refused")),
            (Some("pkg_install"), Some("ok")),
            (Some("write_file"), Some("ok")),
            (Some("service"), Some("ok")),
        ]
    );
    assert_eq!(task["changes"].as_array().map(Vec::len), Some(3), "{task}");
    assert_eq!(host.shell("curl -sf http://localhost/").ok(), PAGE);
    one_trace_ties_it_together(&host, &task);
    tcp_is_the_token_s(&host, &task);
    the_doctor_knows_the_session(&host);
    killed_in_the_middle_it_goes_on_and_restarts_once(&host);
    assert!(!host.journal("postern-agent.service").contains("no new privileges"));
}

/// The task's trace stands in the audit, in the log and in what the model got.
fn one_trace_ties_it_together(host: &Installed, task: &Value) {
    let trace = task["trace_id"].as_str().expect("a trace");
    let id = task["id"].as_str().expect("an id");
    let records = lines(&host.root(&["cat", "/var/log/postern/audit.jsonl"]).ok());
    let of_task: Vec<&Value> = records.iter().filter(|record| record["task"] == id).collect();
    let recorded = |verb: &str, event: &str| {
        of_task.iter().any(|record| record["verb"] == verb && record["event"] == event)
    };
    assert!(recorded("package.install", "refused"), "{of_task:?}");
    for verb in ["package.install", "file.write", "unit.restart"] {
        assert!(recorded(verb, "begin") && recorded(verb, "end"), "{verb}: {of_task:?}");
    }
    assert!(of_task.iter().all(|record| record["trace_id"] == trace), "{trace}: {of_task:?}");

    let journal = host.shell("journalctl -u postern-agent.service -o cat").ok();
    let told: Vec<Value> = lines(&journal).into_iter().filter(|line| line["trace_id"] == trace).collect();
    let calls: Vec<&Value> = told.iter().filter(|line| line["event"] == "model_call").collect();
    assert_eq!(calls.len(), 5, "{journal}");
    assert!(calls.iter().all(|call| call["input_tokens"] == 100 && call["latency_ms"].is_u64()), "{calls:?}");

    let seen = lines(&host.root(&["cat", "/var/tmp/model/seen"]).ok());
    let has_trace =
        |seen: &Value| seen["head"]["traceparent"].as_str().is_some_and(|text| text.contains(trace));
    assert!(seen.len() == 5 && seen.iter().all(has_trace), "{seen:?}");
    let refusal = seen[1]["messages"].to_string();
    assert!(refusal.contains("no_grant") && refusal.contains("nginx-light"), "{refusal}");
}

/// Over TCP nothing goes without the token, and with it nobody's tasks but its own.
fn tcp_is_the_token_s(host: &Installed, task: &Value) {
    let status = |arguments: &str| {
        let id = task["id"].as_str().expect("an id");
        let url = format!("http://127.0.0.1:9000/tasks/{id}");
        host.shell(&format!("curl -s -o /dev/null -w '%{{http_code}}' {arguments} {url}")).ok()
    };
    let bearer = format!("-H 'Authorization: Bearer {TOKEN}'");
    assert_eq!(status(""), "401");
    assert_eq!(status(&format!("{bearer} -H 'Host: evil.example:9000'")), "421");
    assert_eq!(status(&bearer), "404", "the task is the visitor's");
    let all = host.shell(&format!("curl -sf {bearer} http://127.0.0.1:9000/tasks")).ok();
    assert_eq!(all, "[]");
    let everybody = host.root(&["postern", "tasks", "--json"]).json();
    assert_eq!(everybody[0]["id"], task["id"], "root sees everybody's");
}

/// All is well; and a session that began before its user came into the group is told so.
fn the_doctor_knows_the_session(host: &Installed) {
    let sound = host.visitor(&["postern", "doctor", "--json"]);
    assert_eq!(sound.code, 0, "{sound}");
    let checks = sound.json()["checks"].clone();
    let is_ok = |all: &Vec<Value>| all.len() == 10 && all.iter().all(|check| check["state"] == "ok");
    assert!(checks.as_array().is_some_and(is_ok), "{checks}");
    let old = "import os, pwd; me = pwd.getpwnam('visitor'); os.setgroups([]); os.setgid(me.pw_gid); \
               os.setuid(me.pw_uid); os.execv('/usr/bin/postern', ['postern', 'doctor'])";
    let told = host.root(&["python3", "-c", old]);
    assert_eq!(told.code, 5, "{told}");
    assert!(told.stdout.contains("log in again") && told.stdout.contains("may not open"), "{told}");
}

/// The agent dies while the model thinks, after the restart: resumed, the task ends without a second one.
fn killed_in_the_middle_it_goes_on_and_restarts_once(host: &Installed) {
    let order = r#"{"task":"restart the web server and look at it","wait":false}"#;
    let given = host.visitor(&[
        "curl",
        "-sf",
        "--unix-socket",
        "/run/postern/agent.sock",
        "-H",
        "Content-Type: application/json",
        "-d",
        order,
        "http://localhost/execute",
    ]);
    let id = given.json()["id"].as_str().expect("an id").to_owned();
    let _ = host
        .shell("timeout 60 sh -c 'until [ $(wc -l < /var/tmp/model/seen) -ge 7 ]; do sleep 0.1; done'")
        .ok();
    host.kill("postern-agent.service", "SIGKILL");
    let _ = host.shell("touch /var/tmp/model/go").ok();
    let resumed = host.visitor(&["postern", "tasks", "resume", &id, "--json"]);
    assert_eq!(resumed.code, 0, "{resumed}\n{}", host.journal("postern-agent.service"));
    let task = resumed.json();
    assert_eq!(task["status"], "completed", "{task}");
    assert!(task["summary"].as_str().is_some_and(|words| words.starts_with("nginx was restarted")), "{task}");
    let records = lines(&host.root(&["cat", "/var/log/postern/audit.jsonl"]).ok());
    let of_task: Vec<&Value> = records.iter().filter(|record| record["task"] == id.as_str()).collect();
    let restarts = of_task.iter().filter(|r| r["verb"] == "unit.restart" && r["event"] == "begin").count();
    assert_eq!(restarts, 1, "{of_task:?}");
    assert!(of_task.iter().all(|record| record["trace_id"] == task["trace_id"]), "one trace: {of_task:?}");
}
