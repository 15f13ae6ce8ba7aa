//! A task with a model through the whole agent: service, loop, requests to a helper.

use crate::common::{Place, Play, ended, refused, unit};
use crate::server::{self, Server};
use postern_agent::Exit;
use postern_proto::v1::Status;
use serde_json::{Value, json};

pub fn calls(tool: &str, args: &Value) -> server::Play {
    let function = json!({ "name": tool, "arguments": args.to_string() });
    let message = json!({ "content": null, "tool_calls": [{ "id": "c", "function": function }] });
    let usage = json!({ "prompt_tokens": 100, "completion_tokens": 10 });
    let body = json!({ "choices": [{ "message": message, "finish_reason": "tool_calls" }], "usage": usage });
    server::Play::Answer(200, &[("content-type", "application/json")], body.to_string())
}

pub fn configure(place: &Place, server: &Server) {
    let text = format!("[model]\nprovider = \"openai\"\nbase_url = \"http://{}/v1\"\n", server.address);
    std::fs::write(&place.host.config, text).unwrap();
}

#[tokio::test]
async fn a_model_is_refused_once_adapts_and_finishes() {
    let server = Server::start(vec![
        calls("pkg_install", &json!({ "name": "nginx" })),
        calls("pkg_install", &json!({ "name": "nginx-light" })),
        calls("service", &json!({ "action": "status", "name": "nginx" })),
        calls("finish", &json!({ "outcome": "done", "summary": "nginx-light is installed and runs" })),
    ])
    .await;
    let place = Place::new();
    configure(&place, &server);
    let helper = place.helper(vec![
        Play::Events(vec![ended(Status::Done, "")]),
        Play::Events(vec![refused("no_grant")]),
        Play::Events(vec![ended(Status::Done, "")]),
        Play::Events(vec![unit(Status::Done, "nginx.service", "active", "running")]),
    ]);
    place.serve();
    let ran = place.run(&["run", "install a small nginx", "--json"]).await;
    let task = ran.json();
    assert_eq!((ran.exit, &task["status"]), (Exit::Partly, &json!("partial")), "{task}");
    let record = "changed: package.install nginx-light. NOT done: install nginx (refused: no_grant)";
    assert_eq!(task["summary"], format!("nginx-light is installed and runs\nPostern's record: {record}"));
    assert_eq!(task["warnings"], json!(["2 succeeded, 1 failed"]));
    assert_eq!(task["changes"].as_array().unwrap().len(), 1);
    assert_eq!(task["usage"], json!({ "input_tokens": 400, "output_tokens": 40 }));
    let rpcs: Vec<String> = helper.seen().into_iter().map(|seen| seen.rpc).collect();
    assert_eq!(rpcs, ["PolicyDescribe", "PackageInstall", "PackageInstall", "UnitStatus"]);
    let told = server.seen()[1].body["messages"].to_string();
    assert!(told.contains("no_grant") && !told.contains("request_id"), "{told}");
}

#[tokio::test]
async fn what_did_not_happen_is_not_completed_whatever_the_model_says() {
    let server = Server::start(vec![
        calls("service", &json!({ "action": "restart", "name": "nginx" })),
        calls("finish", &json!({ "outcome": "done", "summary": "nginx was restarted" })),
    ])
    .await;
    let place = Place::new();
    configure(&place, &server);
    place.helper(vec![Play::Events(vec![ended(Status::Done, "")]), Play::Events(vec![refused("no_grant")])]);
    place.serve();
    let ran = place.run(&["run", "restart nginx", "--json"]).await;
    assert_eq!((ran.exit, &ran.json()["status"]), (Exit::Refused, &json!("refused")));
}

#[tokio::test]
async fn health_tells_of_the_model() {
    let server = Server::start(vec![
        server::Play::Answer(200, &[], "{}".into()),
        server::Play::Answer(401, &[], String::new()),
    ])
    .await;
    for expected in ["ok", "the endpoint answers 401: (nothing more); see key in [model]"] {
        let place = Place::new();
        configure(&place, &server);
        place.helper(vec![Play::Events(vec![ended(Status::Done, "")])]);
        place.serve();
        assert_eq!(place.run(&["health", "--json"]).await.json()["llm"], expected);
    }
    assert!(server.seen()[0].head.starts_with("GET /v1/models "), "{}", server.seen()[0].head);
    let place = Place::new();
    std::fs::write(&place.host.config, "[model]\nprovider = \"openai\"\nkey = \"file:/no/such/key\"\n")
        .unwrap();
    place.helper(vec![Play::Events(vec![ended(Status::Done, "")])]);
    place.serve();
    let llm = place.run(&["health", "--json"]).await.json()["llm"].to_string();
    assert!(llm.contains("cannot read /no/such/key"), "{llm}");
}
