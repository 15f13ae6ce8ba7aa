//! Replies that are no exact JSON: good enough to look, no ground for a change, and counted.

use crate::common::{Place, Play, ended, unit, until};
use crate::resuming::{give, http, stands, task};
use crate::server::{self, Server};
use crate::tasks::configure;
use postern_agent::Exit;
use postern_proto::v1::Status;
use serde_json::{Value, json};

/// A reply in words.
fn says(text: &str) -> server::Play {
    let body = json!({ "choices": [{ "message": { "content": text }, "finish_reason": "stop" }] });
    server::Play::Answer(200, &[("content-type", "application/json")], body.to_string())
}

/// A call in the fields of the wire format, its arguments as the model wrote them.
fn native(tool: &str, arguments: &str) -> server::Play {
    let function = json!({ "name": tool, "arguments": arguments });
    let message = json!({ "content": null, "tool_calls": [{ "id": "c", "function": function }] });
    let body = json!({ "choices": [{ "message": message, "finish_reason": "tool_calls" }] });
    server::Play::Answer(200, &[("content-type", "application/json")], body.to_string())
}

const FINISH: &str = r#"{"tool": "finish", "args": {"outcome": "done", "summary": "done"}}"#;
const STOP: &str = r#"{"tool": "service", "args": {"action": "stop", "name": "nginx"}}"#;

fn done() -> Play {
    Play::Events(vec![ended(Status::Done, "")])
}

fn changed() -> Play {
    Play::Events(vec![unit(Status::Done, "nginx.service", "inactive", "dead")])
}

/// Returns the requests that reached the helper.
fn rpcs(helper: &crate::common::FakeHelper) -> Vec<String> {
    helper.seen().into_iter().map(|seen| seen.rpc).filter(|rpc| rpc != "PolicyDescribe").collect()
}

#[tokio::test]
async fn repaired_change_goes_back_to_the_model_and_is_counted_in_health() {
    for (reply, kind) in [
        (says("{'tool': 'service', 'args': {'action': 'stop', 'name': 'nginx'}}"), "single_quotes"),
        (says(r#"{"tool": "service", "args": {"action": "stop", "name": "nginx",}}"#), "trailing_comma"),
        (
            says("{\"tool\": \"service\", // now\n\"args\": {\"action\": \"stop\", \"name\": \"nginx\"}}"),
            "comment",
        ),
        (says(r#"{tool: "service", args: {action: "stop", name: "nginx"}}"#), "bare_key"),
        (native("service", r#"{"action": "stop", "name": "nginx",}"#), "trailing_comma"),
        (native("write_file", "{'path': '/etc/x', 'content': ''}"), "single_quotes"),
        (native("shell", "{'cmd': 'id'}"), "single_quotes"),
    ] {
        let server = Server::start(vec![reply, says(STOP), says(FINISH)]).await;
        let place = Place::new();
        configure(&place, &server);
        let helper = place.helper(vec![done(), changed(), done()]);
        place.serve();
        let ran = place.run(&["run", "stop nginx", "--json"]).await;
        assert_eq!(ran.exit, Exit::Done, "{kind}: {ran:?}");
        assert_eq!(rpcs(&helper), ["UnitStop"], "{kind}: only the exact one was made");
        let told = server.seen()[1].body["messages"].to_string();
        let why = format!("its JSON had to be repaired to be read ({kind})");
        assert!(told.contains(&why) && told.contains("attempt 1/5"), "{told}");
        let health = place.run(&["health", "--json"]).await.json();
        assert_eq!(health["repaired"][kind], 1, "{health}");
    }
}

#[tokio::test]
async fn repaired_look_is_made_and_counted() {
    let look = "{'tool': 'service', 'args': {'action': 'status', 'name': 'nginx'}}";
    let server = Server::start(vec![says(look), says(FINISH)]).await;
    let place = Place::new();
    configure(&place, &server);
    let helper = place.helper(vec![done(), changed(), done()]);
    place.serve();
    assert_eq!(place.run(&["run", "is nginx up?"]).await.exit, Exit::Done);
    assert_eq!(rpcs(&helper), ["UnitStatus"]);
    let health = place.run(&["health"]).await;
    assert!(health.out.contains("replies repaired (single_quotes): 1\n"), "{health:?}");
}

#[tokio::test]
async fn extraction_from_a_fence_or_from_prose_is_counted_and_runs() {
    for (reply, kind) in [
        (format!("```json\n{STOP}\n```"), Some("fence")),
        (format!("I stop it now:\n{STOP}"), Some("prose")),
        (format!("<think>{{stop it}}</think>{STOP}"), None),
        (STOP.to_owned(), None),
    ] {
        let server = Server::start(vec![says(&reply), says(FINISH)]).await;
        let place = Place::new();
        configure(&place, &server);
        let helper = place.helper(vec![done(), changed(), done()]);
        place.serve();
        assert_eq!(place.run(&["run", "stop nginx"]).await.exit, Exit::Done, "{reply}");
        assert_eq!(rpcs(&helper), ["UnitStop"], "{reply}");
        let counted = place.run(&["health", "--json"]).await.json()["repaired"].clone();
        assert_eq!(counted, kind.map_or(Value::Null, |kind| json!({ kind: 1 })), "{reply}");
    }
}

#[tokio::test]
async fn person_who_is_there_decides_on_a_repaired_change() {
    let repaired = "{'tool': 'service', 'args': {'action': 'stop', 'name': 'nginx'}}";
    for (answer, acts) in [("yes", true), ("no", false)] {
        let server = Server::start(vec![says(repaired), says(FINISH)]).await;
        let place = Place::new();
        configure(&place, &server);
        // The session's first change is shown besides.
        let helper = place.helper(vec![done(), Play::Events(vec![ended(Status::Previewed, "")]), changed()]);
        place.serve();
        let id = give(&place, &json!({ "task": "stop nginx", "interactive": true })).await;
        stands(&place, &id, "waiting").await;
        let question = task(&place, &id).await["question"].clone();
        assert_eq!(question["kind"], "repaired", "{question}");
        assert!(
            question["what"].as_str().unwrap().contains("repaired (single_quotes): run service"),
            "{question}"
        );
        assert!(question["details"].as_str().unwrap().contains("\"action\": \"stop\""), "{question}");
        let path = format!("/tasks/{id}/answer");
        http(&place, "POST", &path, &json!({ "question": 1, "answer": answer })).await;
        if acts {
            until("the change itself is asked about", || helper.seen().len() == 2).await;
            stands(&place, &id, "waiting").await;
            http(&place, "POST", &path, &json!({ "question": 2, "answer": "yes" })).await;
            stands(&place, &id, "completed").await;
        } else {
            stands(&place, &id, "failed").await;
        }
        assert_eq!(rpcs(&helper).contains(&"UnitStop".to_owned()), acts);
        assert_eq!(server.seen().len(), 2, "{answer}");
    }
}
