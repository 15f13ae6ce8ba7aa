//! Schedules of a running agent, whose clock the tests set.

use crate::common::{HEADERS, Place, Play, ended, http, refused, until};
use http_body_util::BodyExt;
use postern_agent::Exit;
use postern_proto::v1::Status;
use serde_json::{Value, json};
use std::sync::Arc;
use tokio::sync::Notify;

const HOUR: i64 = 3600;

async fn call(place: &Place, method: &str, path: &str, body: &Value) -> (u16, Value) {
    let stream = tokio::net::UnixStream::connect(&place.host.agent_socket).await.unwrap();
    let response = http(stream, method, path, &HEADERS, &body.to_string()).await;
    let status = response.status().as_u16();
    let bytes = response.into_body().collect().await.unwrap().to_bytes();
    (status, serde_json::from_slice(&bytes).unwrap())
}

async fn get(place: &Place, path: &str) -> Value {
    call(place, "GET", path, &json!(null)).await.1
}

async fn add(place: &Place, trigger: &Value) -> Value {
    let body = json!({ "trigger": trigger, "task": "restart nginx" });
    let (status, answer) = call(place, "POST", "/schedules", &body).await;
    assert_eq!(status, 201, "{answer}");
    answer["schedule"].clone()
}

fn id(of: &Value) -> &str {
    of["id"].as_str().expect("an id")
}

async fn post(place: &Place, schedule: &Value, what: &str) -> (u16, Value) {
    call(place, "POST", &format!("/schedules/{}/{what}", id(schedule)), &json!({})).await
}

/// Has the scheduler look: any change of a schedule does.
async fn look(place: &Place) {
    let (status, other) = call(
        place,
        "POST",
        "/schedules",
        &json!({ "trigger": { "every_s": 366 * 24 * HOUR }, "task": "restart nginx" }),
    )
    .await;
    assert_eq!(status, 201, "{other}");
    let path = format!("/schedules/{}", id(&other["schedule"]));
    assert_eq!(call(place, "DELETE", &path, &json!(null)).await.0, 200);
}

async fn runs(place: &Place, schedule: &Value) -> Vec<Value> {
    let shown = get(place, &format!("/schedules/{}", id(schedule))).await;
    shown["tasks"].as_array().expect("tasks").clone()
}

async fn until_ended(place: &Place, schedule: &Value, count: usize) -> Vec<Value> {
    for _ in 0..400 {
        let runs = runs(place, schedule).await;
        if runs.len() == count && runs[0]["status"] == "completed" {
            return runs;
        }
        tokio::time::sleep(std::time::Duration::from_millis(25)).await;
    }
    panic!("not {count} runs: {:?}", runs(place, schedule).await);
}

/// The schedules, once the next time of each is planned.
async fn planned(place: &Place) -> Vec<Value> {
    for _ in 0..400 {
        let all = get(place, "/schedules").await.as_array().unwrap().clone();
        if all.iter().all(|schedule| schedule["next_unix_s"].is_i64()) {
            return all;
        }
        tokio::time::sleep(std::time::Duration::from_millis(25)).await;
    }
    panic!("not planned: {}", get(place, "/schedules").await);
}

fn done(count: usize) -> Vec<Play> {
    (0..count).map(|_| Play::Events(vec![ended(Status::Done, "")])).collect()
}

#[tokio::test]
async fn a_task_begins_by_itself_at_its_time_and_its_record_names_the_schedule() {
    let place = Place::new();
    let helper = place.helper(done(2));
    place.serve();
    let schedule = add(&place, &json!({ "at": "daily 02:00" })).await;
    let next = schedule["next_unix_s"].as_i64().unwrap();
    let now = place.host.clock.now();
    assert!((1..=25 * HOUR).contains(&(next - now)), "{schedule}");
    place.host.clock.shift(next - now - 60);
    look(&place).await;
    assert!(runs(&place, &schedule).await.is_empty());
    place.host.clock.shift(60);
    look(&place).await;
    let tasks = until_ended(&place, &schedule, 1).await;
    assert_eq!((&tasks[0]["schedule"], &tasks[0]["task"]), (&schedule["id"], &json!("restart nginx")));
    assert_eq!(get(&place, "/tasks").await[0]["schedule"], schedule["id"]);
    let later = planned(&place).await[0]["next_unix_s"].as_i64().unwrap();
    assert!((23 * HOUR..=25 * HOUR).contains(&(later - next)), "{later} after {next}");
    let meta = helper.seen()[0].meta();
    assert_eq!((meta.claimed_uid, meta.reason.is_empty()), (nix::unistd::getuid().as_raw(), false));
}

#[tokio::test]
async fn runs_missed_while_the_agent_was_off_are_made_once() {
    let place = Place::new();
    let helper = place.helper(done(3));
    let alive = place.serve_apart();
    let schedule = add(&place, &json!({ "every_s": 900 })).await;
    let at = add(&place, &json!({ "at": "hourly" })).await;
    drop(alive);
    until("the agent is gone", || std::os::unix::net::UnixStream::connect(&place.host.agent_socket).is_err())
        .await;
    std::fs::remove_file(&place.host.agent_socket).unwrap();
    place.host.clock.shift(24 * HOUR);
    place.serve();
    until_ended(&place, &schedule, 1).await;
    until_ended(&place, &at, 1).await;
    look(&place).await;
    assert_eq!((runs(&place, &schedule).await.len(), runs(&place, &at).await.len()), (1, 1));
    assert_eq!(helper.seen().len(), 2);
    let now = place.host.clock.now();
    for schedule in planned(&place).await {
        let next = schedule["next_unix_s"].as_i64().unwrap();
        assert!(next > now && next <= now + HOUR, "{schedule} at {now}");
    }
}

#[tokio::test]
async fn no_run_begins_while_the_one_before_it_is_at_work() {
    let place = Place::new();
    let go = Arc::new(Notify::new());
    let hold = Play::Hold(Vec::new(), Arc::clone(&go), vec![ended(Status::Done, "")]);
    let helper = place.helper(vec![hold, Play::Events(vec![ended(Status::Done, "")])]);
    place.serve();
    let schedule = add(&place, &json!({ "every_s": 60 })).await;
    let begun = post(&place, &schedule, "run").await;
    assert_eq!(begun.0, 202, "{begun:?}");
    until("the first run is at work", || helper.seen().len() == 1).await;
    let (status, again) = post(&place, &schedule, "run").await;
    assert_eq!((status, &again["error"]["code"]), (409, &json!("precondition_failed")));
    place.host.clock.shift(90);
    look(&place).await;
    let shown = get(&place, "/schedules").await[0].clone();
    assert!(shown["note"].as_str().unwrap().contains("has not ended"), "{shown}");
    assert!(shown["next_unix_s"].as_i64().unwrap() > place.host.clock.now(), "{shown}");
    assert_eq!(runs(&place, &schedule).await.len(), 1);
    // Neither a pause nor a removal ends it.
    assert_eq!(post(&place, &schedule, "pause").await.1["state"], "paused");
    go.notify_one();
    until_ended(&place, &schedule, 1).await;
    place.host.clock.shift(HOUR);
    look(&place).await;
    assert_eq!(runs(&place, &schedule).await.len(), 1);
    // A person may still have a paused one run.
    assert_eq!(post(&place, &schedule, "run").await.0, 202);
    until_ended(&place, &schedule, 2).await;
    assert_eq!(helper.seen().len(), 2);
}

#[tokio::test]
async fn a_removed_schedule_runs_no_more_and_its_tasks_stay() {
    let place = Place::new();
    place.helper(done(1));
    place.serve();
    let schedule = add(&place, &json!({ "every_s": 60 })).await;
    place.host.clock.shift(60);
    look(&place).await;
    until_ended(&place, &schedule, 1).await;
    let path = format!("/schedules/{}", &id(&schedule)[..20]);
    assert_eq!(call(&place, "DELETE", &path, &json!(null)).await.0, 200);
    assert_eq!(call(&place, "GET", &path, &json!(null)).await.0, 404);
    place.host.clock.shift(HOUR);
    look(&place).await;
    // A run is no task to go on from.
    let order = json!({ "task": "restart nginx", "continue": true });
    assert_eq!(call(&place, "POST", "/execute", &order).await.0, 404);
    let tasks = get(&place, "/tasks").await;
    assert_eq!((tasks.as_array().unwrap().len(), &tasks[0]["schedule"]), (1, &schedule["id"]));
}

#[tokio::test]
async fn the_last_ten_results_of_a_schedule_are_kept_and_displace_no_task_of_a_persons_own() {
    let place = Place::new();
    place.helper(done(14));
    place.serve();
    assert_eq!(place.run(&["run", "restart nginx"]).await.exit, Exit::Done);
    let schedule = add(&place, &json!({ "every_s": HOUR })).await;
    let mut began = Vec::new();
    for count in 1..=12 {
        let (status, run) = post(&place, &schedule, "run").await;
        assert_eq!(status, 202, "{run}");
        let newest = until_ended(&place, &schedule, count.min(10)).await[0]["id"].clone();
        assert!(!began.contains(&newest), "the newest is first");
        began.push(newest);
    }
    let kept: Vec<Value> = runs(&place, &schedule).await.iter().map(|run| run["id"].clone()).collect();
    let last: Vec<Value> = began.iter().rev().take(10).cloned().collect();
    assert_eq!(kept, last);
    let tasks = get(&place, "/tasks").await;
    let own = tasks.as_array().unwrap().iter().filter(|task| task["schedule"].is_null());
    assert_eq!((tasks.as_array().unwrap().len(), own.count()), (11, 1), "{tasks}");
}

#[tokio::test]
async fn a_resumed_schedule_makes_up_for_nothing() {
    let place = Place::new();
    place.helper(Vec::new());
    place.serve();
    let schedule = add(&place, &json!({ "every_s": 60 })).await;
    post(&place, &schedule, "pause").await;
    place.host.clock.shift(HOUR);
    let (status, resumed) = post(&place, &schedule, "resume").await;
    assert_eq!((status, &resumed["state"]), (200, &json!("active")));
    assert!(resumed["next_unix_s"].as_i64().unwrap() >= place.host.clock.now() + 59, "{resumed}");
    look(&place).await;
    assert!(runs(&place, &schedule).await.is_empty());
}

#[tokio::test]
async fn a_clock_that_is_set_back_strands_no_schedule() {
    let place = Place::new();
    place.helper(done(1));
    // A host that comes up in the year 2033 until its clock is set.
    place.host.clock.shift(7 * 366 * 24 * HOUR);
    place.serve();
    let schedule = add(&place, &json!({ "every_s": 900 })).await;
    place.host.clock.shift(-7 * 366 * 24 * HOUR);
    look(&place).await;
    let next = planned(&place).await[0]["next_unix_s"].as_i64().unwrap();
    assert!((1..=900).contains(&(next - place.host.clock.now())), "{next}");
    assert!(runs(&place, &schedule).await.is_empty());
    place.host.clock.shift(900);
    look(&place).await;
    until_ended(&place, &schedule, 1).await;
}

#[tokio::test]
async fn schedules_that_cannot_be_are_refused_before_anything_is_kept() {
    let place = Place::new();
    place.helper(Vec::new());
    place.serve();
    let body = |trigger: Value, task: &str| json!({ "trigger": trigger, "task": task });
    for (body, status, says) in [
        (body(json!({ "at": "sometimes" }), "restart nginx"), 400, "no calendar event"),
        (body(json!({ "at": "2020-01-01" }), "restart nginx"), 400, "does not come again"),
        (body(json!({ "at": "*:*:0/20" }), "restart nginx"), 400, "once a minute"),
        (body(json!({ "every_s": 30 }), "restart nginx"), 400, "1 minute"),
        (body(json!({ "every_s": 900 }), "frobnicate the widget"), 422, "frobnicate"),
        // Nobody answers on the bus of this place.
        (body(json!({ "on_failed": "nginx" }), "restart nginx"), 503, "system bus"),
        (json!({ "trigger": { "every_s": 900 }, "plan": { "steps": 1 } }), 422, "nothing has been done"),
        (json!({ "task": "restart nginx" }), 400, "trigger"),
        (
            body(json!({ "every_s": 900 }), &format!("write '{}' to /srv/a", "x".repeat(70_000))),
            413,
            "64 KiB",
        ),
    ] {
        let (found, answer) = call(&place, "POST", "/schedules", &body).await;
        let message = answer["error"]["message"].as_str().unwrap_or_default();
        assert!(found == status && message.contains(says), "{body}: {found} {answer}");
    }
    assert_eq!(get(&place, "/schedules").await, json!([]));
}

#[tokio::test]
async fn one_person_has_a_bounded_number_of_schedules() {
    let place = Place::new();
    place.helper(Vec::new());
    place.serve();
    for _ in 0..20 {
        add(&place, &json!({ "every_s": 900 })).await;
    }
    let body = json!({ "trigger": { "every_s": 900 }, "task": "restart nginx" });
    let (status, answer) = call(&place, "POST", "/schedules", &body).await;
    assert_eq!((status, &answer["error"]["code"]), (429, &json!("busy")));
    assert_eq!(get(&place, "/schedules").await.as_array().unwrap().len(), 20);
}

#[tokio::test]
async fn a_plan_is_scheduled_shown_and_run_from_the_command_line() {
    let place = Place::new();
    let helper = place.helper(done(1));
    place.serve();
    let plan = place.run(&["plan", "--json", "restart nginx"]).await;
    let file = place.path("plan.json");
    std::fs::write(&file, plan.out).unwrap();
    let file = file.to_str().unwrap();
    let dry = place.run(&["run", "--dry-run", "--every", "15m", "--plan", file]).await;
    assert_eq!((dry.exit, dry.out.contains("nothing is scheduled")), (Exit::Done, true), "{dry:?}");
    assert_eq!(get(&place, "/schedules").await, json!([]));
    let ran = place.run(&["run", "--every", "15m", "--plan", file]).await;
    assert_eq!(ran.exit, Exit::Done, "{ran:?}");
    assert!(ran.out.contains(" runs every 15m: next 20"), "{ran:?}");
    // A plan asks no model, so that there is nothing to warn of.
    assert_eq!(ran.err, "");
    let listed = place.run(&["schedule"]).await;
    assert!(
        listed.out.contains(" active every 15m, next ") && listed.out.ends_with(": restart nginx\n"),
        "{listed:?}"
    );
    let id = listed.out.split(' ').next().unwrap().to_owned();
    for command in ["run-now", "show", "remove"] {
        let direct = place.run(&["--direct", "schedule", command, &id]).await;
        assert_eq!(direct.exit, Exit::Usage, "{direct:?}");
        assert!(direct.err.contains("schedules are the agent's; leave --direct out"), "{direct:?}");
    }
    let now = place.run(&["schedule", "run-now", &id]).await;
    assert_eq!(now.exit, Exit::Done, "{now:?}");
    assert_eq!(helper.seen().len(), 1);
    let shown = place.run(&["schedule", "show", &id[..30]]).await;
    assert!(shown.out.contains("\n  task ") && shown.out.contains(" completed: "), "{shown:?}");
    assert!(place.run(&["schedule", "pause", &id]).await.out.contains(" paused every 15m: "));
    assert!(place.run(&["schedule", "resume", &id]).await.out.contains(" active every 15m, next "));
    let removed = place.run(&["schedule", "remove", &id]).await;
    assert_eq!((removed.exit, removed.out), (Exit::Done, format!("removed {id}\n")));
    assert_eq!(place.run(&["schedule", "list"]).await.out, "");
    assert_eq!(place.run(&["schedule", "show", &id]).await.exit, Exit::Failed);
}

#[tokio::test]
async fn the_command_line_takes_one_trigger_and_names_what_is_wrong_with_it() {
    let place = Place::new();
    place.helper(Vec::new());
    place.serve();
    for (arguments, says) in [
        (&["run", "--at", "daily", "--every", "15m", "restart nginx"][..], "cannot be used with"),
        (&["run", "--continue", "--every", "15m", "restart nginx"], "cannot be used with"),
        (&["run", "--every", "30s", "restart nginx"], "1 minute"),
        (&["run", "--at", "sometimes", "restart nginx"], "no calendar event"),
        (&["run", "--on-failed", "a b", "restart nginx"], "no name of a unit"),
        (&["--direct", "run", "--every", "15m", "restart nginx"], "leave --direct out"),
        (&["schedule", "show", "../tasks"], "hex digits"),
    ] {
        let ran = place.run(arguments).await;
        assert!(ran.exit == Exit::Usage && ran.err.contains(says), "{arguments:?}: {ran:?}");
    }
}

#[tokio::test]
async fn a_model_s_schedule_warns_that_nobody_is_asked_and_a_scheduled_plan_is_never_repaired_by_it() {
    let place = Place::new();
    let script = place.path("replies.yaml");
    std::fs::write(&script, "replies:\n  - text: this is no call\n").unwrap();
    let text = format!("[model]\nprovider = \"scripted\"\nscript = {script:?}\n");
    std::fs::write(&place.host.config, text).unwrap();
    let helper = place.helper(vec![Play::Events(vec![refused("no_grant")])]);
    place.serve();
    let words = place.run(&["run", "--every", "15m", "make it faster"]).await;
    assert_eq!(words.exit, Exit::Done, "{words:?}");
    assert!(
        words.err.contains("warning: a model makes the steps of each run, and nobody is asked"),
        "{words:?}"
    );
    let plan = Place::new().run(&["plan", "--json", "restart nginx"]).await.json();
    let body = json!({ "trigger": { "every_s": 60 }, "plan": plan });
    let (status, answer) = call(&place, "POST", "/schedules", &body).await;
    assert_eq!((status, &answer["warnings"]), (201, &json!([])), "{answer}");
    place.host.clock.shift(60);
    look(&place).await;
    let schedule = &answer["schedule"];
    for _ in 0..400 {
        if runs(&place, schedule).await.first().is_some_and(|task| task["status"] == "refused") {
            break;
        }
        tokio::time::sleep(std::time::Duration::from_millis(25)).await;
    }
    let task = runs(&place, schedule).await[0].clone();
    assert_eq!((&task["status"], &task["usage"]), (&json!("refused"), &json!({})), "{task}");
    assert_eq!(helper.seen().len(), 1);
}

#[tokio::test]
async fn a_run_begins_at_its_time_though_systemd_does_not_say_the_next_one() {
    let mut place = Place::new();
    let program = format!("exec {} \"$@\"", place.host.calendar.display());
    place.host.calendar = place.script("calendar", &program);
    place.helper(done(1));
    place.serve();
    let schedule = add(&place, &json!({ "at": "hourly" })).await;
    place.script("calendar", "exit 1");
    place.host.clock.shift(HOUR);
    look(&place).await;
    until_ended(&place, &schedule, 1).await;
    look(&place).await;
    let shown = get(&place, "/schedules").await[0].clone();
    assert_eq!((&shown["state"], &shown["next_unix_s"]), (&json!("active"), &json!(null)), "{shown}");
    assert!(shown["note"].as_str().unwrap().starts_with("the next time is not known: "), "{shown}");
    place.script("calendar", &program);
    look(&place).await;
    let next = planned(&place).await[0].clone();
    assert!(
        next["next_unix_s"].as_i64().unwrap() > place.host.clock.now() && next.get("note").is_none(),
        "{next}"
    );
    assert_eq!(runs(&place, &schedule).await.len(), 1);
}

#[tokio::test]
async fn the_newest_ten_runs_of_a_schedule_are_kept_and_no_other_task_goes_for_them() {
    let place = Place::new();
    place.helper(done(20));
    place.serve();
    let own = call(&place, "POST", "/execute", &json!({ "task": "restart nginx" })).await.1;
    let other = add(&place, &json!({ "every_s": 900 })).await;
    assert_eq!(post(&place, &other, "run").await.0, 202);
    until_ended(&place, &other, 1).await;
    let schedule = add(&place, &json!({ "every_s": 900 })).await;
    let mut begun = Vec::new();
    for _ in 0..12 {
        let (status, answer) = post(&place, &schedule, "run").await;
        assert_eq!(status, 202, "{answer}");
        for _ in 0..400 {
            let newest = runs(&place, &schedule).await;
            if newest.first().is_some_and(|run| run["status"] == "completed" && !begun.contains(&run["id"])) {
                begun.push(newest[0]["id"].clone());
                break;
            }
            tokio::time::sleep(std::time::Duration::from_millis(10)).await;
        }
    }
    assert_eq!(begun.len(), 12);
    let kept = until_ended(&place, &schedule, 10).await;
    let kept: Vec<_> = kept.iter().map(|run| run["id"].clone()).collect();
    assert_eq!(kept, begun.iter().rev().take(10).cloned().collect::<Vec<_>>());
    assert_eq!(runs(&place, &other).await.len(), 1);
    assert_eq!(get(&place, &format!("/tasks/{}", id(&own))).await["status"], "completed");
}
