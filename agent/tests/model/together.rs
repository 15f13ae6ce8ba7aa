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

/// The steps that wait at the same time, so many, where the policy asks about packages, holds and entries of directories.
async fn waiting_together(first: &[(&str, Value)], count: usize) -> Vec<u64> {
    let verbs = ["package.install", "package.hold", "package.unhold", "file.mkdir", "file.set-mode"];
    let held = (0..count).map(|at| waits(&at.to_string(), done()).0);
    let checks = (0..count).map(|_| decided(Decision::Ask));
    let plays = std::iter::once(describes(&verbs)).chain(checks).chain(held).collect();
    let (place, _helper, _server) = world(first, plays).await;
    let id = give(&place, &json!({ "task": "do it" })).await;
    stands(&place, &id, "waiting").await;
    let record = task(&place, &id).await;
    let also = record["also_waiting"].as_array().cloned().unwrap_or_default();
    [record["waiting"].clone()].iter().chain(&also).filter_map(|one| one["step"].as_u64()).collect()
}

#[tokio::test]
async fn all_independent_calls_of_a_reply_wait_together_wherever_they_are_in_it() {
    let file = |action: &str, path: &str| ("file", json!({ "action": action, "path": path, "mode": "0750" }));
    let mkdir = |path: &str| ("file", json!({ "action": "mkdir", "path": path }));
    let hold = |action: &str, name: &str| ("package", json!({ "action": action, "names": [name] }));
    let restart = ("service", json!({ "action": "restart", "name": "cron" }));
    for (first, together) in [
        // Verbs of one kind.
        (vec![mkdir("/srv/a"), file("set_mode", "/srv/b")], vec![1, 2]),
        (vec![hold("hold", "nginx"), hold("unhold", "curl")], vec![1, 2]),
        // One between them that depends on the first waits for its turn; those after it that depend on none do not.
        (vec![mkdir("/srv/a"), file("set_mode", "/srv/a"), mkdir("/srv/b")], vec![1, 3]),
        (vec![mkdir("/srv/a"), file("set_mode", "/srv/a"), mkdir("/srv/a/b"), mkdir("/srv/b")], vec![1, 4]),
        // Of another kind: what comes after it may depend on it.
        (vec![install("a"), install("b"), mkdir("/srv/a")], vec![1, 2]),
        (vec![install("a"), install("b"), restart, install("c")], vec![1, 2]),
    ] {
        assert_eq!(waiting_together(&first, together.len()).await, together, "{first:?}");
    }
}

#[tokio::test]
async fn list_of_what_waits_shows_the_values_of_a_command_without_secrets() {
    let asked = waiting(&approval("a"), in_seconds(600));
    let plays = vec![describes(&["command.run"]), Play::Hold(asked, Arc::new(Notify::new()), done())];
    let params = json!({ "name": "db-allow", "params": { "database": "app", "password": "hunter2!" } });
    let (place, _helper, _server) = world(&[("run_command", params)], plays).await;
    let id = give(&place, &json!({ "task": "let the app in" })).await;
    stands(&place, &id, "waiting").await;
    let shown = place.run(&["tasks"]).await;
    assert!(shown.out.contains(": command.run db-allow database=app password=[REDACTED]\n"), "{shown:?}");
    assert!(!shown.out.contains("hunter2"), "{shown:?}");
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
