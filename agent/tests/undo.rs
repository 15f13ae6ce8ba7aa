//! `postern undo`: only changes with a granted inverse, shown before, and never those of another task.

mod common;

use common::{FakeHelper, Place, Play, Ran, Undo, completed, ended, refused, unit};
use postern_agent::Exit;
use postern_proto::v1::{self, Status};
use serde_json::{Value, json};

/// A unit's change, with how it was before.
fn went(was: &str, active: &str) -> Play {
    let info = v1::UnitInfo {
        id: "nginx.service".into(),
        active: active.into(),
        was_active: was.into(),
        enabled: "enabled".into(),
        was_enabled: "enabled".into(),
        ..v1::UnitInfo::default()
    };
    let status = Status::Done.into();
    let done = v1::Completed { status, undoable: true, unit: Some(info), ..v1::Completed::default() };
    Play::Events(vec![completed(done)])
}

/// A change of files, packages or by a command.
fn changed() -> Play {
    let status = Status::Done.into();
    Play::Events(vec![completed(v1::Completed { status, undoable: true, ..v1::Completed::default() })])
}

fn previewed() -> Play {
    Play::Events(vec![ended(Status::Previewed, "")])
}

fn write(path: &str) -> Value {
    json!({ "tool": "write_file", "args": { "path": path, "content": "x" } })
}

fn service(action: &str, name: &str) -> Value {
    json!({ "tool": "service", "args": { "action": action, "name": name } })
}

/// Runs a task of these steps; its id and record.
async fn task(place: &Place, steps: Vec<Value>) -> (String, Value) {
    let body = json!({ "task": "a task", "steps": steps }).to_string();
    let stream = tokio::net::UnixStream::connect(&place.host.agent_socket).await.unwrap();
    let answer = common::http(stream, "POST", "/execute", &common::HEADERS, &body).await;
    let bytes = http_body_util::BodyExt::collect(answer.into_body()).await.unwrap().to_bytes();
    let task: Value = serde_json::from_slice(&bytes).unwrap();
    (task["id"].as_str().unwrap_or_else(|| panic!("{task}")).to_owned(), task)
}

/// The undos that were carried out.
fn undone(helper: &FakeHelper) -> Vec<String> {
    let seen = helper.seen().into_iter();
    let undos = seen.filter(|seen| seen.rpc == "RequestUndo" && seen.meta().mode() == v1::Mode::Execute);
    undos.map(|seen| seen.decode::<v1::RequestUndoRequest>().of).collect()
}

async fn typed(place: &Place, args: &[&str]) -> Ran {
    place.run(&[args, &["--json"]].concat()).await
}

#[tokio::test]
async fn undo_id_is_shown_only_for_changes_that_have_an_inverse() {
    let place = Place::new();
    for (args, play, has_undo) in [
        (&["service", "start", "nginx"][..], went("inactive", "active"), true),
        (&["service", "start", "run-once"], went("inactive", "inactive"), false),
        (&["service", "restart", "nginx"], went("active", "active"), false),
        (&["service", "restart", "nginx"], went("inactive", "active"), false),
        (&["service", "reload", "nginx"], changed(), false),
        (&["service", "daemon-reload"], changed(), false),
        (&["package", "update"], changed(), false),
        (&["package", "install", "nginx"], changed(), true),
        (&["command", "add-user", "name=bob"], changed(), true),
    ] {
        let place = Place::new();
        place.helper(vec![play]);
        place.serve();
        let report = typed(&place, args).await.json();
        assert_eq!(report["undo"].is_string(), has_undo, "{args:?}: {report}");
    }
    place.helper(vec![went("active", "active"), changed()]);
    place.serve();
    let (_, task) = task(&place, vec![service("restart", "nginx"), write("/etc/x")]).await;
    let id = task["changes"][1]["undo"].as_str().unwrap();
    assert_eq!(task["changes"][0]["undo"], Value::Null, "{task}");
    let summary = task["summary"].as_str().unwrap();
    assert!(
        summary.ends_with(&format!("unit.restart nginx.service; file.write /etc/x (postern undo {id})")),
        "{task}"
    );
}

#[tokio::test]
async fn undo_id_is_shown_only_where_the_policy_grants_the_undo() {
    for (undo, has_undo) in
        [(Undo::Granted, true), (Undo::Refused("no_grant"), false), (Undo::NotListed, false)]
    {
        let place = Place::new();
        let helper = place.helper(vec![changed(), changed()]);
        *helper.undo.lock().unwrap() = undo;
        place.serve();
        let ran = place.run(&["package", "install", "nginx"]).await;
        assert_eq!(ran.err.contains("to take it back: postern undo"), has_undo, "{ran:?}");
        let (_, task) = task(&place, vec![write("/etc/x")]).await;
        assert_eq!(task["changes"][0]["undo"].is_string(), has_undo, "{task}");
        assert_eq!(task["summary"].as_str().unwrap().contains("postern undo"), has_undo, "{task}");
    }
}

#[tokio::test]
async fn undo_last_goes_back_within_a_task_and_not_into_the_one_before() {
    let place = Place::new();
    let helper = place.helper(vec![changed(), changed(), went("active", "active"), changed()]);
    place.serve();
    let (first, _) = task(&place, vec![write("/etc/a")]).await;
    let (second, record) =
        task(&place, vec![write("/etc/b"), service("restart", "nginx"), write("/etc/c")]).await;
    let id = |at: usize| record["changes"][at]["request_id"].as_str().unwrap().to_owned();
    for _ in 0..2 {
        helper.add(previewed());
        helper.add(changed());
        let ran = place.run(&["undo", "last"]).await;
        assert_eq!(ran.exit, Exit::Done, "{ran:?}");
        assert!(ran.err.contains(&format!("of the task {second}")), "it is said before: {ran:?}");
    }
    assert_eq!(undone(&helper), [id(2), id(0)], "the restart is passed over");
    let ran = place.run(&["undo", "last"]).await;
    assert_eq!(ran.exit, Exit::Refused, "{ran:?}");
    assert!(
        ran.err.contains("nothing is left to take back of your last task") && ran.err.contains(&second),
        "{ran:?}"
    );
    assert_eq!(undone(&helper).len(), 2);
    // An earlier task can be undone by its id.
    helper.add(previewed());
    helper.add(changed());
    assert_eq!(place.run(&["undo", "--task", &first]).await.exit, Exit::Done);
    assert_eq!(undone(&helper).len(), 3);
}

#[tokio::test]
async fn undo_last_outside_of_tasks_goes_back_to_the_last_task_and_no_further() {
    let place = Place::new();
    let helper = place.helper(vec![changed(), changed(), went("active", "active"), changed(), changed()]);
    place.serve();
    let before = typed(&place, &["package", "install", "a"]).await.json()["request_id"].clone();
    task(&place, vec![write("/etc/a")]).await;
    typed(&place, &["service", "restart", "nginx"]).await;
    let mut ids = Vec::new();
    for name in ["b", "c"] {
        ids.push(
            typed(&place, &["package", "install", name]).await.json()["request_id"]
                .as_str()
                .unwrap()
                .to_owned(),
        );
    }
    for _ in 0..2 {
        helper.add(previewed());
        helper.add(changed());
        assert_eq!(place.run(&["undo", "last"]).await.exit, Exit::Done);
    }
    ids.reverse();
    assert_eq!(undone(&helper), ids);
    let ran = place.run(&["undo", "last"]).await;
    assert!(ran.err.contains("this agent remembers no change of yours"), "{ran:?}");
    // An undo is undone by its own id, and what is older by its own too.
    helper.add(changed());
    assert_eq!(place.run(&["undo", before.as_str().unwrap()]).await.exit, Exit::Done);
}

#[tokio::test]
async fn change_whose_undo_is_refused_does_not_stop_undo_last() {
    for refusal in ["no_grant", "undo_gone", "unsupported"] {
        let place = Place::new();
        let helper = place.helper(vec![changed(), changed()]);
        place.serve();
        let (_, record) = task(&place, vec![write("/etc/a"), write("/etc/b")]).await;
        helper.add(Play::Events(vec![refused(refusal)]));
        helper.add(previewed());
        helper.add(changed());
        let ran = place.run(&["undo", "last"]).await;
        assert_eq!(ran.exit, Exit::Done, "{ran:?}");
        assert!(ran.err.contains("not taken back: file.write /etc/b: "), "{ran:?}");
        assert_eq!(undone(&helper), [record["changes"][0]["request_id"].as_str().unwrap()]);
    }
}

#[tokio::test]
async fn undo_of_a_task_takes_all_its_changes_back_newest_first_and_reloads_what_ran_with_them() {
    let place = Place::new();
    let plays = vec![changed(), changed(), went("active", "active"), went("active", "active"), changed()];
    let helper = place.helper(plays);
    place.serve();
    let steps = vec![
        write("/etc/nginx/a"),
        write("/etc/nginx/b"),
        service("reload", "nginx"),
        service("restart", "php"),
        write("/etc/late"),
    ];
    let (id, record) = task(&place, steps).await;
    for play in [previewed(), previewed(), Play::Events(vec![refused("undo_conflict")])] {
        helper.add(play);
    }
    for play in [changed(), changed(), changed(), went("active", "active"), went("active", "active")] {
        helper.add(play);
    }
    let ran = place.run(&["undo", "--task", &id[..18], "--json"]).await;
    assert_eq!(ran.exit, Exit::Done, "{ran:?}");
    let ids: Vec<&str> =
        [4, 1, 0].map(|at: usize| record["changes"][at]["request_id"].as_str().unwrap()).to_vec();
    assert_eq!(undone(&helper), ids);
    let seen = helper.seen();
    let last: Vec<&str> = seen[seen.len() - 2..].iter().map(|seen| &*seen.rpc).collect();
    assert_eq!(last, ["UnitReload", "UnitRestart"], "once each, after the files are as they were");
    let told = ran.json();
    assert_eq!(told["undo"]["undone"], json!(ids));
    assert_eq!(
        told["undo"]["reloaded"][0],
        json!({ "verb": "unit.reload", "target": "nginx.service" }),
        "{told}"
    );
}

#[tokio::test]
async fn undo_of_a_task_stops_at_the_first_conflict_and_says_so() {
    let place = Place::new();
    let helper = place.helper(vec![changed(), changed(), changed()]);
    place.serve();
    let (id, _) = task(&place, vec![write("/etc/a"), write("/etc/b"), write("/etc/c")]).await;
    for _ in 0..3 {
        helper.add(previewed());
    }
    for play in [changed(), Play::Events(vec![refused("undo_conflict")])] {
        helper.add(play);
    }
    let ran = place.run(&["undo", "--task", &id]).await;
    assert_eq!(ran.exit, Exit::Partly, "{ran:?}");
    assert!(ran.err.contains("took back file.write /etc/c") && ran.err.contains("undo_conflict"), "{ran:?}");
    assert_eq!(undone(&helper).len(), 2, "the third was not tried");
    let seen = helper.seen().len();
    assert_eq!(place.run(&["undo", "--task", "0000"]).await.exit, Exit::Failed, "no such task");
    assert_eq!(place.run(&["undo", "--task", "x"]).await.exit, Exit::Usage);
    assert_eq!(place.run(&["undo", "--task", &id, "--direct"]).await.exit, Exit::Usage);
    assert_eq!(helper.seen().len(), seen);
}

#[tokio::test]
async fn preview_of_a_task_tells_what_becomes_of_a_file_that_was_changed_several_times() {
    let place = Place::new();
    let helper = place.helper(vec![changed(), changed(), changed(), changed()]);
    place.serve();
    let steps = vec![write("/etc/other"), write("/etc/a"), write("/etc/a"), write("/etc/a")];
    let (id, _) = task(&place, steps).await;
    let conflict = || Play::Events(vec![refused("undo_conflict")]);
    for play in [previewed(), conflict(), conflict(), conflict()] {
        helper.add(play);
    }
    let ran = place.run(&["undo", "--task", &id, "--dry-run"]).await;
    assert_eq!(ran.exit, Exit::Done, "{ran:?}");
    let told = "  /etc/a becomes what it was before this change, after the newer one is taken back\n";
    assert_eq!(ran.err.matches(told).count(), 2, "{ran:?}");
    assert_eq!(ran.err.matches("cannot be foreseen").count(), 1, "somebody else changed the other: {ran:?}");
    assert_eq!(undone(&helper), Vec::<String>::new());
}

#[tokio::test]
async fn undo_of_a_file_that_a_unit_was_reloaded_for_says_that_the_unit_still_runs_with_it() {
    let place = Place::new();
    let helper = place.helper(vec![changed(), went("active", "active")]);
    place.serve();
    let (_, record) = task(&place, vec![write("/etc/nginx/a"), service("reload", "nginx")]).await;
    let id = record["changes"][0]["request_id"].as_str().unwrap();
    let advice =
        "nginx.service still runs with what was taken back: reload it (postern service reload nginx.service)";
    helper.add(changed());
    let ran = place.run(&["undo", id]).await;
    assert_eq!(ran.exit, Exit::Done, "{ran:?}");
    assert!(ran.err.contains(advice), "{ran:?}");
    // A task is told too, and so is a model that undoes.
    helper.add(changed());
    let undo = json!({ "tool": "undo", "args": { "request_id": id } });
    let (_, record) = task(&place, vec![undo]).await;
    assert!(record["results"][0]["stdout"].as_str().unwrap().contains(advice), "{record}");
}

#[tokio::test]
async fn undo_of_a_file_alone_offers_no_reload() {
    let place = Place::new();
    let helper = place.helper(vec![went("active", "active"), changed()]);
    place.serve();
    let (_, record) = task(&place, vec![service("reload", "nginx"), write("/etc/nginx/a")]).await;
    helper.add(changed());
    let id = record["changes"][1]["request_id"].as_str().unwrap();
    let ran = place.run(&["undo", id]).await;
    assert!(!ran.err.contains("still runs"), "the reload was before the change: {ran:?}");
    helper.add(Play::Events(vec![unit(Status::Done, "nginx.service", "inactive", "dead")]));
    assert_eq!(place.run(&["service", "stop", "nginx"]).await.exit, Exit::Done);
}
