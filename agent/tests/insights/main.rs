//! `postern insights`: what the agent's record says of failures, missing grants, slow steps and repeated approvals.

#[path = "../common/mod.rs"]
mod common;
mod fill;

use common::{HEADERS, Place, Play, approval, completed, http, in_seconds, refused, waiting};
use fill::{fill, own};
use http_body_util::BodyExt;
use postern_agent::Exit;
use postern_proto::v1::{self, Status};
use rusqlite::Connection;
use serde_json::{Value, json};
use std::time::Duration;
use tokio::net::UnixStream;

/// A restart that a person approved.
fn approved() -> Play {
    let done = v1::Completed {
        status: Status::Done.into(),
        decision: v1::Decision::Ask.into(),
        rule: "web-ask".into(),
        ..v1::Completed::default()
    };
    Play::Events([waiting(&approval("a"), in_seconds(60)), vec![completed(done)]].concat())
}

fn refusal(code: &str) -> Play {
    Play::Events(vec![refused(code)])
}

/// Runs so many tasks of these words, whatever comes of them.
async fn run(place: &Place, words: &str, times: usize) {
    for _ in 0..times {
        place.run(&["run", words, "--json"]).await;
    }
}

fn rows<'v>(report: &'v Value, section: &str) -> &'v Vec<Value> {
    report[section].as_array().unwrap_or_else(|| panic!("no {section} in {report}"))
}

#[tokio::test]
async fn reports_failures_missing_grants_repeated_approvals_and_repeated_tasks_of_real_tasks() {
    let place = Place::new();
    let helper = place.helper(Vec::new());
    place.serve();
    for play in [refusal("no_grant"), refusal("no_grant"), refusal("not_approved")] {
        helper.add(play);
    }
    run(&place, "stop nginx", 2).await;
    run(&place, "restart ssh", 1).await;
    for _ in 0..3 {
        helper.add(approved());
    }
    run(&place, "restart nginx", 3).await;
    let ran = place.run(&["insights", "--json"]).await;
    assert_eq!(ran.exit, Exit::Done, "{ran:?}");
    let report = ran.json();
    assert_eq!((&report["version"], &report["tasks"]), (&json!(1), &json!(6)), "{report}");
    let failing = rows(&report, "failing_tasks");
    assert_eq!(failing.len(), 2, "{report}");
    assert_eq!(
        (&failing[0]["count"], &failing[0]["status"], &failing[0]["cause"], &failing[0]["step"]),
        (&json!(2), &json!("refused"), &json!("no_grant"), &json!("unit.stop"))
    );
    let newest = failing[0]["task"].as_str().unwrap();
    assert_eq!(failing[0]["next"], format!("postern-admin policy suggest --task {newest}"));
    let denied = failing[1]["task"].as_str().unwrap();
    assert_eq!(failing[1]["next"], format!("postern-admin audit show --task {denied}"));
    let missing = rows(&report, "missing_grants");
    assert_eq!(
        (missing.len(), &missing[0]["verb"], &missing[0]["target"]),
        (1, &json!("unit.stop"), &json!("nginx.service"))
    );
    let ids = missing[0]["request_ids"].as_array().unwrap();
    let sent: Vec<String> = helper.seen().iter().take(2).map(|seen| seen.meta().request_id).collect();
    assert_eq!(ids, &[json!(sent[1]), json!(sent[0])], "the newest first");
    assert_eq!(missing[0]["next"], format!("postern-admin policy suggest --request {}", sent[1]));
    let approvals = rows(&report, "repeated_approvals");
    assert_eq!(approvals.len(), 1, "{report}");
    assert_eq!(
        (&approvals[0]["count"], &approvals[0]["target"], &approvals[0]["rule"], &approvals[0]["next"]),
        (
            &json!(3),
            &json!("nginx.service"),
            &json!("web-ask"),
            &json!("postern-admin policy suggest --approved 3")
        )
    );
    let repeated = rows(&report, "repeated_tasks");
    assert_eq!(
        (&repeated[0]["count"], &repeated[0]["changes"]),
        (&json!(3), &json!(["unit.restart nginx.service"]))
    );
    let slow = rows(&report, "slow_steps");
    assert_eq!(
        (slow.len(), &slow[0]["kind"], &slow[0]["count"]),
        (1, &json!("unit.restart"), &json!(3)),
        "{report}"
    );

    let ran = place.run(&["insights"]).await;
    for words in [
        "tasks: 6 ended, 3 of them failed\n",
        "\nmissing grants\n  count  verb       target\n  2      unit.stop  nginx.service\n",
        &format!("      postern-admin policy suggest --request {}\n", sent[1]),
        "postern insights --json | sudo postern-admin policy suggest --from -\n",
        "nothing is applied: an operator decides",
        &format!("      postern runbook from-task {}\n", repeated[0]["task"].as_str().unwrap()),
    ] {
        assert!(ran.out.contains(words), "no {words:?} in\n{}", ran.out);
    }
}

#[tokio::test]
async fn what_a_person_denied_once_is_neither_a_missing_grant_nor_a_repeated_approval() {
    let place = Place::new();
    let helper = place.helper(Vec::new());
    place.serve();
    for _ in 0..3 {
        helper.add(approved());
    }
    helper.add(refusal("no_grant"));
    helper.add(refusal("not_approved"));
    run(&place, "restart nginx", 5).await;
    let report = place.run(&["insights", "--json"]).await.json();
    assert_eq!(report["missing_grants"], json!([]));
    assert_eq!(report["repeated_approvals"], json!([]));
    assert_eq!(report["failing_tasks"].as_array().unwrap().len(), 2, "{report}");
}

#[tokio::test]
async fn two_approvals_are_no_habit_and_a_dry_run_is_no_approval() {
    let place = Place::new();
    let helper = place.helper(vec![approved(), approved()]);
    place.serve();
    run(&place, "restart nginx", 2).await;
    let previewed = v1::Completed {
        status: Status::Previewed.into(),
        decision: v1::Decision::Ask.into(),
        rule: "web-ask".into(),
        ..v1::Completed::default()
    };
    helper.add(Play::Events(vec![completed(previewed)]));
    place.run(&["run", "restart nginx", "--dry-run"]).await;
    let report = place.run(&["insights", "--json"]).await.json();
    assert_eq!((&report["tasks"], &report["repeated_approvals"]), (&json!(3), &json!([])));
}

#[tokio::test]
async fn a_wait_for_a_person_is_not_a_slow_step() {
    let place = Place::new();
    let go = std::sync::Arc::new(tokio::sync::Notify::new());
    let done = completed(v1::Completed {
        status: Status::Done.into(),
        decision: v1::Decision::Ask.into(),
        ..v1::Completed::default()
    });
    let wait = waiting(&approval("a"), in_seconds(60));
    let helper = place.helper(vec![Play::Hold(wait, std::sync::Arc::clone(&go), vec![done])]);
    place.serve();
    let running = run(&place, "restart nginx", 1);
    let approving = async {
        common::until("the request was sent", || !helper.seen().is_empty()).await;
        tokio::time::sleep(Duration::from_millis(1500)).await;
        go.notify_one();
    };
    tokio::join!(running, approving);
    let report = place.run(&["insights", "--json"]).await.json();
    let step = &rows(&report, "slow_steps")[0];
    assert!(step["median_wait_ms"].as_u64().unwrap() >= 1000, "{step}");
    assert!(step["max_ms"].as_u64().unwrap() < 1000, "{step}");
    assert_eq!(step["waits"], 1);
}

#[tokio::test]
async fn since_leaves_out_what_began_before() {
    let place = Place::new();
    place.helper(vec![refusal("no_grant")]);
    place.serve();
    run(&place, "stop nginx", 1).await;
    let tomorrow = in_seconds(86_400).to_string();
    let path = format!("/insights?since_unix_s={tomorrow}");
    assert_eq!(get(&place, &path).await["tasks"], 0);
    for (since, tasks) in [("1h", 1), ("2026-01-01", 1), ("2026-01-01 04:13:00", 1)] {
        let report = place.run(&["insights", "--since", since, "--json"]).await.json();
        assert_eq!(report["tasks"], tasks, "{since}: {report}");
        assert!(report["since_unix_s"].is_u64(), "{report}");
    }
    let wrong = place.run(&["insights", "--since", "yesterday"]).await;
    assert!(wrong.exit == Exit::Usage && wrong.err.contains("7d for a time ago"), "{wrong:?}");
    let direct = place.run(&["--direct", "insights"]).await;
    assert_eq!(direct.exit, Exit::Usage, "{direct:?}");
}

async fn get(place: &Place, path: &str) -> Value {
    let stream = UnixStream::connect(&place.host.agent_socket).await.unwrap();
    let answer = http(stream, "GET", path, &HEADERS, "").await;
    assert_eq!(answer.status(), 200);
    serde_json::from_slice(&answer.into_body().collect().await.unwrap().to_bytes()).unwrap()
}

/// Makes the database of a place, and leaves it to the test.
async fn database(place: &Place) -> Connection {
    place.helper(Vec::new());
    let service = place.serve_apart();
    let path = place.host.state.join("postern.db");
    let newest = "SELECT 1 FROM pragma_table_info('requests') WHERE name = 'took_ms'";
    common::until("the database is there", || {
        path.exists()
            && Connection::open(&path).is_ok_and(|sql| sql.query_row(newest, (), |_| Ok(())).is_ok())
    })
    .await;
    drop(service);
    std::fs::remove_file(&place.host.agent_socket).unwrap();
    Connection::open(path).unwrap()
}

#[tokio::test]
async fn the_same_record_gives_the_same_bytes_in_whatever_order_it_was_written() {
    let mut reports = Vec::new();
    // 31 is prime to 100: each task once, in another order.
    let orders: [fn(u64) -> u64; 3] = [|n| n, |n| 99 - n, |n| n * 31 % 100];
    for order in orders {
        let place = Place::new();
        fill(&mut database(&place).await, &own(), 100, 10, order);
        place.serve();
        let [first, second] =
            [place.run(&["insights", "--json"]).await, place.run(&["insights", "--json"]).await];
        assert_eq!(first.bytes, second.bytes);
        let text = place.run(&["insights"]).await;
        assert!(text.exit == Exit::Done && text.out.contains("slow steps"), "{text:?}");
        reports.push((first.out, text.out));
    }
    assert!(reports.iter().all(|report| *report == reports[0]), "{reports:#?}");
    let report: Value = serde_json::from_str(&reports[0].0).unwrap();
    assert_eq!(rows(&report, "missing_grants").len(), 7, "{report}");
    let slow = rows(&report, "slow_steps");
    let sum: u64 = slow.iter().map(|kind| kind["count"].as_u64().unwrap()).sum();
    assert!(sum > 900 && slow.len() == 2, "{report}");
}

#[tokio::test]
async fn a_person_sees_nothing_of_the_tasks_of_others_and_root_sees_all() {
    let place = Place::new();
    fill(&mut database(&place).await, "{\"uid\":4242}", 9, 5, |n| n);
    place.serve();
    let report = place.run(&["insights", "--json"]).await.json();
    if nix::unistd::getuid().is_root() {
        assert_eq!(report["tasks"], 9, "root could read the database anyhow: {report}");
        return;
    }
    assert_eq!(report["tasks"], 0);
    for section in ["failing_tasks", "missing_grants", "slow_steps", "repeated_approvals", "repeated_tasks"] {
        assert_eq!(report[section], json!([]), "{section}");
    }
}
