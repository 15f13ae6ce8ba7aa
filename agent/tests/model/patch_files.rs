//! A person chooses files of a model's patch: what is sent, what the model is told, what is recorded, over a restart.

use crate::common::{FakeHelper, Place, Play, accepted, ended, output, refused, until};
use crate::resuming::{Agent, give, http, stands, task};
use crate::server::Server;
use crate::tasks::{calls, configure};
use postern_agent::Exit;
use postern_proto::v1::{self, Status};
use serde_json::{Value, json};
use std::sync::Arc;
use tokio::sync::Notify;

const DIFF: &str = "--- a/etc/x\n+++ b/etc/x\n@@ -1 +1 @@\n-one\n+ONE\n--- a/etc/y\n+++ b/etc/y\n@@ -1 +1 @@\n-two\n+TWO\n\
    --- a/etc/z\n+++ b/etc/z\n@@ -1 +1 @@\n-three\n+THREE\n";

fn event(status: Status) -> Play {
    Play::Events(vec![ended(status, "")])
}

fn holds(content: &str) -> Play {
    Play::Events(vec![output(v1::Stream::Content, content.as_bytes()), ended(Status::Done, "")])
}

/// The three reads of the diff, and what the change would be.
fn asked() -> Vec<Play> {
    vec![holds("one\n"), holds("two\n"), holds("three\n"), event(Status::Previewed)]
}

/// A model that makes the patch, and a helper that describes its policy first.
async fn model() -> (Place, Server, FakeHelper) {
    let server = Server::start(vec![
        calls("apply_patch", &json!({ "diff": DIFF })),
        calls("finish", &json!({ "outcome": "partly", "summary": "patched" })),
    ])
    .await;
    let place = Place::new();
    configure(&place, &server);
    let helper = place.helper(std::iter::once(event(Status::Done)).chain(asked()).collect());
    (place, server, helper)
}

/// Gives the task, and waits until it asks.
async fn question(place: &Place) -> (String, Value) {
    let id = give(place, &json!({ "task": "set all three", "interactive": true })).await;
    stands(place, &id, "waiting").await;
    let question = task(place, &id).await["question"].clone();
    (id, question)
}

fn patches(helper: &FakeHelper) -> Vec<v1::FilePatchRequest> {
    let patches = helper.seen().into_iter().filter(|seen| seen.rpc == "FilePatch");
    let patches = patches.map(|seen| seen.decode::<v1::FilePatchRequest>());
    patches.filter(|patch| patch.meta.as_ref().unwrap().mode() == v1::Mode::Execute).collect()
}

fn paths(patch: &v1::FilePatchRequest) -> Vec<&str> {
    patch.changes.iter().map(|change| change.path.as_str()).collect()
}

/// The agent's own record of the question that was answered.
fn recorded(place: &Place) -> Value {
    let log = std::fs::read_to_string(place.host.state.join("audit/audit.jsonl")).unwrap();
    let records = log.lines().map(|line| serde_json::from_str::<Value>(line).unwrap());
    let mut questions = records.filter(|record| record["event"] == "question");
    let last = questions.next_back().expect("a question in the log");
    assert!(questions.next().is_none(), "one question was answered: {log}");
    last
}

#[tokio::test]
async fn exactly_the_chosen_files_are_sent_as_they_were_shown_and_the_model_is_told_of_the_others() {
    let (place, server, helper) = model().await;
    helper.add(event(Status::Done));
    place.serve();
    let (id, question) = question(&place).await;
    assert_eq!(question["choices"], json!(["yes", "files", "no", "text"]));
    let files = ["/etc/x", "/etc/y", "/etc/z"].map(|path| json!({ "path": path, "counts": "+1 -1" }));
    assert_eq!(question["files"], json!(files));
    let path = format!("/tasks/{id}/answer");
    for wrong in [
        json!({ "question": question["number"], "answer": "files" }),
        json!({ "question": question["number"], "answer": "files", "files": [] }),
        json!({ "question": question["number"], "answer": "files", "files": ["/etc/x", "/etc/shadow"] }),
        json!({ "question": question["number"], "answer": "yes", "files": ["/etc/x"] }),
    ] {
        let answer = http(&place, "POST", &path, &wrong).await;
        assert_eq!(answer["error"]["code"], "invalid_argument", "{wrong}: {answer}");
    }
    assert_eq!(task(&place, &id).await["status"], "waiting");
    let shown = place.run(&["tasks", "show", &id]).await.out;
    assert!(shown.contains("  file 3: /etc/z +1 -1"), "{shown}");
    assert!(shown.contains(&format!("postern tasks answer {id} yes|no|files 1 2")), "{shown}");
    for none in ["files 4", "files 0", "files one", "files "] {
        assert_eq!(place.run(&["tasks", "answer", &id, none]).await.exit, Exit::Usage, "{none}");
    }
    let chosen = json!({ "question": question["number"], "answer": "files", "files": ["/etc/z", "/etc/x"] });
    http(&place, "POST", &path, &chosen).await;
    until("the model is told", || server.seen().len() == 2).await;
    let patches = patches(&helper);
    assert_eq!(patches.iter().map(paths).collect::<Vec<_>>(), [["/etc/x", "/etc/z"]]);
    assert!(patches[0].changes.iter().all(|change| change.expect.len() == 64), "bound to what was shown");
    assert_eq!(
        (&*patches[0].changes[0].content, &*patches[0].changes[1].content),
        (&b"ONE\n"[..], &b"THREE\n"[..])
    );
    let told = server.seen()[1].body["messages"].to_string();
    assert!(
        told.contains("NOT changed, since the person left these files of the patch out: /etc/y"),
        "{told}"
    );
    stands(&place, &id, "partial").await;
    let record = task(&place, &id).await;
    assert_eq!(record["changes"][0]["target"], "/etc/x /etc/z");
    assert_eq!(record["warnings"], json!(["left out of a patch, as its person chose: /etc/y"]));
    let question = recorded(&place);
    assert_eq!((&question["answer"], &question["files"]), (&json!("files"), &json!(["/etc/z", "/etc/x"])));
    assert_eq!(question["shown"]["files"], json!(["/etc/x", "/etc/y", "/etc/z"]));
}

#[tokio::test]
async fn files_are_answered_by_their_numbers_from_elsewhere() {
    let (place, server, helper) = model().await;
    helper.add(event(Status::Done));
    place.serve();
    let (id, _) = question(&place).await;
    let ran = place.run(&["tasks", "answer", &id, "files", "2"]).await;
    assert_eq!((ran.exit, ran.err.as_str()), (Exit::Done, ""));
    until("the model is told", || server.seen().len() == 2).await;
    assert_eq!(patches(&helper).iter().map(paths).collect::<Vec<_>>(), [["/etc/y"]]);
}

#[tokio::test]
async fn the_choice_outlives_a_kill_of_the_agent_while_the_question_is_open() {
    let (place, server, helper) = model().await;
    let agent = Agent::start(&place).await;
    let (id, first) = question(&place).await;
    drop(agent);
    let _agent = Agent::start(&place).await;
    helper.add(event(Status::Done));
    for play in asked() {
        helper.add(play);
    }
    helper.add(event(Status::Done));
    http(&place, "POST", &format!("/tasks/{id}/resume"), &json!({ "interactive": true })).await;
    stands(&place, &id, "waiting").await;
    let question = task(&place, &id).await["question"].clone();
    assert_eq!((&question["files"], &question["details"]), (&first["files"], &first["details"]));
    let chosen = json!({ "question": question["number"], "answer": "files", "files": ["/etc/y"] });
    http(&place, "POST", &format!("/tasks/{id}/answer"), &chosen).await;
    until("the model is told", || server.seen().len() == 2).await;
    assert_eq!(patches(&helper).iter().map(paths).collect::<Vec<_>>(), [["/etc/y"]]);
    assert_eq!(recorded(&place)["files"], json!(["/etc/y"]));
}

fn hold() -> Play {
    Play::Hold(vec![accepted()], Arc::new(Notify::new()), Vec::new())
}

/// Answers the open question with these files.
async fn choose(place: &Place, id: &str, files: &[&str]) {
    stands(place, id, "waiting").await;
    let number = task(place, id).await["question"]["number"].clone();
    let chosen = json!({ "question": number, "answer": "files", "files": files });
    http(place, "POST", &format!("/tasks/{id}/answer"), &chosen).await;
}

/// Kills the agent after the patch of these files was sent, before it has an outcome, and resumes the task in the next one.
async fn killed_after_sending(place: &Place, helper: &FakeHelper, files: &[&str]) -> (Agent, String) {
    let agent = Agent::start(place).await;
    helper.add(hold());
    let (id, _) = question(place).await;
    choose(place, &id, files).await;
    until("the patch is sent", || patches(helper).len() == 1).await;
    drop(agent);
    let agent = Agent::start(place).await;
    helper.add(event(Status::Done)); // the policy
    (agent, id)
}

#[tokio::test]
async fn after_a_kill_the_recalled_patch_says_which_files_its_person_left_out() {
    let (place, server, helper) = model().await;
    let (_agent, id) = killed_after_sending(&place, &helper, &["/etc/x", "/etc/z"]).await;
    helper.add(event(Status::Done)); // the recorded outcome
    http(&place, "POST", &format!("/tasks/{id}/resume"), &json!({ "interactive": true })).await;
    until("the model is told", || server.seen().len() == 2).await;
    stands(&place, &id, "partial").await;
    assert_eq!(helper.seen().iter().filter(|seen| seen.rpc == "RequestResult").count(), 1);
    assert_eq!(patches(&helper).iter().map(paths).collect::<Vec<_>>(), [["/etc/x", "/etc/z"]], "sent once");
    let told = server.seen()[1].body["messages"].to_string();
    assert!(
        told.contains("NOT changed, since the person left these files of the patch out: /etc/y"),
        "{told}"
    );
    let record = task(&place, &id).await;
    assert_eq!(record["changes"][0]["target"], "/etc/x /etc/z");
    let warnings = record["warnings"].as_array().unwrap();
    let left_out = json!("left out of a patch, as its person chose: /etc/y");
    assert_eq!(warnings.iter().filter(|warning| **warning == left_out).count(), 1, "{record}");
}

#[tokio::test]
async fn a_patch_that_never_arrived_keeps_its_id_only_for_the_same_choice() {
    for (files, is_same) in [(["/etc/x", "/etc/z"], true), (["/etc/x", "/etc/y"], false)] {
        let (place, server, helper) = model().await;
        let (_agent, id) = killed_after_sending(&place, &helper, &["/etc/x", "/etc/z"]).await;
        helper.add(Play::Events(vec![refused("unknown_request")]));
        for play in asked() {
            helper.add(play);
        }
        helper.add(event(Status::Done));
        http(&place, "POST", &format!("/tasks/{id}/resume"), &json!({ "interactive": true })).await;
        choose(&place, &id, &files).await;
        until("the model is told", || server.seen().len() == 2).await;
        let patches = patches(&helper);
        assert_eq!(patches.iter().map(paths).collect::<Vec<_>>(), [["/etc/x", "/etc/z"], files]);
        let ids: Vec<&str> =
            patches.iter().map(|patch| patch.meta.as_ref().unwrap().request_id.as_str()).collect();
        assert_eq!(ids[0] == ids[1], is_same, "{files:?}: another content under one id is refused");
    }
}

#[tokio::test]
async fn a_no_and_nobody_there_choose_no_file() {
    let (place, server, helper) = model().await;
    place.serve();
    let (id, question) = question(&place).await;
    let no = json!({ "question": question["number"], "answer": "no" });
    http(&place, "POST", &format!("/tasks/{id}/answer"), &no).await;
    until("the model is told", || server.seen().len() == 2).await;
    assert!(server.seen()[1].body["messages"].to_string().contains("the person said no"));
    assert!(patches(&helper).is_empty());
    assert_eq!((&recorded(&place)["answer"], &recorded(&place)["files"]), (&json!("no"), &Value::Null));

    // A rewrite of one of two files is asked about; with nobody there none of them is made.
    let lines = |from: usize| (from..20).map(|n| format!("line {n}\n")).collect::<Vec<_>>().concat();
    let removed = (0..9).map(|n| format!("-line {n}\n")).collect::<Vec<_>>().concat();
    let diff = format!(
        "--- a/etc/x\n+++ b/etc/x\n@@ -1,9 +0,0 @@\n{removed}--- a/etc/y\n+++ b/etc/y\n@@ -1 +1 @@\n-two\n+TWO\n"
    );
    let server = Server::start(vec![
        calls("apply_patch", &json!({ "diff": diff })),
        calls("finish", &json!({ "outcome": "not_done", "summary": "not patched" })),
    ])
    .await;
    let place = Place::new();
    configure(&place, &server);
    let helper = place.helper(vec![event(Status::Done), holds(&lines(0)), holds("two\n")]);
    place.serve();
    place.run(&["run", "drop the head"]).await;
    assert!(server.seen()[1].body["messages"].to_string().contains("nobody is there to be asked"));
    assert!(patches(&helper).is_empty());
}
