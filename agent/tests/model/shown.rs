//! Live output of a model, its usage and cost, the site's text in its prompt, and the scripted provider.

use crate::common::{HEADERS, Place, Play, completed, ended, http};
use crate::resuming::{give, http as ask, stands};
use crate::server::{self, Server};
use crate::tasks::{calls, configure};
use http_body_util::BodyExt;
use postern_agent::Exit;
use postern_proto::v1::{self, Status};
use serde_json::json;
use std::os::unix::fs::PermissionsExt;
use std::sync::Arc;
use tokio::net::UnixStream;
use tokio::sync::Notify;

fn done() -> Play {
    Play::Events(vec![ended(Status::Done, "")])
}

fn finish() -> server::Play {
    calls("finish", &json!({ "summary": "all is well", "outcome": "answered" }))
}

fn more(place: &Place, text: &str) {
    let before = std::fs::read_to_string(&place.host.config).unwrap_or_default();
    std::fs::write(&place.host.config, before + text).unwrap();
}

#[tokio::test]
async fn tells_what_a_task_used_and_what_that_costs() {
    let price = "[model.price]\ninput = 3.0\noutput = 15\ncurrency = \"EUR\"\n";
    for (price, cost) in [("", ""), (price, ", 0.0009 EUR")] {
        let look = calls("service", &json!({ "action": "status", "name": "nginx" }));
        let server = Server::start(vec![look, finish()]).await;
        let place = Place::new();
        configure(&place, &server);
        more(&place, price);
        place.helper(vec![done(), done()]);
        place.serve();
        let ran = place.run(&["run", "look at nginx"]).await;
        let used = format!("tokens: 200 in, 20 out{cost}");
        assert!(ran.err.lines().any(|line| line == used), "{used}: {ran:?}");
    }
}

#[tokio::test]
async fn each_retry_says_which_attempt_follows_of_how_many() {
    let overloaded = || {
        let body = json!({ "error": { "message": "overloaded\u{1b}[2J, key sk-abcdefghijklmnopqrstuvwx" } });
        server::Play::Answer(
            503,
            &[("retry-after", "1"), ("content-type", "application/json")],
            body.to_string(),
        )
    };
    let server = Server::start(vec![overloaded(), overloaded(), finish()]).await;
    let place = Place::new();
    configure(&place, &server);
    place.helper(vec![done()]);
    place.serve();
    let ran = place.run(&["run", "why is nginx slow?"]).await;
    assert_eq!((ran.exit, server.seen().len()), (Exit::Done, 3), "{ran:?}");
    let line = ran.err.lines().find(|line| line.ends_with("; attempt 3/4 in 1.0 s"));
    let line = line.unwrap_or_else(|| panic!("{ran:?}"));
    assert!(line.starts_with("  the model cannot be asked: ") && line.contains("503"), "{line:?}");
    assert!(!line.contains('\u{1b}') && !line.contains("sk-abc"), "{line:?}");
}

#[tokio::test]
async fn verbose_says_what_each_request_to_the_model_holds_and_what_was_used_so_far() {
    let look = calls("service", &json!({ "action": "status", "name": "nginx" }));
    for (option, says) in [("--verbose", true), ("--json=lines", false)] {
        let server = Server::start(vec![look.clone(), finish()]).await;
        let place = Place::new();
        configure(&place, &server);
        place.helper(vec![done(), done()]);
        place.serve();
        let ran = place.run(&["run", "look at nginx", option]).await;
        let asks = ran.err.lines().filter(|line| line.starts_with("  asks the model: about ")).count();
        assert_eq!(
            (asks, ran.err.contains("so far tokens: 100 in, 10 out")),
            (usize::from(says) * 2, says),
            "{ran:?}"
        );
        if !says {
            let asks = ran.out.lines().map(|line| serde_json::from_str::<serde_json::Value>(line).unwrap());
            let asks: Vec<_> = asks.filter(|event| event["event"] == "asks").collect();
            assert_eq!(asks.len(), 2, "{ran:?}");
            let of =
                |index: usize, part: &str| asks[index]["data"]["estimated_tokens"][part].as_u64().unwrap();
            assert!(of(0, "total") > 1000 && of(0, "tools") == of(1, "tools"), "{asks:?}");
            assert!(of(1, "conversation") > of(0, "conversation"), "{asks:?}");
        }
    }
}

#[tokio::test]
async fn a_model_s_words_are_heard_while_they_come() {
    let words = |text: &str| json!({ "choices": [{ "delta": { "content": text } }] }).to_string();
    let function = json!({ "name": "finish", "arguments": json!({ "summary": "so", "outcome": "answered" }).to_string() });
    let call = json!({ "choices": [{ "delta": { "tool_calls": [{ "index": 0, "id": "c", "function": function }] },
                                     "finish_reason": "tool_calls" }] });
    let stream =
        format!("data: {}\n\ndata: {}\n\ndata: {call}\n\ndata: [DONE]\n\n", words("let me "), words("think"));
    let server = Server::start(vec![server::Play::Stream(stream)]).await;
    let place = Place::new();
    configure(&place, &server);
    let go = Arc::new(Notify::new());
    place.helper(vec![Play::Hold(Vec::new(), Arc::clone(&go), vec![ended(Status::Done, "")])]);
    place.serve();
    let id = give(&place, &json!({ "task": "what do you think?" })).await;
    let stream = UnixStream::connect(&place.host.agent_socket).await.unwrap();
    let events = http(stream, "GET", &format!("/tasks/{id}/events"), &HEADERS, "").await;
    go.notify_one();
    let told = events.into_body().collect().await.unwrap().to_bytes();
    let told = String::from_utf8(told.to_vec()).unwrap();
    for piece in ["let me ", "think"] {
        assert!(told.contains(&format!("event: says\ndata: {}", json!({ "text": piece }))), "{told}");
    }
    stands(&place, &id, "completed").await;
    let stream = UnixStream::connect(&place.host.agent_socket).await.unwrap();
    let later = http(stream, "GET", &format!("/tasks/{id}/events"), &HEADERS, "").await;
    let later = later.into_body().collect().await.unwrap().to_bytes();
    assert!(!String::from_utf8(later.to_vec()).unwrap().contains("event: says"), "it is not kept");
}

#[tokio::test]
async fn a_checkpoint_s_words_are_a_line_of_their_own() {
    let look = || calls("service", &json!({ "action": "status", "name": "nginx" }));
    let checkpoint = calls(
        "checkpoint",
        &json!({ "response": "I have looked at nginx", "log_summary": "looked", "progress": [], "remaining": "the rest",
                 "failed_approaches": [] }),
    );
    let server = Server::start(vec![look(), checkpoint, finish()]).await;
    let place = Place::new();
    configure(&place, &server);
    more(&place, "[limits]\nsteps = 1\n");
    place.helper(vec![done(), done()]);
    place.serve();
    let ran = place.run(&["run", "look at nginx"]).await;
    assert!(ran.err.lines().any(|line| line == "so far: I have looked at nginx"), "{ran:?}");
}

#[tokio::test]
async fn what_the_site_says_stands_in_the_instructions() {
    let server = Server::start(vec![finish()]).await;
    let place = Place::new();
    configure(&place, &server);
    let directory = place.host.config.with_file_name("prompt.d");
    std::fs::create_dir(&directory).unwrap();
    for (name, text, mode) in [
        ("20-web.md", "Sites live below /srv/www.\n", 0o644),
        ("10-who.md", "Ask the web team first.\n", 0o600),
        ("30-open.md", "Everybody could write this.\n", 0o666),
        ("40-large.md", &"x".repeat(20_000), 0o644),
        ("notes.txt", "This is no prompt.\n", 0o644),
    ] {
        let path = directory.join(name);
        std::fs::write(&path, text).unwrap();
        std::fs::set_permissions(&path, std::fs::Permissions::from_mode(mode)).unwrap();
    }
    place.helper(vec![done()]);
    place.serve();
    place.run(&["run", "do it"]).await;
    let system = server.seen()[0].body["messages"][0]["content"].as_str().unwrap().to_owned();
    let site =
        "\nFrom those who administer this site:\nAsk the web team first.\nSites live below /srv/www.\n";
    assert!(system.contains(site), "{system}");
    assert!(
        !system.contains("Everybody could") && !system.contains("xxx") && !system.contains("no prompt"),
        "{system}"
    );
}

#[tokio::test]
async fn more_parts_of_a_request_come_from_the_configuration() {
    let server = Server::start(vec![finish()]).await;
    let place = Place::new();
    configure(&place, &server);
    more(
        &place,
        "[model.extra]\ntemperature = 0.2\nheaders = { x-team = \"ops\" }\nbody = { top_p = 0.9, seed = 7 }\n",
    );
    place.helper(vec![done()]);
    place.serve();
    place.run(&["run", "do it"]).await;
    let seen = server.seen().remove(0);
    assert!(seen.head.contains("\r\nx-team: ops\r\n"), "{}", seen.head);
    assert_eq!(
        [&seen.body["temperature"], &seen.body["top_p"], &seen.body["seed"]],
        [&json!(0.2), &json!(0.9), &json!(7)]
    );
}

#[tokio::test]
async fn replies_of_a_file_stand_in_for_a_model() {
    let place = Place::new();
    let script = place.path("replies.yaml");
    std::fs::write(
        &script,
        "replies:\n  - text: let me look\n    calls: [{tool: service, args: {action: restart, name: nginx}}]\n  \
         - calls: [{tool: finish, args: {outcome: done, summary: nginx was restarted}}]\n",
    )
    .unwrap();
    more(&place, &format!("[model]\nprovider = \"scripted\"\nscript = {script:?}\n"));
    let helper = place.helper(vec![done(), done(), done(), done()]);
    place.serve();
    let ran = place.run(&["run", "restart nginx please", "--json"]).await;
    assert_eq!((ran.exit, &ran.json()["status"]), (Exit::Done, &json!("completed")), "{ran:?}");
    assert!(helper.seen().iter().any(|seen| seen.rpc == "UnitRestart"));
    assert_eq!(place.run(&["health", "--json"]).await.json()["llm"], "ok");
}

#[tokio::test]
async fn replies_of_a_model_are_shown_on_request_as_they_came_without_secrets() {
    let message = json!({ "content": "I would, password=hunter2hunter2, {\"tool\": " });
    let body = json!({ "choices": [{ "message": message, "finish_reason": "stop" }] }).to_string();
    let malformed = server::Play::Answer(200, &[("content-type", "application/json")], body);
    let content = json!({ "password": "s3cret x" }).to_string();
    let write = calls("write_file", &json!({ "path": "/srv/x", "content": content }));
    let server = Server::start(vec![malformed, write, finish()]).await;
    let place = Place::new();
    configure(&place, &server);
    place.helper(vec![
        done(),
        Play::Events(vec![ended(Status::Failed, "no_grant")]),
        Play::Events(vec![ended(Status::Failed, "no_grant")]),
    ]);
    place.serve();
    let id = place.run(&["run", "what is up?", "--json"]).await.json()["id"].as_str().unwrap().to_owned();
    let shown = place.run(&["tasks", "show", &id, "--replies"]).await;
    for line in [
        "reply 1 (done; tokens: 0 in, 0 out)",
        "I would, password=[REDACTED], {\"tool\": ",
        "reply 3 (done; tokens: 100 in, 10 out)",
        "call finish {\"outcome\":\"answered\",\"summary\":\"all is well\"}",
    ] {
        assert!(shown.out.lines().any(|one| one == line), "{line}: {shown:?}");
    }
    assert!(!shown.out.contains("hunter2"), "{shown:?}");
    assert!(!shown.out.contains("s3cret x"), "arguments are redacted as the JSON that they are: {shown:?}");
    let replies = ask(&place, "GET", &format!("/tasks/{id}/replies"), &json!(null)).await;
    assert_eq!(
        (replies["replies"].as_array().unwrap().len(), &replies["left_out"]),
        (3, &json!(0)),
        "{replies}"
    );
    // A task without a model has none.
    let ran = place.run(&["tasks", "show", "00000000-0000-7000-8000-000000000000", "--replies"]).await;
    assert_eq!(ran.exit, Exit::Failed, "{ran:?}");
}

#[tokio::test]
async fn question_about_a_place_that_amounts_to_root_begins_with_a_warning() {
    let how = "cron and anacron run its commands, as root or as the user that a line names";
    let content = format!("# high risk: /etc/cron.d/x: {how}\n* * * * * root x\n");
    let write = json!({ "path": "/etc/cron.d/x", "content": content });
    let server = Server::start(vec![calls("write_file", &write), finish()]).await;
    let place = Place::new();
    configure(&place, &server);
    let read = Play::Events(vec![ended(Status::Failed, "not_found")]);
    let status = Status::Previewed.into();
    let decision = v1::Decision::Allow.into();
    let may = completed(v1::Completed { status, decision, ..v1::Completed::default() });
    let previewed = Play::Events(vec![ended(Status::Previewed, "")]);
    let _helper = place.helper(vec![done(), Play::Events(vec![may]), read, previewed, done()]);
    place.serve();
    let id = give(&place, &json!({ "task": "run x", "interactive": true })).await;
    stands(&place, &id, "waiting").await;
    let task = ask(&place, "GET", &format!("/tasks/{id}"), &json!(null)).await;
    let details = task["question"]["details"].as_str().unwrap();
    assert!(details.starts_with("high risk: /etc/cron.d/x: cron and anacron run its commands"), "{details}");
}
