//! Requests that wait for a person: tasks and commands say so, survive what breaks meanwhile, and leave the terminal
//! to `postern-admin` while it asks.
#![expect(clippy::disallowed_methods, reason = "tests start programs")]

mod common;

use common::{
    ENDED_WHILE_ASKED, FakeHelper, Kept, Place, Play, Ran, Streams, accepted, approval, completed, debug_log,
    ended, in_seconds, progress, unit, until, waiting,
};
use postern_agent::Exit;
use postern_agent::redaction::log;
use postern_proto::v1::{self, Status};
use serde_json::Value;
use std::os::unix::net::UnixListener;
use std::process::Command;
use std::sync::Arc;
use std::time::Duration;
use tokio::sync::Notify;

const WRITE: &[&str] = &["file", "write", "/etc/nginx/conf.d/a.conf", "--content", "x"];

fn told(code: &str, message: &str) -> v1::event::Kind {
    let (code, message) = (code.into(), message.into());
    v1::event::Kind::Refused(v1::Refused { code, message, ..v1::Refused::default() })
}

/// One request that waits until it is told how it ends.
fn held(end: Vec<v1::event::Kind>) -> (Play, Arc<Notify>) {
    let go = Arc::new(Notify::new());
    (Play::Hold(waiting(&approval("a"), in_seconds(840)), Arc::clone(&go), end), go)
}

async fn tasks(place: &Place) -> Value {
    place.run(&["tasks", "--json"]).await.json()
}

async fn status_is(place: &Place, status: &str) -> Value {
    for _ in 0..500 {
        if let Some(task) = tasks(place).await.get(0).filter(|task| task["status"] == status) {
            return task.clone();
        }
        tokio::time::sleep(Duration::from_millis(10)).await;
    }
    panic!("never {status}: {}", tasks(place).await);
}

#[tokio::test]
async fn a_task_waits_says_for_what_and_goes_on_when_it_is_approved() {
    let place = Place::new();
    let (play, go) =
        held(vec![progress("nginx", 10), unit(Status::Done, "nginx.service", "active", "running")]);
    let helper = place.helper(vec![play, Play::Events(vec![ended(Status::Done, "")])]);
    place.serve();
    let meanwhile = async {
        let task = status_is(&place, "waiting").await;
        let waits = &task["waiting"];
        assert_eq!(
            (&waits["approval_id"], &waits["step"], &waits["verb"], &waits["target"], &waits["rule"]),
            (
                &approval("a").into(),
                &1.into(),
                &"unit.restart".into(),
                &"nginx.service".into(),
                &"web-config".into()
            ),
        );
        let id = task["id"].as_str().unwrap();
        let shown = place.run(&["tasks", "show", id]).await;
        assert!(shown.out.contains(&format!("{id} waiting restart nginx")), "{shown:?}");
        assert!(shown.out.contains("step 1 waits for approval until "), "{shown:?}");
        assert!(shown.out.contains("unit.restart nginx.service"), "{shown:?}");
        assert_eq!(place.run(&["tasks", "show", id, "--json"]).await.exit, Exit::Done);
        go.notify_one();
    };
    let (ran, ()) =
        tokio::join!(place.run(&["run", "restart nginx, start redis", "--json=lines"]), meanwhile);
    assert_eq!(ran.exit, Exit::Done, "{ran:?}");
    let lines: Vec<Value> = ran.out.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    let names: Vec<&str> = lines.iter().filter_map(|line| line["event"].as_str()).collect();
    assert_eq!(
        names,
        ["step", "accepted", "waiting", "progress", "completed", "step", "step", "completed", "step"]
    );
    assert_eq!(
        (&lines[2]["data"]["approval_id"], &lines[2]["data"]["step"]),
        (&approval("a").into(), &1.into())
    );
    assert_eq!((&ran.json()["status"], &ran.json()["waiting"]), (&"completed".into(), &Value::Null));
    assert_eq!(helper.seen().len(), 2);
}

#[tokio::test]
async fn other_tasks_go_on_while_one_waits() {
    let place = Place::new();
    let (play, go) = held(vec![ended(Status::Done, "")]);
    place.helper(vec![
        play,
        Play::Events(vec![ended(Status::Done, "")]),
        Play::Events(vec![ended(Status::Done, "")]),
    ]);
    place.serve();
    let meanwhile = async {
        status_is(&place, "waiting").await;
        let other = place.run(&["run", "start redis", "--json"]).await;
        assert_eq!((other.exit, &other.json()["status"]), (Exit::Done, &"completed".into()));
        go.notify_one();
    };
    let (ran, ()) = tokio::join!(place.run(&["run", "restart nginx, stop redis", "--json"]), meanwhile);
    assert_eq!((ran.exit, ran.json()["results"].as_array().unwrap().len()), (Exit::Done, 2), "{ran:?}");
}

#[tokio::test]
async fn what_is_not_approved_ends_with_4_and_the_reason() {
    let vectors = [
        (
            told("not_approved", "not on a Friday\u{1b}[2J"),
            Exit::NotApproved,
            "an operator said no: not on a Friday\\x1b[2J",
        ),
        (told("approval_expired", ""), Exit::NotApproved, "nobody approved it in time"),
        (
            ended(Status::Failed, "not_approved"),
            Exit::NotApproved,
            "an operator said no: because of not_approved",
        ),
        (
            ended(Status::Failed, "approval_expired"),
            Exit::NotApproved,
            "nobody approved it in time: because of",
        ),
        (
            told("too_many_pending", "3 wait"),
            Exit::Refused,
            "as many requests wait for approval as may: 3 wait",
        ),
        (told("plan_too_large", ""), Exit::Refused, "ask for less at a time"),
    ];
    let place = Place::new();
    let helper = place.helper(Vec::new());
    place.serve();
    for (end, exit, words) in vectors {
        let play = || Play::Events([waiting(&approval("b"), in_seconds(60)), vec![end.clone()]].concat());
        for args in
            [&["service", "stop", "nginx"][..], &["run", "stop nginx"], &["run", "--direct", "stop nginx"]]
        {
            helper.add(play());
            let ran = place.run(args).await;
            assert_eq!(ran.exit, exit, "{args:?}: {ran:?}");
            assert!(ran.err.contains(words), "{args:?}: {}\nlacks: {words}", ran.err);
        }
        helper.add(play());
        let report = place.run(&["service", "stop", "nginx", "--json"]).await.json();
        let status = if exit == Exit::NotApproved { "not_approved" } else { "refused" };
        assert_eq!(report["status"], status, "{report}");
    }
}

#[tokio::test]
async fn a_wait_outlives_the_connection_and_asks_again_under_the_same_id() {
    let place = Place::new();
    let attached = || {
        let attached = v1::Accepted { attached: true, ..v1::Accepted::default() };
        let mut again = waiting(&approval("c"), in_seconds(60));
        again[0] = v1::event::Kind::Accepted(attached);
        again
    };
    let helper = place.helper(vec![
        Play::Break(waiting(&approval("c"), in_seconds(60))),
        Play::Break(attached()),
        Play::Events([attached(), vec![ended(Status::Done, "")]].concat()),
    ]);
    place.serve();
    let ran = place.run(&["run", "restart nginx"]).await;
    assert_eq!(ran.exit, Exit::Done, "{ran:?}");
    assert_eq!(ran.err.matches("waits for approval").count(), 1, "told once: {}", ran.err);
    let seen = helper.seen();
    assert_eq!(seen.len(), 3);
    assert!(seen.iter().all(|s| s.body == seen[0].body), "the same bytes each time");
}

#[tokio::test]
async fn a_command_outlives_the_agent() {
    let place = Place::new();
    let (first, _never) = held(Vec::new());
    let helper = place.helper(vec![first]);
    let agent = place.serve_apart();
    let restarting = async {
        until("the request waits", || !helper.seen().is_empty()).await;
        std::fs::remove_file(&place.host.agent_socket).unwrap();
        drop(agent);
        tokio::time::sleep(Duration::from_millis(100)).await;
        let end = vec![ended(Status::Done, "")];
        helper.add(Play::Events([waiting(&approval("a"), in_seconds(60)), end].concat()));
        place.serve();
    };
    let (ran, ()) = tokio::join!(place.run(WRITE), restarting);
    assert_eq!(ran.exit, Exit::Done, "{ran:?}");
    let seen = helper.seen();
    assert_eq!((seen.len(), &seen[0].body), (2, &seen[1].body));
}

#[tokio::test]
async fn cancelling_a_task_that_waits_says_that_it_may_still_be_approved() {
    let place = Place::new();
    let (play, _never) = held(Vec::new());
    place.helper(vec![play]);
    place.serve();
    let meanwhile = async {
        let task = status_is(&place, "waiting").await;
        place.run(&["tasks", "cancel", task["id"].as_str().unwrap()]).await;
    };
    let (ran, ()) = tokio::join!(place.run(&["run", "restart nginx"]), meanwhile);
    assert_eq!(ran.exit, Exit::Failed);
    let deny = format!(
        "it still waits and is done if somebody approves; to prevent that: `postern-admin deny {}`",
        approval("a")
    );
    assert!(ran.err.contains(&deny), "{ran:?}");
}

#[tokio::test]
async fn a_limit_of_one_s_own_ends_the_waiting_with_4() {
    let place = Place::new();
    let (play, _never) = held(Vec::new());
    let helper = place.helper(vec![play]);
    let ran = place.run(&[&["--direct", "--timeout", "1ms", "--json"], WRITE].concat()).await;
    assert_eq!((ran.exit, &ran.json()["code"]), (Exit::NotApproved, &"approval_expired".into()), "{ran:?}");
    assert_eq!(helper.seen()[0].meta().wait_ms, 1);
}

/// The time of day as `date` of this machine says it.
fn clock(unix_s: u64) -> String {
    let date = Command::new("date").args(["-d", &format!("@{unix_s}"), "+%H:%M"]).output().unwrap();
    String::from_utf8(date.stdout).unwrap().trim().to_owned()
}

#[test]
fn times_are_those_of_the_person_s_own_zone() {
    // A process of its own each: only so does it have another zone.
    for zone in ["Asia/Kolkata", ":/usr/share/zoneinfo/Asia/Kathmandu", "UTC"] {
        let test = "who_is_no_operator_learns_who_can_approve_and_until_when";
        let run =
            Command::new(std::env::current_exe().unwrap()).args(["--exact", test]).env("TZ", zone).output();
        let run = run.unwrap();
        assert!(run.status.success(), "{zone}: {}", String::from_utf8_lossy(&run.stdout));
    }
}

#[tokio::test]
async fn who_is_no_operator_learns_who_can_approve_and_until_when() {
    let mut place = Place::new();
    let until = in_seconds(839);
    let plays = || Play::Events([waiting(&approval("d"), until), vec![ended(Status::Done, "")]].concat());
    place.helper(vec![plays(), plays(), plays(), plays()]);
    place.serve();
    let ran = place.run(&["run", "restart nginx"]).await;
    let lines: Vec<&str> = ran.err.lines().collect();
    let time = clock(until);
    assert!(lines[1].starts_with("  waits for approval (rule web-config) until "), "{}", ran.err);
    assert!(lines[1].ends_with(&format!("{time}, 14 minutes from now")), "{}", ran.err);
    assert_eq!(lines[2], "  who can approve: nobody yet: add people to the group no-such-group");
    assert_eq!(lines[3], format!("  with: postern-admin approve {}", approval("d")));
    let task = tasks(&place).await[0]["id"].as_str().unwrap().to_owned();
    assert_eq!(lines[4], format!("  this terminal may be closed; to look again: postern tasks show {task}"));

    let members = std::fs::read_to_string("/etc/group").unwrap();
    let group =
        members.lines().map(|l| l.split(':').collect::<Vec<_>>()).find(|f| f.len() == 4 && !f[3].is_empty());
    // A fresh Debian has no group with members; `root` is there and has none.
    let (group, people) = match group {
        Some(group) => (group[0], format!("{} (group {})", group[3].replace(',', ", "), group[0])),
        None => ("root", "nobody yet: add people to the group root".to_owned()),
    };
    group.clone_into(&mut place.host.operators);
    let ran = place.run(&["service", "restart", "nginx"]).await;
    let who = format!("who can approve: {people}");
    assert!(ran.err.contains(&who), "{}\nlacks: {who}", ran.err);
    assert!(ran.err.contains("to look again: postern result "), "{ran:?}");
    let ran = place.run(&["run", "--direct", "restart nginx"]).await;
    assert!(ran.err.contains("with --direct the steps after this one need this terminal"), "{ran:?}");
    let ran = place.run(&["service", "restart", "nginx", "--quiet"]).await;
    assert_eq!((ran.exit, ran.err.as_str()), (Exit::Done, ""));
}

/// An operator at a terminal, whose `postern-admin` writes its arguments to `asked` and then does this.
fn operator(place: &Place, script: &str) -> (UnixListener, Streams) {
    let asked = place.path("asked");
    place.script("postern-admin", &format!("echo \"$@\" >> {}\n{script}", asked.display()));
    let listener = UnixListener::bind(&place.host.operator_socket).unwrap();
    (listener, Streams { is_terminal: true, ..Streams::default() })
}

fn asked(place: &Place) -> String {
    std::fs::read_to_string(place.path("asked")).unwrap_or_default()
}

async fn nothing_is_printed_while_asked(place: &Place, args: &[&str]) -> Ran {
    let done = place.path("done");
    let (_socket, streams) =
        operator(place, &format!("while [ ! -e {} ]; do sleep 0.02; done", done.display()));
    let (go, log) = (Arc::new(Notify::new()), Kept::default());
    let to = log.clone();
    common::keep_a_second_subscriber();
    let _logging = tracing::subscriber::set_default(log::subscriber(&debug_log(), move || to.clone()));
    let hostile = "\u{1b}[2Jtype 1234 now";
    let after = vec![
        progress(hostile, 10),
        progress("nginx", 90),
        unit(Status::Done, "nginx.service", "active", "running"),
    ];
    let helper =
        place.helper(vec![Play::Hold(waiting(&approval("e"), in_seconds(60)), Arc::clone(&go), after)]);
    let meanwhile = async {
        until("postern-admin is asked", || !asked(place).is_empty()).await;
        let before = (streams.out.text(), streams.err.text());
        go.notify_one();
        until("the outcome has come", || log.text().contains(ENDED_WHILE_ASKED)).await;
        let after = (streams.out.text(), streams.err.text());
        assert_eq!(before, after, "something was printed beside the question");
        std::fs::write(&done, "").unwrap();
    };
    let (ran, ()) = tokio::join!(place.run_on(args, &streams, b""), meanwhile);
    assert_eq!(asked(place), format!("approve {}\n", approval("e")), "once, with nothing else");
    assert_eq!(helper.seen().len(), 1);
    ran
}

#[tokio::test]
async fn nothing_is_printed_while_an_operator_is_asked_about_a_command() {
    let place = Place::new();
    let ran = nothing_is_printed_while_asked(&place, &["--direct", "service", "restart", "nginx"]).await;
    assert_eq!((ran.exit, ran.out.as_str()), (Exit::Done, "nginx.service is active (running)\n"));
    assert!(!ran.err.contains("waits for approval"), "who has approved needs no more telling: {}", ran.err);
}

#[tokio::test]
async fn nothing_is_printed_while_an_operator_is_asked_about_a_task() {
    let place = Place::new();
    place.serve();
    let ran = nothing_is_printed_while_asked(&place, &["run", "restart nginx"]).await;
    assert_eq!(ran.exit, Exit::Done, "{ran:?}");
    assert!(
        ran.err.ends_with("[1/1] restart nginx.service: ok\n"),
        "what came meanwhile is shown then: {ran:?}"
    );
}

#[tokio::test]
async fn nothing_is_printed_while_an_operator_is_asked_about_a_task_without_the_agent() {
    let place = Place::new();
    let ran = nothing_is_printed_while_asked(&place, &["run", "--direct", "restart nginx"]).await;
    assert_eq!(ran.exit, Exit::Done, "{ran:?}");
}

async fn asked_with(play: impl FnOnce(&FakeHelper), script: &str, args: &[&str]) -> (Ran, String) {
    let place = Place::new();
    let (_socket, streams) = operator(&place, script);
    play(&place.helper(Vec::new()));
    let ran = place.run_on(args, &streams, b"").await;
    (ran, asked(&place))
}

#[tokio::test]
async fn an_operator_who_does_not_decide_learns_how_it_can_still_be_done() {
    let go = Arc::new(Notify::new());
    let end = Arc::clone(&go);
    let later = async {
        tokio::time::sleep(Duration::from_millis(500)).await;
        end.notify_one();
    };
    let play = Play::Hold(waiting(&approval("f"), in_seconds(60)), go, vec![told("not_approved", "no")]);
    let asking = asked_with(|helper| helper.add(play), "exit 4", &["--direct", "service", "stop", "nginx"]);
    let ((ran, asked), ()) = tokio::join!(asking, later);
    assert_eq!((ran.exit, asked), (Exit::NotApproved, format!("approve {}\n", approval("f"))));
    assert!(ran.err.contains("waits for approval (rule web-config)"), "{ran:?}");
    assert!(ran.err.ends_with("not_approved: an operator said no: no\n"), "{ran:?}");
}

#[tokio::test]
async fn an_id_that_is_none_is_no_argument_of_postern_admin() {
    let malformed = [
        "--yes-digest",
        "",
        "ABCDEF",
        "a/../../b",
        &"A".repeat(32),
        &"a".repeat(33),
        &format!("{}\n", "a".repeat(31)),
    ];
    for id in malformed {
        let end = vec![ended(Status::Done, "")];
        let play = Play::Events([waiting(id, in_seconds(60)), end].concat());
        let args = ["--direct", "service", "stop", "nginx"];
        let (ran, asked) = asked_with(|helper| helper.add(play), "true", &args).await;
        assert_eq!((ran.exit, asked.as_str()), (Exit::Done, ""), "{id:?}");
        assert!(ran.err.contains("under an id that is none"), "{ran:?}");
    }
}

#[tokio::test]
async fn nobody_is_asked_where_json_or_silence_is_wanted_or_no_terminal_is() {
    for extra in ["--json", "--json=lines", "--quiet"] {
        let end = vec![ended(Status::Done, "")];
        let play = Play::Events([waiting(&approval("a"), in_seconds(60)), end].concat());
        let args = ["--direct", "service", "stop", "nginx", extra];
        let (ran, asked) = asked_with(|helper| helper.add(play), "true", &args).await;
        assert_eq!((ran.exit, asked.as_str()), (Exit::Done, ""), "{extra}");
    }
    let place = Place::new();
    let (_socket, _) = operator(&place, "true");
    place.helper(vec![Play::Events(
        [waiting(&approval("a"), in_seconds(60)), vec![ended(Status::Done, "")]].concat(),
    )]);
    let ran = place.run(&["--direct", "service", "stop", "nginx"]).await;
    assert_eq!((ran.exit, asked(&place).as_str()), (Exit::Done, ""));
    assert!(ran.err.contains(&format!("with: postern-admin approve {}", approval("a"))), "{ran:?}");
}

#[tokio::test]
async fn a_dry_run_of_what_would_be_asked_says_so() {
    let place = Place::new();
    place.helper(vec![Play::Events(vec![
        accepted(),
        completed(v1::Completed {
            status: Status::Previewed.into(),
            decision: v1::Decision::Ask.into(),
            rule: "web-config".into(),
            ..v1::Completed::default()
        }),
    ])]);
    let ran = place.run(&["--direct", "--dry-run", "service", "stop", "nginx"]).await;
    let words = "unit.stop: granted by rule web-config, once a person has approved it\n";
    assert_eq!((ran.exit, ran.out.as_str()), (Exit::Done, words));
}
