//! Calls of one reply that need approval: people are asked about all of them at once, in no order that matters.

use crate::common::{
    FakeHelper, Place, Play, Seen, approval, completed, ended, in_seconds, refused, until, waiting,
};
use crate::resuming::{give, stands, task};
use crate::server::{self, Server};
use crate::tasks::{calls, configure};
use postern_agent::Exit;
use postern_proto::v1::{self, Decision, Status, event::Kind};
use serde_json::{Value, json};
use std::sync::Arc;
use tokio::sync::Notify;

/// A reply of several calls.
fn reply(calls: &[(&str, Value)]) -> server::Play {
    let call = |(at, (tool, args)): (usize, &(&str, Value))| {
        let function = json!({ "name": tool, "arguments": args.to_string() });
        json!({ "id": format!("c{at}"), "function": function })
    };
    let calls: Vec<Value> = calls.iter().enumerate().map(call).collect();
    let message = json!({ "content": null, "tool_calls": calls });
    let body = json!({ "choices": [{ "message": message, "finish_reason": "tool_calls" }] });
    server::Play::Answer(200, &[("content-type", "application/json")], body.to_string())
}

fn install(name: &str) -> (&'static str, Value) {
    ("pkg_install", json!({ "name": name }))
}

fn finish() -> server::Play {
    calls("finish", &json!({ "outcome": "done", "summary": "all is well" }))
}

fn describes(verbs: &[&str]) -> Play {
    Play::Events(description(verbs))
}

/// The policy's description of itself: these verbs need approval.
fn description(verbs: &[&str]) -> Vec<Kind> {
    let verbs = verbs.iter().map(|verb| (*verb).to_owned()).collect();
    let grants = vec![v1::Grant { verbs, decision: Decision::Ask.into(), ..v1::Grant::default() }];
    let description = Some(v1::Description { client: "agent".into(), grants });
    let status = Status::Done.into();
    vec![completed(v1::Completed { status, description, ..v1::Completed::default() })]
}

/// The answer to a check: so it would be decided.
fn decided(decision: Decision) -> Play {
    let (status, decision) = (Status::Previewed.into(), decision.into());
    Play::Events(vec![completed(v1::Completed { status, decision, ..v1::Completed::default() })])
}

fn waits(digit: &str, end: Vec<Kind>) -> (Play, Arc<Notify>) {
    let go = Arc::new(Notify::new());
    (Play::Hold(waiting(&approval(digit), in_seconds(600)), Arc::clone(&go), end), go)
}

fn done() -> Vec<Kind> {
    vec![ended(Status::Done, "")]
}

fn executed(helper: &FakeHelper) -> Vec<String> {
    let seen = helper.seen().into_iter().filter(|seen| seen.meta().mode() == v1::Mode::Execute);
    seen.map(|seen| seen.rpc).collect()
}

/// A task of a model whose first reply holds these calls.
async fn world(first: &[(&str, Value)], plays: Vec<Play>) -> (Place, FakeHelper, Server) {
    let server = Server::start(vec![reply(first), finish()]).await;
    let place = Place::new();
    configure(&place, &server);
    let helper = place.helper(plays);
    place.serve();
    (place, helper, server)
}

#[tokio::test]
async fn calls_of_one_reply_that_need_approval_wait_at_the_same_time() {
    let (one, go_one) = waits("a", done());
    let (two, go_two) = waits("b", vec![refused("not_approved")]);
    let plays =
        vec![describes(&["package.install"]), decided(Decision::Ask), decided(Decision::Ask), one, two];
    let (place, helper, server) = world(&[install("nginx"), install("curl")], plays).await;
    let id = give(&place, &json!({ "task": "install both" })).await;
    stands(&place, &id, "waiting").await;
    let record = task(&place, &id).await;
    let of = |waits: &Value| (waits["step"].clone(), waits["target"].clone());
    assert_eq!(of(&record["waiting"]), (json!(1), json!("nginx")), "{record}");
    assert_eq!(of(&record["also_waiting"][0]), (json!(2), json!("curl")), "{record}");
    let shown = place.run(&["tasks", "show", &id]).await;
    assert!(
        shown.out.contains(&format!("  all of them with: postern-admin approve --task {id}")),
        "{shown:?}"
    );
    go_two.notify_one();
    until("the second is decided", || helper.seen().len() == 5).await;
    stands(&place, &id, "waiting").await;
    go_one.notify_one();
    stands(&place, &id, "partial").await;
    let record = task(&place, &id).await;
    let statuses: Vec<(Value, Value)> = record["results"]
        .as_array()
        .unwrap()
        .iter()
        .map(|result| (result["step"].clone(), result["status"].clone()))
        .collect();
    assert_eq!(statuses, [(json!(1), json!("ok")), (json!(2), json!("denied"))], "{record}");
    assert_eq!(record["changes"].as_array().unwrap().len(), 1, "{record}");
    assert_eq!((&record["waiting"], &record["also_waiting"]), (&Value::Null, &Value::Null));
    assert_eq!(executed(&helper), ["PolicyDescribe", "PackageInstall", "PackageInstall"], "each once");
    let told = server.seen()[1].body["messages"].to_string();
    assert!(told.contains("\\\"status\\\":\\\"ok\\\"") && told.contains("not_approved"), "{told}");
}

#[tokio::test]
async fn calls_whose_order_matters_or_that_need_no_approval_are_asked_for_in_turn() {
    let mkdir = |path: &str| ("file", json!({ "action": "mkdir", "path": path }));
    let restart = |name: &str| ("service", json!({ "action": "restart", "name": name }));
    let verbs = &["package.install", "file.mkdir", "unit.restart"];
    for first in [
        vec![mkdir("/srv/a"), mkdir("/srv/a/b")],
        vec![install("nginx"), restart("nginx")],
        vec![restart("nginx"), restart("nginx")],
        vec![("shell", json!({ "cmd": "id" })), install("nginx")],
    ] {
        let answer = move |seen: &Seen| match seen.rpc.as_str() {
            "PolicyDescribe" => description(verbs),
            _ => done(),
        };
        let (place, helper, _server) = world(&first, vec![Play::Decide(Arc::new(answer))]).await;
        place.run(&["run", "do it"]).await;
        let modes: Vec<v1::Mode> = helper.seen().iter().map(|seen| seen.meta().mode()).collect();
        assert!(modes.len() > 1 && !modes.contains(&v1::Mode::Check), "{first:?}: {modes:?}");
    }
    // The policy asks about one of two alone.
    let plays = vec![
        describes(&["package.install"]),
        decided(Decision::Ask),
        decided(Decision::Allow),
        Play::Events(done()),
        Play::Events(done()),
    ];
    let (place, helper, _server) = world(&[install("nginx"), install("curl")], plays).await;
    let ran = place.run(&["run", "install both", "--json"]).await;
    assert_eq!((ran.exit, helper.seen().len()), (Exit::Done, 5), "{ran:?}");
}

#[tokio::test]
async fn request_beyond_the_limit_of_waiting_ones_is_asked_for_again_in_its_turn() {
    let (one, go_one) = waits("a", done());
    let plays = vec![
        describes(&["package.install"]),
        decided(Decision::Ask),
        decided(Decision::Ask),
        one,
        Play::Events(vec![refused("too_many_pending")]),
        Play::Events(done()),
    ];
    let (place, helper, _server) = world(&[install("nginx"), install("curl")], plays).await;
    let id = give(&place, &json!({ "task": "install both" })).await;
    stands(&place, &id, "waiting").await;
    go_one.notify_one();
    stands(&place, &id, "completed").await;
    assert_eq!(executed(&helper).iter().filter(|rpc| *rpc == "PackageInstall").count(), 3);
    assert_eq!(task(&place, &id).await["changes"].as_array().unwrap().len(), 2);
}

#[tokio::test]
async fn task_that_is_cancelled_while_several_wait_says_that_they_may_still_be_approved() {
    let (one, _never) = waits("a", done());
    let (two, _never_too) = waits("b", done());
    let plays =
        vec![describes(&["package.install"]), decided(Decision::Ask), decided(Decision::Ask), one, two];
    let (place, _helper, _server) = world(&[install("nginx"), install("curl")], plays).await;
    let id = give(&place, &json!({ "task": "install both" })).await;
    stands(&place, &id, "waiting").await;
    place.run(&["tasks", "cancel", &id]).await;
    stands(&place, &id, "cancelled").await;
    let record = task(&place, &id).await;
    let error = record["results"][0]["error"].as_str().unwrap();
    assert!(error.contains(&format!("postern-admin deny {}", approval("a"))), "{record}");
    assert_eq!((&record["waiting"], &record["also_waiting"]), (&Value::Null, &Value::Null), "{record}");
}
