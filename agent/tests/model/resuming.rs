//! A real `postern serve` process that is killed at each point of a task, and what its successor makes of it.

use crate::common::{FakeHelper, Place, Play, accepted, ended, host_at, refused, unit, until};
use crate::server::{self, Server};
use crate::tasks::{calls, configure};
use postern_agent::Exit;
use postern_proto::v1::{self, Status};
use serde_json::{Value, json};
use std::os::unix::net::UnixStream;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::sync::{Arc, Mutex};
use std::time::Duration;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::sync::Notify;

const DIRECTORY: &str = "POSTERN_TEST_SERVES_IN";

#[test]
#[ignore = "the process that the other tests start"]
fn serves_where_it_is_told() {
    let directory = std::env::var(DIRECTORY).unwrap();
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    runtime.block_on(postern_agent::service::serve(&host_at(Path::new(&directory)))).unwrap();
}

/// `postern serve` as a process of its own. Dropped, it is killed with SIGKILL.
pub struct Agent(Child);

impl Agent {
    #[expect(clippy::disallowed_methods, reason = "tests start programs")]
    pub async fn start(place: &Place) -> Self {
        let child = Command::new(std::env::current_exe().unwrap())
            .args(["--exact", "resuming::serves_where_it_is_told", "--ignored", "--nocapture"])
            .env(DIRECTORY, place.path(""))
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .spawn()
            .unwrap();
        let socket = place.host.agent_socket.clone();
        until("the agent listens", || UnixStream::connect(&socket).is_ok()).await;
        Self(child)
    }
}

impl Drop for Agent {
    fn drop(&mut self) {
        self.0.kill().unwrap();
        self.0.wait().unwrap();
    }
}

/// One HTTP call, whose answer is JSON.
pub async fn http(place: &Place, method: &str, path: &str, body: &Value) -> Value {
    let mut stream = tokio::net::UnixStream::connect(&place.host.agent_socket).await.unwrap();
    let body = body.to_string();
    let head = format!(
        "{method} {path} HTTP/1.1\r\nhost: localhost\r\nconnection: close\r\ncontent-type: application/json\r\n"
    );
    let request = format!("{head}content-length: {}\r\n\r\n{body}", body.len());
    stream.write_all(request.as_bytes()).await.unwrap();
    let mut answer = String::new();
    stream.read_to_string(&mut answer).await.unwrap();
    let (_, body) = answer.split_once("\r\n\r\n").expect(&answer);
    serde_json::from_str(body).expect(&answer)
}

/// Gives a task and does not wait for it; its id.
pub async fn give(place: &Place, order: &Value) -> String {
    let mut order = order.clone();
    order["wait"] = json!(false);
    http(place, "POST", "/execute", &order).await["id"].as_str().unwrap().to_owned()
}

pub async fn task(place: &Place, id: &str) -> Value {
    http(place, "GET", &format!("/tasks/{id}"), &Value::Null).await
}

/// Waits until a task stands so, at most 10 s.
pub async fn stands(place: &Place, id: &str, status: &str) {
    for _ in 0..1000 {
        if task(place, id).await["status"] == status {
            return;
        }
        tokio::time::sleep(Duration::from_millis(10)).await;
    }
    panic!("{id} never {status}: {}", task(place, id).await);
}

fn rpcs(helper: &FakeHelper) -> Vec<String> {
    helper.seen().into_iter().map(|seen| seen.rpc).collect()
}

fn done() -> Play {
    Play::Events(vec![ended(Status::Done, "")])
}

fn hold() -> Play {
    Play::Hold(vec![accepted()], Arc::new(Notify::new()), Vec::new())
}

fn install() -> server::Play {
    calls("pkg_install", &json!({ "name": "nginx" }))
}

fn restart() -> server::Play {
    calls("service", &json!({ "action": "restart", "name": "nginx" }))
}

fn finish() -> server::Play {
    calls("finish", &json!({ "outcome": "done", "summary": "all is well" }))
}

/// Kills the agent, starts the next one and resumes the task to its end.
async fn killed_and_resumed(place: &Place, agent: Agent, id: &str) -> (Agent, Value) {
    drop(agent);
    let agent = Agent::start(place).await;
    let left = task(place, id).await;
    assert!(["failed", "partial"].contains(&left["status"].as_str().unwrap()), "{left}");
    assert_eq!(left["warnings"], json!([format!("interrupted: postern tasks resume {id}")]), "{left}");
    let ran = place.run(&["tasks", "resume", id, "--json"]).await;
    assert_eq!(ran.exit, Exit::Done, "{ran:?}");
    (agent, ran.json())
}

/// Returns the messages without the line with the time.
fn without_time(body: &Value) -> String {
    let said = serde_json::to_string_pretty(&body["messages"]).unwrap().replace("\\n", "\n");
    said.lines().filter(|line| !line.starts_with("Now: ")).collect::<Vec<_>>().join("\n")
}

#[tokio::test]
async fn killed_before_a_call_is_made_the_task_goes_on_with_what_the_model_says_next() {
    let server = Server::start(vec![install(), server::Play::Hang, restart(), finish()]).await;
    let place = Place::new();
    configure(&place, &server);
    let helper = place.helper(vec![done(), done(), done(), done()]);
    let agent = Agent::start(&place).await;
    let id = give(&place, &json!({ "task": "install nginx and restart it" })).await;
    until("the model is asked twice", || server.seen().len() == 2).await;
    let (_agent, task) = killed_and_resumed(&place, agent, &id).await;
    assert_eq!(task["status"], "completed", "{task}");
    assert_eq!(rpcs(&helper), ["PolicyDescribe", "PackageInstall", "PolicyDescribe", "UnitRestart"]);
    assert_eq!(task["changes"].as_array().unwrap().len(), 2, "{task}");
    let seen = server.seen();
    assert_eq!(without_time(&seen[2].body), without_time(&seen[1].body), "what was said is what it was");
    assert_eq!(task["usage"]["input_tokens"], 300, "{task}");
}

#[tokio::test]
async fn killed_after_a_request_was_sent_its_outcome_is_asked_for_and_it_is_not_repeated() {
    let server = Server::start(vec![install(), finish()]).await;
    let place = Place::new();
    configure(&place, &server);
    let helper = place.helper(vec![done(), hold(), done(), done()]);
    let agent = Agent::start(&place).await;
    let id = give(&place, &json!({ "task": "install nginx" })).await;
    until("the request is sent", || helper.seen().len() == 2).await;
    let (_agent, task) = killed_and_resumed(&place, agent, &id).await;
    assert_eq!(rpcs(&helper), ["PolicyDescribe", "PackageInstall", "PolicyDescribe", "RequestResult"]);
    let sent = helper.seen()[1].meta().request_id;
    assert_eq!(helper.seen()[3].decode::<v1::RequestResultRequest>().of, sent);
    assert_eq!(
        (&task["status"], &task["results"][0]["status"]),
        (&json!("completed"), &json!("ok")),
        "{task}"
    );
    assert_eq!(
        (&task["results"][0]["request_id"], &task["changes"][0]["request_id"]),
        (&json!(sent), &json!(sent)),
        "{task}"
    );
}

#[tokio::test]
async fn a_request_that_never_arrived_is_sent_under_its_id() {
    for code in ["unknown_request", "busy"] {
        let server = Server::start(vec![install(), finish()]).await;
        let place = Place::new();
        configure(&place, &server);
        let helper = place.helper(vec![done(), hold(), done(), Play::Events(vec![refused(code)]), done()]);
        let agent = Agent::start(&place).await;
        let id = give(&place, &json!({ "task": "install nginx" })).await;
        until("the request is sent", || helper.seen().len() == 2).await;
        let (_agent, task) = killed_and_resumed(&place, agent, &id).await;
        let expected =
            ["PolicyDescribe", "PackageInstall", "PolicyDescribe", "RequestResult", "PackageInstall"];
        assert_eq!(rpcs(&helper), expected);
        let ids: Vec<String> = helper.seen().iter().map(|seen| seen.meta().request_id).collect();
        assert_eq!(ids[1], ids[4], "the helper acts once under an id");
        assert_eq!(task["changes"].as_array().unwrap().len(), 1, "{task}");
    }
}

/// Simulates a kill between the outcome and a write: removes that write from the agent's database.
fn forget(place: &Place, statements: &str) {
    let database = rusqlite::Connection::open(place.host.state.join("postern.db")).unwrap();
    database.execute_batch(statements).unwrap();
}

#[tokio::test]
async fn killed_between_outcome_and_record_the_call_is_made_once() {
    let untold = "DELETE FROM notes WHERE name = 'step' AND data ->> 'status' <> 'running'";
    let unheard = "DELETE FROM dialogue WHERE number = 1";
    let unwritten = [
        // Not even the outcome is written.
        (
            format!(
                "DELETE FROM steps; {untold}; {unheard}; UPDATE requests SET state = 'unknown';
                 UPDATE tasks SET record = json_replace(record, '$.changes', json('[]'))"
            ),
            true,
        ),
        // The request is settled, the step is not written.
        (format!("DELETE FROM steps; {untold}; {unheard}"), true),
        // The step is written, listeners are not told of it.
        (format!("{untold}; {unheard}"), false),
        // The step is written and told, the dialogue does not know of it.
        (unheard.to_owned(), false),
    ];
    for (statements, is_recalled) in unwritten {
        let server = Server::start(vec![install(), server::Play::Hang, finish()]).await;
        let place = Place::new();
        configure(&place, &server);
        let helper = place.helper(vec![done(), done(), done(), done()]);
        let agent = Agent::start(&place).await;
        let id = give(&place, &json!({ "task": "install nginx" })).await;
        until("the model is asked twice", || server.seen().len() == 2).await;
        drop(agent);
        forget(&place, &statements);
        let agent = Agent::start(&place).await;
        let (_agent, task) = killed_and_resumed(&place, agent, &id).await;
        let installs = rpcs(&helper).iter().filter(|rpc| *rpc == "PackageInstall").count();
        assert_eq!(installs, 1, "{statements}");
        assert_eq!(rpcs(&helper).contains(&"RequestResult".to_owned()), is_recalled, "{statements}");
        assert_eq!(
            (task["results"].as_array().unwrap().len(), task["changes"].as_array().unwrap().len()),
            (1, 1),
            "{task}"
        );
        let told = server.seen()[2].body["messages"].to_string();
        assert!(told.contains("tool_call_id"), "{told}");
    }
}

#[tokio::test]
async fn a_plan_goes_on_with_the_step_that_was_under_way() {
    let place = Place::new();
    let helper = place.helper(vec![done(), hold(), done(), done()]);
    let agent = Agent::start(&place).await;
    let id = give(&place, &json!({ "task": "install nginx, restart nginx and stop redis" })).await;
    until("the second request is sent", || helper.seen().len() == 2).await;
    let (_agent, task) = killed_and_resumed(&place, agent, &id).await;
    assert_eq!(rpcs(&helper), ["PackageInstall", "UnitRestart", "RequestResult", "UnitStop"]);
    assert_eq!(
        (task["results"].as_array().unwrap().len(), task["changes"].as_array().unwrap().len()),
        (3, 3),
        "{task}"
    );
    let again = place.run(&["tasks", "resume", &id]).await;
    assert_eq!(again.exit, Exit::Failed, "{again:?}");
    assert!(again.err.contains("the task was not interrupted"), "{again:?}");
}

#[tokio::test]
async fn a_step_that_looks_afterwards_looks_and_does_not_act_again() {
    let place = Place::new();
    let looks = |active| Play::Events(vec![unit(Status::Done, "nginx.service", active, "x")]);
    let helper = place.helper(vec![looks("inactive"), hold(), looks("active"), looks("active")]);
    let agent = Agent::start(&place).await;
    let id = give(&place, &json!({ "task": "make sure nginx is running" })).await;
    until("the start is sent", || helper.seen().len() == 2).await;
    let (_agent, task) = killed_and_resumed(&place, agent, &id).await;
    assert_eq!(rpcs(&helper), ["UnitStatus", "UnitStart", "RequestResult", "UnitStatus"]);
    assert_eq!(task["changes"][0]["verb"], "unit.start", "{task}");
}

#[tokio::test]
async fn what_had_not_begun_is_run_after_a_restart_and_what_had_waits_for_the_order() {
    let place = Place::new();
    std::fs::write(&place.host.config, "[limits]\nparallel = 1\n").unwrap();
    let helper = place.helper(vec![hold(), done()]);
    let agent = Agent::start(&place).await;
    let first = give(&place, &json!({ "task": "restart nginx" })).await;
    until("the first is at work", || helper.seen().len() == 1).await;
    let second = give(&place, &json!({ "task": "restart redis" })).await;
    drop(agent);
    let _agent = Agent::start(&place).await;
    stands(&place, &second, "completed").await;
    assert_eq!(task(&place, &first).await["status"], "failed");
    assert_eq!(rpcs(&helper), ["UnitRestart", "UnitRestart"]);
    let summary = task(&place, &first).await["summary"].to_string();
    assert!(summary.contains(&format!("postern tasks resume {first}")), "{summary}");
}

#[tokio::test]
async fn a_helper_that_cannot_be_asked_leaves_the_task_to_be_resumed_once_more() {
    let place = Place::new();
    let helper = place.helper(vec![hold()]);
    let agent = Agent::start(&place).await;
    let id = give(&place, &json!({ "task": "restart nginx" })).await;
    until("the request is sent", || helper.seen().len() == 1).await;
    drop(agent);
    helper.stop();
    std::fs::remove_file(&place.host.helper_socket).unwrap();
    let _agent = Agent::start(&place).await;
    let ran = place.run(&["tasks", "resume", &id]).await;
    assert_eq!(ran.exit, Exit::Unreachable, "{ran:?}");
    let helper = place.helper(vec![done()]);
    let ran = place.run(&["tasks", "resume", &id, "--json"]).await;
    assert_eq!((ran.exit, rpcs(&helper)), (Exit::Done, vec!["RequestResult".to_owned()]), "{ran:?}");
}

#[tokio::test]
async fn a_plan_s_commands_go_on_where_they_were_and_none_is_asked_for_twice() {
    let place = Place::new();
    let helper = place.helper(vec![done(), hold(), done(), done()]);
    let agent = Agent::start(&place).await;
    let command = |line: &str| json!({ "command": line, "purpose": "to see", "read_only": false });
    let lines = ["apt-get install -y nginx", "systemctl restart nginx", "systemctl enable nginx"];
    let plan = json!({ "plan_type": "command_plan", "goal": "nginx runs", "commands": lines.map(command) });
    let id = give(&place, &json!({ "plan": plan })).await;
    until("the second request is sent", || helper.seen().len() == 2).await;
    let (_agent, task) = killed_and_resumed(&place, agent, &id).await;
    assert_eq!(rpcs(&helper), ["PackageInstall", "UnitRestart", "RequestResult", "UnitEnable"]);
    assert_eq!(task["changes"].as_array().unwrap().len(), 3, "{task}");
}

#[tokio::test]
async fn a_command_of_the_agent_s_own_that_was_under_way_is_told_as_lost_and_not_run_again() {
    let place = Place::new();
    let sandbox = tokio::net::UnixListener::bind(&place.host.tool_socket).unwrap();
    let calls = Arc::new(Mutex::new(Vec::new()));
    let taken = Arc::clone(&calls);
    tokio::spawn(async move {
        while let Ok((stream, _)) = sandbox.accept().await {
            taken.lock().unwrap().push(stream);
        }
    });
    place.helper(Vec::new());
    let agent = Agent::start(&place).await;
    let steps = json!([{ "tool": "shell", "args": { "cmd": "uname -a" } }]);
    let id = give(&place, &json!({ "task": "look", "steps": steps })).await;
    until("the command is under way", || calls.lock().unwrap().len() == 1).await;
    drop(agent);
    let _agent = Agent::start(&place).await;
    let ran = place.run(&["tasks", "resume", &id, "--json"]).await;
    let result = ran.json()["results"][0].clone();
    assert_eq!((ran.exit, &result["status"]), (Exit::Failed, &json!("error")), "{ran:?}");
    let error = result["error"].as_str().unwrap();
    assert!(error.starts_with("interrupted: the agent was stopped while this ran"), "{error}");
    assert_eq!(calls.lock().unwrap().len(), 1);
}

#[tokio::test]
async fn the_next_task_knows_of_one_that_was_interrupted() {
    let server = Server::start(vec![install(), server::Play::Hang, finish()]).await;
    let place = Place::new();
    configure(&place, &server);
    place.helper(vec![done(), done(), done()]);
    let agent = Agent::start(&place).await;
    give(&place, &json!({ "task": "install nginx" })).await;
    until("the model is asked twice", || server.seen().len() == 2).await;
    drop(agent);
    let _agent = Agent::start(&place).await;
    place.run(&["run", "--continue", "what now?"]).await;
    let told = server.seen()[2].body["messages"][1]["content"].to_string();
    assert!(
        told.contains("the agent was stopped while it ran this") && told.contains("package.install nginx"),
        "{told}"
    );
}

#[tokio::test]
async fn killed_after_a_check_of_the_model_s_the_next_call_does_not_get_its_result() {
    let verify = json!([{ "tool": "service", "args": { "action": "status", "name": "nginx" }, "expect": "active (running)" }]);
    let proves = calls("finish", &json!({ "outcome": "done", "summary": "it runs", "verify": verify }));
    let server = Server::start(vec![proves, server::Play::Hang, restart(), finish()]).await;
    let place = Place::new();
    configure(&place, &server);
    let is = |active: &str, sub: &str| Play::Events(vec![unit(Status::Done, "nginx.service", active, sub)]);
    let helper = place.helper(vec![done(), is("failed", "failed"), done(), done(), is("active", "running")]);
    let agent = Agent::start(&place).await;
    let id = give(&place, &json!({ "task": "look" })).await;
    until("the model is told of the check", || server.seen().len() == 2).await;
    drop(agent);
    forget(&place, "DELETE FROM dialogue WHERE number = 1");
    let agent = Agent::start(&place).await;
    let (_agent, task) = killed_and_resumed(&place, agent, &id).await;
    let looks = rpcs(&helper).iter().filter(|rpc| *rpc == "UnitStatus").count();
    let restarts = rpcs(&helper).iter().filter(|rpc| *rpc == "UnitRestart").count();
    assert_eq!((looks, restarts), (2, 1), "{task}");
    assert_eq!(task["results"].as_array().unwrap().len(), 3, "{task}");
}

#[tokio::test]
async fn a_plan_that_was_being_taken_back_does_not_go_forward_again() {
    let place = Place::new();
    let failed = Play::Events(vec![ended(Status::Failed, "unit_failed")]);
    let helper = place.helper(vec![done(), failed, hold(), done()]);
    let agent = Agent::start(&place).await;
    let command = |line: &str| json!({ "command": line, "purpose": "to see", "read_only": false });
    let lines = ["apt-get install -y nginx", "systemctl restart nginx"];
    let plan = json!({
        "plan_type": "command_plan", "goal": "nginx runs", "commands": lines.map(command),
        "rollback_commands": ["systemctl disable nginx"],
    });
    let id = give(&place, &json!({ "plan": plan, "interactive": true })).await;
    stands(&place, &id, "waiting").await;
    let yes = json!({ "question": 1, "answer": "yes" });
    http(&place, "POST", &format!("/tasks/{id}/answer"), &yes).await;
    until("it is being taken back", || helper.seen().len() == 3).await;
    drop(agent);
    let _agent = Agent::start(&place).await;
    place.run(&["tasks", "resume", &id]).await;
    let task = task(&place, &id).await;
    assert_eq!(rpcs(&helper), ["PackageInstall", "UnitRestart", "UnitDisable", "RequestResult"]);
    assert_eq!(task["status"], "partial", "{task}");
    let summary = task["summary"].as_str().unwrap();
    assert!(summary.contains("the agent was stopped while it took this back"), "{task}");
    assert!(!task["warnings"].to_string().contains("is being taken back"), "{task}");
}

/// Kills the agent while a restart is under way after an installation, changes what it kept, and tries to go on.
async fn resumed_after(statements: &str) -> (FakeHelper, Place, Agent, String, crate::common::Ran) {
    let place = Place::new();
    let helper = place.helper(vec![done(), hold(), done(), done(), done()]);
    let agent = Agent::start(&place).await;
    let id = give(&place, &json!({ "task": "install nginx, restart nginx and stop redis" })).await;
    until("the second request is sent", || helper.seen().len() == 2).await;
    drop(agent);
    let agent = Agent::start(&place).await;
    forget(&place, statements);
    let ran = place.run(&["tasks", "resume", &id, "--json"]).await;
    (helper, place, agent, id, ran)
}

#[tokio::test]
async fn resume_sends_nothing_where_what_was_done_cannot_be_read() {
    for statements in [
        "UPDATE steps SET result = '{'",
        "UPDATE notes SET data = '{' WHERE name = 'step'",
        "UPDATE requests SET verb = NULL",
        "ALTER TABLE dialogue RENAME TO gone",
        "INSERT INTO dialogue SELECT seq, 0, '{', 0 FROM tasks",
    ] {
        let (helper, _place, _agent, _id, ran) = resumed_after(statements).await;
        assert_eq!(rpcs(&helper), ["PackageInstall", "UnitRestart"], "{statements}: {ran:?}");
        assert_ne!(ran.exit, Exit::Done, "{statements}");
        let told = format!("{}{}", ran.out, ran.err);
        assert!(told.contains("cannot be read"), "{statements}: {told}");
    }
}

#[tokio::test]
async fn a_task_that_could_not_be_read_for_a_while_can_be_resumed_later() {
    let (helper, place, _agent, id, ran) = resumed_after("ALTER TABLE dialogue RENAME TO gone").await;
    assert_ne!(ran.exit, Exit::Done, "{ran:?}");
    forget(&place, "ALTER TABLE gone RENAME TO dialogue");
    let ran = place.run(&["tasks", "resume", &id]).await;
    assert_eq!(ran.exit, Exit::Done, "{ran:?}");
    assert_eq!(rpcs(&helper), ["PackageInstall", "UnitRestart", "RequestResult", "UnitStop"]);
}

#[tokio::test]
async fn a_queued_task_that_cannot_be_read_has_failed_and_does_not_vanish() {
    for statements in
        ["UPDATE tasks SET ordered = '{' WHERE status = 'queued'", "UPDATE tasks SET record = '{'"]
    {
        let place = Place::new();
        std::fs::write(&place.host.config, "[limits]\nparallel = 1\n").unwrap();
        let helper = place.helper(vec![hold(), done()]);
        let agent = Agent::start(&place).await;
        give(&place, &json!({ "task": "restart nginx" })).await;
        until("the first is at work", || helper.seen().len() == 1).await;
        let second = give(&place, &json!({ "task": "restart redis" })).await;
        drop(agent);
        forget(&place, statements);
        let _agent = Agent::start(&place).await;
        let list = http(&place, "GET", "/tasks", &Value::Null).await;
        let listed = list.as_array().unwrap().iter().find(|task| task["id"] == second).expect("it is listed");
        assert_eq!(listed["status"], "failed", "{statements}: {list}");
        assert!(listed["summary"].as_str().unwrap().contains("cannot be read"), "{statements}: {list}");
        assert_eq!(rpcs(&helper), ["UnitRestart"], "{statements}");
    }
}

#[tokio::test]
async fn a_panic_ends_its_task_and_no_other() {
    // No step has the number 0: the agent trusts its own database, and counts down from it.
    let absurd = "UPDATE steps SET result = json_set(result, '$.step', 0, '$.status', 'error')";
    let (_helper, place, _agent, id, ran) = resumed_after(absurd).await;
    assert_eq!(ran.exit, Exit::Partly, "{ran:?}");
    let left = task(&place, &id).await;
    assert_eq!(left["status"], "partial", "{left}");
    let summary = left["summary"].as_str().unwrap();
    assert!(summary.starts_with("an error in the agent itself ended this"), "{summary}");
    assert_eq!(place.run(&["run", "restart nginx"]).await.exit, Exit::Done);
}
