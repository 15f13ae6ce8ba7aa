//! Plans: what is one, how it is carried out, repaired and taken back.

use crate::common::tool::ToolServer;
use crate::common::{FakeHelper, HEADERS, Place, Play, completed, ended, http, refused, unit};
use crate::server::{self, Server};
use crate::tasks::{calls, configure};
use http_body_util::BodyExt;
use hyper::body::Incoming;
use postern_agent::Exit;
use postern_agent::llm::reply_parser;
use postern_agent::plan::split;
use postern_agent::protocol::plan::{Code, Plan, Unfit, unfit};
use postern_proto::v1::{self, Status};
use serde_json::{Value, json};

/// A plan of a text, as `postern run --plan` reads it.
fn read(text: &str) -> Result<Plan, Unfit> {
    Plan::of(reply_parser::strict(text).map_err(|why| unfit(Code::InvalidJson, why))?)
}

/// A plan of commands in their shortest form.
fn commands(lines: &[&str]) -> Value {
    let command = |line: &&str| json!({ "command": line, "purpose": "to see", "read_only": false });
    let commands: Vec<Value> = lines.iter().map(command).collect();
    json!({ "plan_type": "command_plan", "goal": "nginx runs", "commands": commands })
}

fn with(mut plan: Value, more: &Value) -> Value {
    for (name, value) in more.as_object().unwrap() {
        plan[name] = value.clone();
    }
    plan
}

fn done() -> Play {
    Play::Events(vec![ended(Status::Done, "")])
}

fn failed(code: &str) -> Play {
    Play::Events(vec![ended(Status::Failed, code)])
}

fn state(active: &str) -> Play {
    Play::Events(vec![unit(Status::Done, "nginx.service", active, "x")])
}

pub fn asked(helper: &FakeHelper) -> Vec<String> {
    helper.seen().into_iter().map(|seen| seen.rpc).collect()
}

/// Writes a plan into the place and runs it through the agent.
async fn carry_out(place: &Place, plan: &Value, more: &[&str]) -> (Exit, Value) {
    let path = place.path("plan.json");
    std::fs::write(&path, plan.to_string()).unwrap();
    let mut args = vec!["run", "--json", "--plan", path.to_str().unwrap()];
    args.extend(more);
    let ran = place.run(&args).await;
    (ran.exit, ran.json())
}

/// A place whose helper answers so, with the agent running.
fn place(plays: Vec<Play>) -> (Place, FakeHelper) {
    let place = Place::new();
    let helper = place.helper(plays);
    place.serve();
    (place, helper)
}

/// The same with a model that answers so.
async fn place_with(plays: Vec<Play>, replies: Vec<server::Play>) -> (Place, FakeHelper, Server) {
    let server = Server::start(replies).await;
    let place = Place::new();
    configure(&place, &server);
    let helper = place.helper(plays);
    place.serve();
    (place, helper, server)
}

fn planned(plan: &Value) -> server::Play {
    calls("plan", &json!({ "plan": plan }))
}

#[test]
fn what_is_no_plan_says_why() {
    let command = |more: Value| {
        let command = with(json!({ "command": "id", "purpose": "who", "read_only": true }), &more);
        json!({ "plan_type": "command_plan", "goal": "g", "commands": [command] }).to_string()
    };
    let patch = |more: Value| {
        let diff = "--- a/etc/x\n+++ b/etc/x\n@@ -1 +1 @@\n-a\n+b\n";
        let plan = json!({ "plan_type": "file_patch", "goal": "g", "request_intent": "update",
            "files_changed": ["/etc/x"], "unified_diff": diff });
        with(plan, &more).to_string()
    };
    let checked = |name: &str, checks: Value| with(commands(&["id"]), &json!({ name: checks })).to_string();
    let effect = json!([{ "tool": "service", "args": { "action": "stop", "name": "nginx" } }]);
    for (text, code) in [
        ("rm -rf /".to_owned(), "invalid_json"),
        ("{\"plan_type\": \"command_plan\"".to_owned(), "invalid_json"),
        ("{\"goal\": \"g\", \"goal\": \"g\"}".to_owned(), "invalid_json"),
        ("{} {}".to_owned(), "invalid_json"),
        ("{goal: \"g\"}".to_owned(), "invalid_json"),
        ("{}".to_owned(), "invalid_shape"),
        ("{\"plan_type\": \"script\"}".to_owned(), "invalid_shape"),
        (commands(&[]).to_string(), "empty_commands"),
        (with(commands(&["id"]), &json!({ "note": 1 })).to_string(), "invalid_schema"),
        (command(json!({ "shell": true })), "invalid_schema"),
        (command(json!({ "read_only": "yes" })), "invalid_schema"),
        (command(json!({ "target_hosts": ["db1"] })), "invalid_schema"),
        (command(json!({ "target_hosts": ["*"] })), "invalid_schema"),
        (command(json!({ "target_hosts": ["localhost", "db1"] })), "invalid_schema"),
        (command(json!({ "target_hosts": ["db1", "localhost"] })), "invalid_schema"),
        (command(json!({ "target_hosts": ["localhost\n"] })), "invalid_schema"),
        (command(json!({ "background": true })), "invalid_schema"),
        (command(json!({ "timeout_seconds": 0 })), "invalid_schema"),
        (command(json!({ "timeout_seconds": 86_401 })), "invalid_schema"),
        (command(json!({ "acceptable_exit_codes": [] })), "invalid_schema"),
        (command(json!({ "acceptable_exit_codes": [0, 0] })), "invalid_schema"),
        (command(json!({ "acceptable_exit_codes": [256] })), "invalid_schema"),
        (command(json!({ "acceptable_exit_codes": [0, 1], "read_only": false })), "invalid_schema"),
        (command(json!({ "command": "id; id" })), "argv_unsafe"),
        (checked("preflight_checks", json!(["id | cat"])), "argv_unsafe"),
        (checked("rollback_commands", json!([{ "command": "echo `id`" }])), "argv_unsafe"),
        (checked("verification_commands", effect.clone()), "invalid_schema"),
        (checked("preflight_checks", effect), "invalid_schema"),
        (
            checked("preflight_checks", json!([{ "tool": "service", "args": { "action": "status" } }])),
            "invalid_schema",
        ),
        (command(json!({ "command": "cat /etc/shadow" })), "command_blocked"),
        (checked("commands", json!([{ "tool": "shell", "args": { "cmd": "id; id" } }])), "argv_unsafe"),
        (
            checked("commands", json!([{ "tool": "shell", "args": { "cmd": "cat /etc/shadow" } }])),
            "command_blocked",
        ),
        (
            checked("commands", json!([{ "tool": "apply_patch", "args": { "diff": "none" } }])),
            "invalid_schema",
        ),
        (
            checked("rollback_commands", json!([{ "tool": "shell", "args": { "cmd": "id | cat" } }])),
            "argv_unsafe",
        ),
        (command(json!({ "command": "sudo iptables -F" })), "command_blocked"),
        (command(json!({ "command": "systemctl restart nginx" })), "invalid_schema"),
        (checked("verification_commands", json!(["systemctl restart nginx"])), "invalid_schema"),
        (patch(json!({ "files_changed": ["/etc/y"] })), "invalid_schema"),
        (patch(json!({ "files_changed": [] })), "invalid_schema"),
        (patch(json!({ "request_intent": "create" })), "invalid_schema"),
        (patch(json!({ "request_intent": "mend" })), "invalid_schema"),
        (patch(json!({ "unified_diff": "what" })), "invalid_schema"),
        (
            patch(json!({ "permission_changes": [{ "path": "/etc/x", "mode": "4755", "reason": "r" }] })),
            "invalid_schema",
        ),
        (
            patch(json!({ "permission_changes": [{ "path": "/etc/y", "mode": "0644", "reason": "r" }] })),
            "invalid_schema",
        ),
        (json!({ "plan_type": "no_change", "evidence": [] }).to_string(), "invalid_schema"),
        (json!({ "plan_type": "user_input", "question": " " }).to_string(), "invalid_schema"),
    ] {
        match read(&text) {
            Ok(plan) => panic!("{text} is {plan:?}"),
            Err(unfit) => assert_eq!(unfit.code.name(), code, "{text}: {unfit}"),
        }
    }
    for text in [
        command(json!({ "acceptable_exit_codes": [0, 1], "target_hosts": ["localhost"] })),
        patch(json!({ "permission_changes": [{ "path": "/etc/x", "mode": "644", "reason": "r" }] })),
        checked("rollback_commands", json!(["systemctl stop nginx", { "command": "id" }])),
        json!({ "plan_type": "direct_answer", "answer": "42" }).to_string(),
        json!({ "plan_type": "no_change", "evidence": ["it runs"] }).to_string(),
    ] {
        let plan = read(&text).unwrap_or_else(|unfit| panic!("{text}: {unfit}"));
        let again = serde_json::to_string(&plan).unwrap();
        assert_eq!(read(&again).unwrap(), plan, "{again}");
    }
}

#[test]
fn a_command_is_plain_words_or_none() {
    for text in [
        "a; b",
        "a && b",
        "a || b",
        "a | b",
        "a > f",
        "a < f",
        "a &",
        "(a)",
        "{ a; }",
        "a $x",
        "a `b`",
        "a $(b)",
        "a \"$x\"",
        "a \"`b`\"",
        "a \\; b",
        "a\nb",
        "X=y a",
        "X=y",
        "a 'b",
        "a \"b",
        "a *.c",
        "a [bc]",
        "a b?",
        "~/a",
        "a ~",
        "# a",
        "",
        "  ",
        "''",
        "-x",
        "a \u{202e}b",
        "a\0b",
        "a \"b\nc\"",
    ] {
        assert!(split(text).is_err(), "{text:?} is {:?}", split(text));
    }
    assert!(split(&"a".repeat(3000)).is_err());
    for (text, words) in [
        ("a  b\tc", vec!["a", "b", "c"]),
        ("a 'b c' \"d e\"", vec!["a", "b c", "d e"]),
        ("a '$x;|&' \"x=1\"", vec!["a", "$x;|&", "x=1"]),
        ("a b'c'\"d\" ''", vec!["a", "bcd", ""]),
        ("grep -c x=y /etc/f~ a#b", vec!["grep", "-c", "x=y", "/etc/f~", "a#b"]),
    ] {
        assert_eq!(split(text).unwrap(), words, "{text:?}");
    }
}

#[tokio::test]
async fn what_is_no_plan_runs_nothing() {
    let (place, helper) = place(vec![done()]);
    let (exit, answer) = carry_out(&place, &commands(&["systemctl restart nginx", "id; id"]), &[]).await;
    assert_eq!((exit, &answer["error"]["code"]), (Exit::Usage, &json!("argv_unsafe")));
    let mut elsewhere = commands(&["systemctl restart nginx"]);
    elsewhere["commands"][0]["target_hosts"] = json!(["db1"]);
    let (exit, answer) = carry_out(&place, &elsewhere, &[]).await;
    assert_eq!((exit, &answer["error"]["code"]), (Exit::Usage, &json!("invalid_schema")), "{answer}");
    let ran = place.run(&["run", "--plan", "/no/such/plan"]).await;
    assert_eq!(ran.exit, Exit::Usage);
    assert!(helper.seen().is_empty());
}

#[tokio::test]
async fn the_offline_planner_s_plan_can_be_carried_out() {
    let (place, helper) = place(vec![done(), done()]);
    let ran = place.run(&["plan", "install nginx and restart nginx", "--json"]).await;
    assert_eq!((ran.exit, &ran.json()["plan_type"]), (Exit::Done, &json!("command_plan")));
    let shown = place.run(&["plan", "install nginx and restart nginx"]).await;
    assert!(shown.out.contains("1.  install nginx") && shown.out.contains("changes"), "{}", shown.out);
    let (exit, task) = carry_out(&place, &ran.json(), &[]).await;
    assert_eq!((exit, &task["status"]), (Exit::Done, &json!("completed")), "{task}");
    assert_eq!(asked(&helper), ["PackageInstall", "UnitRestart"]);
}

#[tokio::test]
async fn a_plan_comes_from_standard_input() {
    let (place, helper) = place(vec![done()]);
    let plan = br#"{"plan_type": "command_plan", "goal": "g",
        "commands": [{"tool": "service", "args": {"action": "restart", "name": "nginx"}}]}"#;
    let ran = place.run_with(&["run", "--plan", "-"], plan).await;
    assert_eq!(ran.exit, Exit::Done, "{ran:?}");
    assert_eq!(asked(&helper), ["UnitRestart"]);
}

#[tokio::test]
async fn steps_become_requests_and_what_must_be_so_is_looked_at() {
    let installed = Play::Events(vec![completed(v1::Completed {
        status: Status::Done.into(),
        undoable: true,
        ..v1::Completed::default()
    })]);
    let (place, helper) = place(vec![state("inactive"), installed, done(), state("active")]);
    let plan = with(
        commands(&["sudo apt-get install -y nginx", "systemctl restart nginx"]),
        &json!({
            "preflight_checks": [{ "tool": "service", "args": { "action": "status", "name": "nginx" }, "expect": "inactive" }],
            "verification_commands": ["systemctl is-active nginx"],
        }),
    );
    let (exit, task) = carry_out(&place, &plan, &[]).await;
    assert_eq!((exit, &task["status"]), (Exit::Done, &json!("completed")), "{task}");
    assert_eq!(asked(&helper), ["UnitStatus", "PackageInstall", "UnitRestart", "UnitStatus"]);
    let summary = task["summary"].as_str().unwrap();
    assert!(
        summary.starts_with("done: nginx runs. changed: package.install nginx (postern undo "),
        "{summary}"
    );
}

#[tokio::test]
async fn an_exit_code_that_is_acceptable_is_no_failure() {
    let (place, _helper) = place(vec![state("inactive"), state("inactive")]);
    let command = |codes: Value| {
        json!({ "plan_type": "command_plan", "goal": "g", "commands": [{ "command": "systemctl is-active nginx",
            "purpose": "look", "read_only": true, "acceptable_exit_codes": codes }] })
    };
    let (exit, task) = carry_out(&place, &command(json!([0, 3])), &[]).await;
    assert_eq!((exit, &task["results"][0]["exit_code"]), (Exit::Done, &json!(3)), "{task}");
    let (exit, task) = carry_out(&place, &command(json!([0])), &[]).await;
    assert_eq!((exit, &task["status"]), (Exit::Failed, &json!("failed")), "{task}");
}

#[tokio::test]
async fn a_dry_run_shows_what_is_said_of_each_step() {
    let (place, helper) = place(vec![Play::Events(vec![refused("no_grant")]), done()]);
    let plan = with(
        commands(&["systemctl stop nginx", "systemctl restart nginx"]),
        &json!({
        "verification_commands": ["systemctl is-active nginx"], "rollback_commands": ["systemctl start nginx"] }),
    );
    let (exit, task) = carry_out(&place, &plan, &["--dry-run"]).await;
    assert_eq!((exit, &task["status"]), (Exit::Refused, &json!("refused")), "{task}");
    assert_eq!(asked(&helper), ["UnitStop", "UnitRestart"]);
    assert!(helper.seen().iter().all(|seen| seen.meta().mode == v1::Mode::Preview as i32));
}

#[tokio::test]
async fn a_model_s_plan_is_shown_and_nothing_of_it_runs() {
    let plan = commands(&["systemctl restart nginx"]);
    let looked = calls("service", &json!({ "action": "status", "name": "nginx" }));
    let (place, helper, server) =
        place_with(vec![done(), state("failed")], vec![looked, planned(&plan)]).await;
    let ran = place.run(&["plan", "make nginx run", "--json"]).await;
    assert_eq!((ran.exit, &ran.json()["goal"]), (Exit::Done, &json!("nginx runs")), "{ran:?}");
    assert_eq!(asked(&helper), ["PolicyDescribe", "UnitStatus"]);
    let tools = server.seen()[0].body["tools"].to_string();
    assert!(tools.contains("verification_commands") && !tools.contains("\"$ref\""), "{tools}");
    assert!(!tools.contains("\"name\":\"pkg_install\""), "{tools}");
}

#[tokio::test]
async fn a_file_that_is_there_is_not_created_over() {
    let (place, helper) = place(vec![failed("already_exists")]);
    let plan = json!({ "plan_type": "file_patch", "goal": "x is there", "request_intent": "create",
        "files_changed": ["/etc/x"], "unified_diff": "--- /dev/null\n+++ b/etc/x\n@@ -0,0 +1 @@\n+b\n" });
    let (exit, task) = carry_out(&place, &plan, &[]).await;
    assert_eq!((exit, &task["status"]), (Exit::Failed, &json!("failed")), "{task}");
    let seen = helper.seen();
    let change = seen[0].decode::<v1::FilePatchRequest>().changes;
    assert_eq!(change[0].expect, "absent");
}

/// One call over the agent's socket; its answer's body as it comes.
async fn call(place: &Place, method: &str, path: &str, body: &str) -> Incoming {
    let stream = tokio::net::UnixStream::connect(&place.host.agent_socket).await.unwrap();
    http(stream, method, path, &HEADERS, body).await.into_body()
}

async fn json_of(body: Incoming) -> Value {
    serde_json::from_slice(&body.collect().await.unwrap().to_bytes()).unwrap()
}

pub async fn post(place: &Place, path: &str, body: &Value) -> Value {
    json_of(call(place, "POST", path, &body.to_string()).await).await
}

/// The task once its question of this number has come.
pub async fn until_asked(place: &Place, id: &str, number: usize) -> Value {
    let mut events = call(place, "GET", &format!("/tasks/{id}/events"), "").await;
    let mut seen = String::new();
    while seen.matches("event: question").count() < number {
        let frame = events.frame().await.expect("more events").unwrap();
        seen.push_str(&String::from_utf8_lossy(frame.data_ref().unwrap()));
    }
    json_of(call(place, "GET", &format!("/tasks/{id}"), "").await).await
}

/// The task once it has ended.
pub async fn until_ended(place: &Place, id: &str) -> Value {
    call(place, "GET", &format!("/tasks/{id}/events"), "").await.collect().await.unwrap();
    json_of(call(place, "GET", &format!("/tasks/{id}"), "").await).await
}

#[tokio::test]
async fn a_program_runs_in_the_sandbox_with_its_own_time_and_exit_codes() {
    let server = ToolServer::start();
    let mut place = Place::new();
    place.host.tool_socket = server.socket.clone();
    std::fs::write(&place.host.config, "[tools]\nunenforced = \"report\"\n").unwrap();
    place.helper(Vec::new());
    place.serve();
    let command = |line: &str, codes: Value, seconds: u32| {
        json!({ "command": line, "purpose": "look", "read_only": true, "acceptable_exit_codes": codes,
            "timeout_seconds": seconds })
    };
    let plan = |commands: Value| json!({ "plan_type": "command_plan", "goal": "g", "commands": commands });
    let both = plan(json!([
        command("ls /no-such-directory", json!([0, 2]), 30),
        command("echo 'a;b'", json!([0]), 30),
    ]));
    let (exit, task) = carry_out(&place, &both, &[]).await;
    assert_eq!((exit, &task["results"][0]["exit_code"]), (Exit::Done, &json!(2)), "{task}");
    assert_eq!(task["results"][1]["stdout"], "a;b\n");
    let (exit, task) = carry_out(&place, &plan(json!([command("sleep 60", json!([0]), 1)])), &[]).await;
    assert_eq!((exit, &task["results"][0]["status"]), (Exit::Failed, &json!("timeout")), "{task}");
    let (exit, task) = carry_out(&place, &both, &["--dry-run"]).await;
    let said = task["results"][1]["stdout"].as_str().unwrap();
    assert!(exit == Exit::Done && said.contains("would run in the sandbox: SAFE"), "{task}");
}

#[tokio::test]
async fn a_plan_may_not_change_more_than_a_task_may() {
    let place = Place::new();
    std::fs::write(&place.host.config, "[limits]\nchanges = 1\n").unwrap();
    let helper = place.helper(vec![done(), done()]);
    place.serve();
    let plan = commands(&["systemctl restart one", "systemctl restart two"]);
    let (_, task) = carry_out(&place, &plan, &[]).await;
    assert_eq!((&task["status"], asked(&helper).len()), (&json!("out_of_budget"), 1), "{task}");
    let call = json!({ "tool": "service", "args": { "action": "restart", "name": "one" } });
    let calls = with(commands(&[]), &json!({ "commands": [call, call] }));
    helper.add(done());
    let (_, task) = carry_out(&place, &calls, &[]).await;
    assert_eq!((&task["status"], asked(&helper).len()), (&json!("out_of_budget"), 2), "{task}");
}
