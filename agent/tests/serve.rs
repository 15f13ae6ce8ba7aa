//! `postern serve` over its socket: tasks, their owner, their events, limits; and `postern run` as its client.

mod common;

use common::{
    HEADERS, Place, Play, accepted, ended, http, in_seconds, output, progress, refused, unit, until, waiting,
};
use http_body_util::BodyExt;
use postern_agent::Exit;
use postern_agent::client::person::PersonSession;
use postern_proto::v1::{self, Status};
use serde_json::{Value, json};
use std::sync::Arc;
use std::time::Duration;
use tokio::sync::Notify;

const JOB: &str =
    "install nginx-light, write 'hello' to /var/www/html/index.html and make sure nginx is running";

/// One HTTP call over the socket: status and body.
async fn call(place: &Place, method: &str, path: &str, body: &str) -> (u16, String) {
    let stream = tokio::net::UnixStream::connect(&place.host.agent_socket).await.unwrap();
    let response = http(stream, method, path, &HEADERS, body).await;
    let status = response.status().as_u16();
    let bytes = response.into_body().collect().await.unwrap().to_bytes();
    (status, String::from_utf8(bytes.to_vec()).unwrap())
}

async fn call_json(place: &Place, method: &str, path: &str, body: &Value) -> (u16, Value) {
    let (status, text) = call(place, method, path, &body.to_string()).await;
    (status, serde_json::from_str(&text).expect(&text))
}

fn good_job() -> Vec<Play> {
    vec![
        Play::Events(vec![accepted(), progress("nginx-light", 50), ended(Status::Done, "")]),
        Play::Events(vec![ended(Status::Done, "")]),
        Play::Events(vec![unit(Status::Unchanged, "nginx.service", "active", "running")]),
    ]
}

#[tokio::test]
async fn runs_the_main_job_and_returns_a_result_a_step() {
    let place = Place::new();
    let helper = place.helper(good_job());
    place.serve();
    let (status, task) = call_json(&place, "POST", "/execute", &json!({ "task": JOB, "session": "s" })).await;
    assert_eq!(
        (status, &task["status"], &task["session"]),
        (200, &"completed".into(), &"s".into()),
        "{task}"
    );
    let results = task["results"].as_array().unwrap();
    let tools: Vec<_> =
        results.iter().map(|r| (r["step"].as_u64(), r["tool"].as_str(), r["status"].as_str())).collect();
    assert_eq!(
        tools,
        [
            (Some(1), Some("pkg_install"), Some("ok")),
            (Some(2), Some("write_file"), Some("ok")),
            (Some(3), Some("ensure_running"), Some("ok")),
        ]
    );
    assert_eq!(results[0]["exit_code"], 0);
    let changes: Vec<_> =
        task["changes"].as_array().unwrap().iter().map(|c| (&c["verb"], &c["target"])).collect();
    assert_eq!(
        changes,
        [
            (&json!("package.install"), &json!("nginx-light")),
            (&json!("file.write"), &json!("/var/www/html/index.html")),
        ]
    );
    let metas: Vec<v1::Meta> = helper.seen().iter().map(common::Seen::meta).collect();
    assert!(metas.iter().all(|m| m.task == task["id"] && m.claimed_uid == nix::unistd::getuid().as_raw()));
    assert_eq!(metas[1].reason, "step 2 of 3: write 6 bytes to /var/www/html/index.html");
    let (_, again) =
        call_json(&place, "GET", &format!("/tasks/{}", task["id"].as_str().unwrap()), &json!(null)).await;
    assert_eq!(again, task);
    let (_, list) = call_json(&place, "GET", "/tasks", &json!(null)).await;
    assert_eq!(list, json!([task]));
}

#[tokio::test]
async fn refuses_a_task_it_does_not_understand_before_anything_is_done() {
    let place = Place::new();
    let helper = place.helper(Vec::new());
    place.serve();
    let (status, body) =
        call_json(&place, "POST", "/execute", &json!({ "task": "install nginx and frobnicate the widget" }))
            .await;
    assert_eq!((status, &body["error"]["code"]), (422, &"invalid_argument".into()));
    assert!(body["error"]["message"].as_str().unwrap().contains("frobnicate the widget"), "{body}");
    let ran = place.run(&["run", "frobnicate the widget"]).await;
    assert_eq!(ran.exit, Exit::Usage);
    assert!(ran.err.contains("\"frobnicate the widget\"; nothing has been done"), "{ran:?}");
    assert!(helper.seen().is_empty());
    let (_, list) = call_json(&place, "GET", "/tasks", &json!(null)).await;
    assert_eq!(list, json!([]));
}

#[tokio::test]
async fn stops_at_the_first_step_that_does_not_succeed() {
    let place = Place::new();
    let helper = place
        .helper(vec![Play::Events(vec![ended(Status::Done, "")]), Play::Events(vec![refused("no_grant")])]);
    place.serve();
    let ran = place.run(&["run", JOB, "--json"]).await;
    let task = ran.json();
    assert_eq!((ran.exit, &task["status"]), (Exit::Partly, &"partial".into()), "{task}");
    assert_eq!(task["results"][1]["status"], "refused");
    assert!(task["results"][1]["error"].as_str().unwrap().starts_with("no_grant: "), "{task}");
    let summary = task["summary"].as_str().unwrap();
    assert!(summary.contains("Done before: install nginx-light."), "{summary}");
    assert!(summary.contains("Not done: make sure nginx.service is running"), "{summary}");
    assert!(!summary.contains('\n'));
    assert_eq!(helper.seen().len(), 2);
}

#[tokio::test]
async fn a_task_s_exit_code_tells_why_nothing_was_done() {
    let vectors = [
        (Play::Events(vec![refused("no_grant")]), Exit::Refused, "refused"),
        (Play::Events(vec![refused("not_approved")]), Exit::NotApproved, "refused"),
        (Play::Events(vec![ended(Status::Failed, "unit_failed")]), Exit::Failed, "failed"),
        (Play::Events(vec![ended(Status::Unchanged, "")]), Exit::Done, "completed"),
        (Play::Status(tonic::Code::Unimplemented, ""), Exit::Refused, "refused"),
    ];
    let place = Place::new();
    let helper = place.helper(Vec::new());
    place.serve();
    for (play, exit, status) in vectors {
        helper.add(play);
        let ran = place.run(&["run", "start nginx", "--json"]).await;
        assert_eq!((ran.exit, ran.json()["status"].as_str()), (exit, Some(status)), "{ran:?}");
    }
}

#[tokio::test]
async fn make_sure_looks_starts_and_looks_again() {
    let looks = |active| unit(Status::Done, "nginx.service", active, "x");
    let place = Place::new();
    let helper = place.helper(vec![
        Play::Events(vec![looks("inactive")]),
        Play::Events(vec![looks("activating")]),
        Play::Events(vec![looks("activating")]),
        Play::Events(vec![looks("active")]),
    ]);
    let ran = place.run(&["run", "--direct", "--json", "make sure nginx is running"]).await;
    assert_eq!(ran.exit, Exit::Done, "{ran:?}");
    let rpcs: Vec<String> = helper.seen().into_iter().map(|s| s.rpc).collect();
    assert_eq!(rpcs, ["UnitStatus", "UnitStart", "UnitStatus", "UnitStatus"]);

    for play in [looks("inactive"), looks("active"), looks("failed")] {
        helper.add(Play::Events(vec![play]));
    }
    let ran = place.run(&["run", "--direct", "--json", "make sure nginx is running"]).await;
    assert_eq!(
        (ran.exit, ran.json()["results"][0]["status"].as_str()),
        (Exit::Partly, Some("error")),
        "{ran:?}"
    );
    assert_eq!(ran.json()["results"][0]["error"], "unit_failed: nginx.service was started but is failed (x)");
}

#[tokio::test]
async fn asks_anew_when_the_helper_was_stopped_in_the_middle() {
    let place = Place::new();
    let helper = place.helper(vec![
        Play::Break(vec![accepted()]),
        Play::Events(vec![ended(Status::Interrupted, "interrupted")]),
        Play::Events(vec![ended(Status::Done, "")]),
    ]);
    place.serve();
    let ran = place.run(&["run", "restart nginx", "--json"]).await;
    assert_eq!(ran.exit, Exit::Done, "{ran:?}");
    let ids: Vec<String> = helper.seen().iter().map(|s| s.meta().request_id).collect();
    assert_eq!(ids[0], ids[1], "first the outcome of what was begun");
    assert_ne!(ids[1], ids[2], "then once more");
    assert_eq!(ran.json()["warnings"].as_array().unwrap().len(), 1);
}

#[tokio::test]
async fn a_dry_run_changes_nothing_and_foresees_what_it_can() {
    let place = Place::new();
    let helper = place.helper(vec![
        Play::Events(vec![ended(Status::Previewed, "")]),
        Play::Events(vec![ended(Status::Failed, "directory_missing")]),
        Play::Events(vec![ended(Status::Failed, "not_found")]),
        Play::Events(vec![ended(Status::Failed, "not_found")]),
    ]);
    place.serve();
    let ran = place.run(&["run", "--dry-run", "--json", JOB]).await;
    let task = ran.json();
    assert_eq!(
        (ran.exit, &task["status"], &task["changes"]),
        (Exit::Done, &"completed".into(), &json!([])),
        "{task}"
    );
    assert_eq!(task["warnings"].as_array().unwrap().len(), 2, "{task}");
    for seen in helper.seen() {
        let is_look = seen.rpc == "UnitStatus";
        let mode = if is_look { v1::Mode::Execute } else { v1::Mode::Preview };
        assert_eq!(seen.meta().mode(), mode, "{}", seen.rpc);
    }
}

#[tokio::test]
async fn one_task_runs_and_the_others_wait_up_to_a_limit() {
    let place = Place::new();
    std::fs::write(&place.host.config, "[limits]\nparallel = 1\n").unwrap();
    let go = Arc::new(Notify::new());
    let helper =
        place.helper(vec![Play::Hold(vec![accepted()], Arc::clone(&go), vec![ended(Status::Done, "")])]);
    for _ in 0..100 {
        helper.add(Play::Events(vec![ended(Status::Done, "")]));
    }
    place.serve();
    // Looking: of changes one person may make fewer in a minute.
    let look = json!([{ "tool": "service", "args": { "action": "status", "name": "nginx" } }]);
    let order = json!({ "task": "look at nginx", "steps": look, "wait": false });
    let (status, first) = call_json(&place, "POST", "/execute", &order).await;
    assert_eq!(status, 202);
    until("the first is at work", || !helper.seen().is_empty()).await;
    for _ in 0..100 {
        assert_eq!(call_json(&place, "POST", "/execute", &order).await.0, 202);
    }
    let (status, body) = call_json(&place, "POST", "/execute", &order).await;
    assert_eq!((status, &body["error"]["code"]), (429, &"busy".into()));
    let (_, list) = call_json(&place, "GET", "/tasks", &json!(null)).await;
    let count = |word: &str| list.as_array().unwrap().iter().filter(|t| t["status"] == word).count();
    assert_eq!((count("running"), count("queued")), (1, 100));
    assert_eq!(helper.seen().len(), 1, "as many at a time as are configured");
    go.notify_one();
    let path = format!("/tasks/{}/events", first["id"].as_str().unwrap());
    call(&place, "GET", &path, "").await;
    let newest = list[0]["id"].as_str().unwrap();
    let (_, events) = call(&place, "GET", &format!("/tasks/{newest}/events"), "").await;
    assert!(events.contains("event: step"), "{events}");
    assert_eq!(helper.seen().len(), 101);
}

#[tokio::test]
async fn tells_events_as_they_come_and_again_to_who_comes_late() {
    let place = Place::new();
    let go = Arc::new(Notify::new());
    let before = vec![accepted(), progress("nginx-light", 10), progress("nginx-light", 90)];
    let after = vec![output(v1::Stream::Stdout, b"x"), ended(Status::Done, "")];
    place.helper(vec![Play::Hold(before, Arc::clone(&go), after)]);
    place.serve();
    let (_, task) =
        call_json(&place, "POST", "/execute", &json!({ "task": "install nginx", "wait": false })).await;
    let path = format!("/tasks/{}/events", task["id"].as_str().unwrap());
    let names = |text: &str| -> Vec<String> {
        text.lines().filter_map(|line| line.strip_prefix("event: ")).map(str::to_owned).collect()
    };
    let telling = tokio::spawn(async move {
        tokio::time::sleep(Duration::from_millis(100)).await;
        go.notify_one();
    });
    let (_, live) = call(&place, "GET", &path, "").await;
    telling.await.unwrap();
    let whole = ["step", "accepted", "progress", "output", "completed", "step"];
    // A live listener may also get the first progress event.
    let mut heard = names(&live);
    heard.dedup();
    assert_eq!(heard, whole);
    let (_, late) = call(&place, "GET", &path, "").await;
    assert_eq!(names(&late), whole);
    for told in [&live, &late] {
        assert!(told.contains(r#""percent":90"#), "{told}");
    }
    assert!(!late.contains(r#""percent":10"#), "progress takes the place of the progress before it: {late}");
    let (_, rest) = call(&place, "GET", &format!("{path}?after=4"), "").await;
    assert_eq!(names(&rest), ["output", "completed", "step"]);
}

#[tokio::test]
async fn cancel_ends_a_waiting_task_at_once_and_a_running_one_before_its_next_step() {
    let place = Place::new();
    std::fs::write(&place.host.config, "[limits]\nparallel = 1\n").unwrap();
    let go = Arc::new(Notify::new());
    let helper = place.helper(vec![Play::Hold(vec![accepted()], go, vec![])]);
    place.serve();
    let order = json!({ "task": "restart nginx, start redis", "wait": false });
    let (_, running) = call_json(&place, "POST", "/execute", &order).await;
    let (_, queued) = call_json(&place, "POST", "/execute", &order).await;
    until("the first is at work", || !helper.seen().is_empty()).await;
    let path = |task: &Value, end: &str| format!("/tasks/{}{end}", task["id"].as_str().unwrap());
    let (_, task) = call_json(&place, "POST", &path(&queued, "/cancel"), &json!(null)).await;
    assert_eq!(task["status"], "cancelled");
    let ran = place.run(&["tasks", "cancel", running["id"].as_str().unwrap()]).await;
    assert_eq!(ran.exit, Exit::Done);
    call(&place, "GET", &path(&running, "/events"), "").await;
    let (_, task) = call_json(&place, "GET", &path(&running, ""), &json!(null)).await;
    assert_eq!(task["status"], "cancelled");
    let error = task["results"][0]["error"].as_str().unwrap();
    assert!(error.starts_with("cancelled: what had begun goes on and is not undone"), "{error}");
    assert_eq!(helper.seen().len(), 1);
}

#[tokio::test]
async fn refuses_bodies_that_are_too_large_or_not_its_own() {
    let place = Place::new();
    let helper = place.helper(Vec::new());
    place.serve();
    let large = json!({ "task": "x".repeat(2 << 20) }).to_string();
    let vectors = [
        ("/execute", large.as_str(), 413, "too_large"),
        ("/execute", r#"{"task":"start nginx","sudo":true}"#, 400, "invalid_argument"),
        ("/execute", "not json", 400, "invalid_argument"),
        ("/execute", r#"{"task":"start nginx","mode":"check"}"#, 400, "invalid_argument"),
        ("/requests", r#"{"verb":"unit.explode","args":{}}"#, 400, "invalid_argument"),
        (
            "/requests",
            r#"{"verb":"unit.start","args":{"unit":"x.service","uid":0}}"#,
            400,
            "invalid_argument",
        ),
        ("/requests", r#"{"verb":"unit.start","args":{}}"#, 400, "invalid_argument"),
        (
            "/requests",
            r#"{"verb":"file.write","args":{"change":{"path":"/x","content":"%%"}}}"#,
            400,
            "invalid_argument",
        ),
        ("/nowhere", "{}", 404, "not_found"),
    ];
    for (path, body, status, code) in vectors {
        let (got, text) = call(&place, "POST", path, body).await;
        let answer: Value = serde_json::from_str(&text).expect(&text);
        assert_eq!((got, answer["error"]["code"].as_str()), (status, Some(code)), "{path}: {text}");
    }
    let huge = json!({ "verb": "file.write", "args": { "change": { "path": "/x", "content": "A".repeat(13 << 20) } } });
    assert_eq!(call(&place, "POST", "/requests", &huge.to_string()).await.0, 413);
    assert!(helper.seen().is_empty());
}

#[tokio::test]
async fn requests_through_the_agent_quote_the_session_of_their_person() {
    let place = Place::new();
    let helper = place.helper(vec![
        Play::Events(vec![ended(Status::Done, "")]),
        Play::Events(vec![ended(Status::Done, "")]),
        Play::Events(vec![ended(Status::Done, "")]),
        Play::Events(vec![ended(Status::Done, "")]),
        Play::Events(vec![ended(Status::Done, "")]),
    ]);
    place.serve();
    let session = |at: usize| helper.seen()[at].meta().session;
    place.run(&["--quiet", "service", "stop", "nginx"]).await;
    assert_eq!(session(0), "", "there is no socket for people on this host");
    let _end = place.people();
    // As a request and as a task: each command has a session of its own. The helper itself knows who asks it directly.
    place.run(&["--quiet", "service", "stop", "nginx"]).await;
    place.run(&["run", "stop nginx"]).await;
    place.run(&["--quiet", "--direct", "service", "stop", "nginx"]).await;
    for (at, token) in [(1, format!("{:032x}", 0)), (2, format!("{:032x}", 1)), (3, String::new())] {
        assert_eq!(session(at), token, "{:?}", helper.seen()[at].rpc);
    }
    // Text that is no token is not passed on: the helper would refuse the request for it.
    let stream = tokio::net::UnixStream::connect(&place.host.agent_socket).await.unwrap();
    let headers = [HEADERS[0], HEADERS[1], ("postern-session", "no token")];
    let body = json!({ "verb": "unit.stop", "args": { "unit": "nginx.service" } }).to_string();
    let response = http(stream, "POST", "/requests", &headers, &body).await;
    response.into_body().collect().await.unwrap();
    assert_eq!(helper.seen().last().unwrap().meta().session, "");
}

#[tokio::test]
async fn the_later_steps_of_a_task_quote_the_session_that_its_person_follows_with() {
    let place = Place::new();
    let go = Arc::new(Notify::new());
    let done = || vec![ended(Status::Done, "")];
    let helper =
        place.helper(vec![Play::Hold(vec![accepted()], Arc::clone(&go), done()), Play::Events(done())]);
    place.serve();
    let tokens = [1, 2].map(|count| format!("{count:032x}"));
    let call = async |method: &str, path: &str, token: &str, body: &str| {
        let stream = tokio::net::UnixStream::connect(&place.host.agent_socket).await.unwrap();
        let headers = [HEADERS[0], HEADERS[1], ("postern-session", token)];
        http(stream, method, path, &headers, body).await.into_body()
    };
    let body = json!({ "task": "stop nginx and stop ssh", "wait": false }).to_string();
    let answer = call("POST", "/execute", &tokens[0], &body).await.collect().await.unwrap().to_bytes();
    let answer: Value = serde_json::from_slice(&answer).unwrap();
    until("the first step", || !helper.seen().is_empty()).await;
    let _followed =
        call("GET", &format!("/tasks/{}/events", answer["id"].as_str().unwrap()), &tokens[1], "").await;
    go.notify_one();
    until("the second step", || helper.seen().len() == 2).await;
    let quoted = helper.seen().iter().map(|seen| seen.meta().session).collect::<Vec<_>>();
    assert_eq!(quoted, tokens);
}

#[tokio::test]
async fn a_session_that_ended_is_opened_anew_and_a_reason_for_none_is_given_once() {
    let place = Place::new();
    let end = place.people();
    let person = PersonSession::new(&place.host.person_socket, "root");
    assert_eq!((person.token().await, person.token().await), (format!("{:032x}", 0), format!("{:032x}", 0)));
    end();
    assert_eq!(person.token().await, format!("{:032x}", 1));
    assert_eq!(person.failure().await, None);
    let other = place.path("other.sock");
    let listener = std::os::unix::net::UnixListener::bind(&other).unwrap();
    std::thread::spawn(move || {
        for stream in listener.incoming() {
            std::io::Write::write_all(&mut stream.unwrap(), b"no session: 16 are open\n").unwrap();
        }
    });
    let person = PersonSession::new(&other, "root");
    assert_eq!(person.token().await, "");
    assert!(person.failure().await.unwrap().contains("(16 are open)"));
    assert_eq!((person.token().await, person.failure().await), (String::new(), None));
}

#[tokio::test]
async fn typed_commands_need_no_grant_of_their_own() {
    let place = Place::new();
    let helper = place.helper(vec![
        Play::Events(vec![accepted(), output(v1::Stream::Content, b"\0bytes\xff"), ended(Status::Done, "")]),
        Play::Events(vec![refused("no_grant")]),
        Play::Status(tonic::Code::Unimplemented, ""),
    ]);
    place.serve();
    let ran = place.run(&["file", "read", "/srv/x"]).await;
    assert_eq!((ran.exit, ran.bytes.as_slice()), (Exit::Done, &b"\0bytes\xff"[..]), "{ran:?}");
    assert_eq!(helper.seen()[0].meta().claimed_uid, nix::unistd::getuid().as_raw());
    let ran = place.run(&["service", "stop", "nginx", "--json"]).await;
    assert_eq!((ran.exit, ran.json()["code"].as_str()), (Exit::Refused, Some("no_grant")));
    let ran = place.run(&["package", "repair"]).await;
    assert_eq!(ran.exit, Exit::Refused);
    assert!(ran.err.contains("refused: unsupported: this helper does not have the verb"), "{ran:?}");
}

#[tokio::test]
async fn results_of_requests_that_are_not_one_s_own_are_unknown() {
    let place = Place::new();
    let helper = place.helper(vec![
        Play::Events(vec![unit(Status::Done, "nginx.service", "active", "running")]),
        Play::Events(vec![ended(Status::Done, "")]),
    ]);
    place.serve();
    let foreign = uuid::Uuid::now_v7().to_string();
    for verb in ["result", "undo"] {
        let ran = place.run(&[verb, &foreign]).await;
        assert_eq!(ran.exit, Exit::Refused, "{ran:?}");
        assert!(ran.err.contains("unknown_request"), "{ran:?}");
    }
    assert!(helper.seen().is_empty(), "the helper, to which all are the agent's, is not asked");
    let own = place.run(&["service", "restart", "nginx", "--json"]).await.json()["request_id"].clone();
    let ran = place.run(&["result", own.as_str().unwrap()]).await;
    assert_eq!(ran.exit, Exit::Done, "{ran:?}");
    assert_eq!(helper.seen()[1].decode::<v1::RequestResultRequest>().of, own);
}

#[tokio::test]
async fn health_names_the_part_that_does_not_work() {
    let place = Place::new();
    place.serve();
    let (status, health) = call_json(&place, "GET", "/health", &json!(null)).await;
    assert_eq!(status, 200);
    assert_eq!(
        (&health["agent"], &health["llm"], &health["rag"]),
        (&"ok".into(), &"off".into(), &"ok".into())
    );
    assert!(health["helper"].as_str().unwrap().starts_with("unreachable: "), "{health}");
    assert_eq!(place.run(&["health"]).await.exit, Exit::Unreachable);

    let other = Place::new();
    other.helper(vec![Play::Events(vec![ended(Status::Previewed, "")])]);
    other.serve();
    let ran = other.run(&["health"]).await;
    assert_eq!((ran.exit, ran.out.lines().last()), (Exit::Done, Some("helper  ok")), "{ran:?}");
    assert_eq!(other.run(&["health"]).await.exit, Exit::Done, "remembered: the helper was asked once");
}

#[tokio::test]
async fn shows_steps_plainly_where_no_terminal_is() {
    let place = Place::new();
    place.helper(good_job());
    place.serve();
    let ran = place.run(&[JOB]).await;
    assert_eq!(ran.exit, Exit::Done, "{ran:?}");
    assert!(
        ran.err.starts_with(
            "[1/3] install nginx-light\n  unpacking nginx-light\n[1/3] install nginx-light: ok\n"
        ),
        "{}",
        ran.err
    );
    assert!(
        ran.out.contains("nginx.service is active (running)") || ran.out.contains("active (running)"),
        "{}",
        ran.out
    );
    let last = ran.out.lines().last().unwrap_or_default();
    assert!(
        last.contains("make sure nginx.service is running. changed: package.install nginx-light"),
        "{last}"
    );
}

/// Fetches `/metrics`.
async fn metrics(place: &Place) -> String {
    let (status, text) = call(place, "GET", "/metrics", "").await;
    assert_eq!(status, 200, "{text}");
    assert!(text.ends_with("# EOF\n"), "{text}");
    text
}

/// Fetches `/metrics` until it has this line.
async fn metrics_with(place: &Place, line: &str) -> String {
    for _ in 0..1000 {
        let text = metrics(place).await;
        if text.contains(line) {
            return text;
        }
        tokio::time::sleep(Duration::from_millis(10)).await;
    }
    panic!("never: {line:?}");
}

#[tokio::test]
async fn metrics_count_tasks_requests_and_answers_and_hold_no_text_of_a_task() {
    let place = Place::new();
    let _helper = place.helper(good_job());
    place.serve();
    let before = metrics(&place).await;
    assert!(before.contains("postern_agent_tasks{status=\"completed\"} 0\n"), "{before}");
    assert!(before.contains("postern_agent_last_answer_timestamp_seconds 0\n"), "{before}");
    assert_eq!(call_json(&place, "POST", "/execute", &json!({ "task": JOB })).await.0, 200);
    let after = metrics(&place).await;
    for line in [
        "postern_agent_tasks{status=\"completed\"} 1\n",
        "postern_agent_tasks{status=\"queued\"} 0\n",
        "postern_agent_requests_total{verb=\"package.install\",decision=\"allow\"} 1\n",
        "postern_agent_approvals_waiting 0\n",
        "postern_agent_steps_total{tool=\"ensure_running\",status=\"ok\"} 1\n",
        "postern_agent_tokens_total{kind=\"output\"} 0\n",
        "postern_agent_task_seconds_count 1\n",
        "postern_agent_request_seconds_count{verb=\"package.install\"} 1\n",
    ] {
        assert!(after.contains(line), "no {line:?} in {after}");
    }
    assert!(!after.contains("postern_agent_last_answer_timestamp_seconds 0\n"), "{after}");
    assert!(!after.contains("nginx") && !after.contains("hello"), "{after}");
}

#[tokio::test]
async fn metrics_tell_when_the_helper_recorded_the_tip_of_the_agents_log() {
    const NAME: &str = "\npostern_agent_log_tip_timestamp_seconds ";
    let place = Place::new();
    let helper = place.helper(Vec::new());
    let before = i64::try_from(in_seconds(0)).unwrap();
    place.serve();
    let text = metrics_with(&place, &format!("{NAME}1")).await;
    let (_, value) = text.split_once(NAME).unwrap();
    let noted = value.lines().next().unwrap().parse::<i64>().unwrap();
    assert!((before..=before + 60).contains(&noted), "{noted}, not about {before}");
    assert_eq!(helper.notes().len(), 1);
}

#[tokio::test]
async fn metrics_count_what_waits_for_a_person_until_it_ends() {
    let place = Place::new();
    let go = Arc::new(Notify::new());
    let end = vec![refused("not_approved")];
    let _helper = place.helper(vec![Play::Hold(
        waiting("a".repeat(32).as_str(), in_seconds(60)),
        Arc::clone(&go),
        end,
    )]);
    place.serve();
    let asked =
        call_json(&place, "POST", "/execute", &json!({ "task": "restart nginx", "wait": false })).await;
    assert_eq!(asked.0, 202, "{}", asked.1);
    metrics_with(&place, "postern_agent_approvals_waiting 1\n").await;
    go.notify_one();
    let after = metrics_with(&place, "postern_agent_approvals_waiting 0\n").await;
    assert!(after.contains("verb=\"unit.restart\",decision=\"not_approved\"} 1\n"), "{after}");
    assert!(after.contains("postern_agent_refusals_total{code=\"not_approved\"} 1\n"), "{after}");
}

#[tokio::test]
async fn example_alerts_name_metrics_and_labels_that_there_are() {
    let place = Place::new();
    let _helper = place.helper(good_job());
    place.serve();
    assert_eq!(call_json(&place, "POST", "/execute", &json!({ "task": JOB })).await.0, 200);
    let served = metrics(&place).await;
    let alerts: Value = serde_yaml_ng::from_str(include_str!("../../deploy/prometheus-alerts.yml")).unwrap();
    let rules = alerts["groups"][0]["rules"].as_array().unwrap();
    let mut named = 0;
    for rule in rules {
        assert!(rule["alert"].is_string() && rule["annotations"]["summary"].is_string(), "{rule}");
        let expression = rule["expr"].as_str().unwrap();
        for (at, _) in expression.match_indices("postern_agent_") {
            let rest = &expression[at..];
            let name = rest.split(|c: char| !c.is_ascii_alphanumeric() && c != '_').next().unwrap();
            assert!(
                served.lines().any(|line| line.split(['{', ' ']).next() == Some(name)),
                "{name}: {served}"
            );
            named += 1;
        }
        for (_, status) in
            expression.match_indices("status=\"").map(|(at, key)| expression[at..].split_at(key.len()))
        {
            let status = status.split('"').next().unwrap();
            assert!(
                served.contains(&format!("postern_agent_tasks{{status=\"{status}\"}}")),
                "{status}: {served}"
            );
        }
        for (_, word) in
            expression.match_indices("decision=\"").map(|(at, key)| expression[at..].split_at(key.len()))
        {
            let word = word.split('"').next().unwrap();
            assert!(["allow", "ask", "not_approved", "refused", "none"].contains(&word), "{word}");
        }
    }
    assert!(named >= 4, "{named}");
}
