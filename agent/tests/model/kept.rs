//! The agent's database: survives a restart, is one private file, and is bounded.

use crate::common::{Place, Play, accepted, approval, completed, ended, in_seconds, refused, until, waiting};
use crate::http::ask;
use crate::resuming::{give, http, stands, task};
use crate::server::Server;
use crate::tasks::{calls, configure};
use postern_agent::Exit;
use postern_proto::v1::{self, Status, UnitRestartRequest};
use rusqlite::Connection;
use serde_json::{Value, json};
use std::os::unix::fs::PermissionsExt;
use std::sync::Arc;
use tokio::sync::Notify;

const FIRST: &str = include_str!("../../src/store/database/1.sql");

fn done() -> Play {
    Play::Events(vec![ended(Status::Done, "")])
}

fn database(place: &Place) -> Connection {
    std::fs::create_dir_all(&place.host.state).unwrap();
    Connection::open(place.host.state.join("postern.db")).unwrap()
}

#[tokio::test]
async fn tasks_events_and_whose_request_is_whose_outlive_the_agent() {
    let place = Place::new();
    let helper = place.helper(vec![done(), done()]);
    let alive = place.serve_apart();
    let task = place.run(&["run", "restart nginx", "--json"]).await.json();
    let id = task["id"].as_str().unwrap();
    drop(alive);
    std::fs::remove_file(&place.host.agent_socket).unwrap();
    let _alive = place.serve_apart();
    let shown = place.run(&["tasks", "show", id, "--json"]).await.json();
    assert_eq!(shown, task);
    let request = task["results"][0]["request_id"].as_str().unwrap();
    let ran = place.run(&["result", request]).await;
    assert_eq!((ran.exit, helper.seen().len()), (Exit::Done, 2), "{ran:?}");
}

/// Gives an order under an idempotency key.
async fn ordered(place: &Place, key: &str, order: &str) -> (u16, Value) {
    let (status, _, text) = ask(place, "POST", "/execute", &[("idempotency-key", key)], order).await;
    (status, serde_json::from_str(&text).expect(&text))
}

const ORDER: &str = r#"{"task":"restart nginx"}"#;

#[tokio::test]
async fn an_order_under_a_known_key_is_the_same_task_also_after_a_restart() {
    let place = Place::new();
    let helper = place.helper(vec![done(), done()]);
    let alive = place.serve_apart();
    let (status, task) = ordered(&place, "k1", ORDER).await;
    assert_eq!((status, &task["status"]), (200, &json!("completed")));
    drop(alive);
    std::fs::remove_file(&place.host.agent_socket).unwrap();
    let _alive = place.serve_apart();
    assert_eq!(ordered(&place, "k1", ORDER).await, (200, task.clone()));
    assert_eq!(ordered(&place, "\"k1\"", ORDER).await, (200, task.clone()), "as the draft writes it");
    let unwatched = r#"{"task":"restart nginx","wait":false}"#;
    assert_eq!(ordered(&place, "k1", unwatched).await, (202, json!({ "id": task["id"] })));
    let (status, other) = ordered(&place, "k1", r#"{"task":"stop nginx"}"#).await;
    assert_eq!((status, &other["error"]["code"]), (422, &json!("invalid_argument")), "{other}");
    assert_eq!(helper.seen().len(), 1, "it was carried out once");
    // A key is its person's.
    database(&place).execute("UPDATE idempotency_keys SET owner = 'another'", ()).unwrap();
    let (status, new) = ordered(&place, "k1", ORDER).await;
    assert!(status == 200 && new["id"] != task["id"], "{new}");
    assert_eq!(helper.seen().len(), 2);
    database(&place).execute("DELETE FROM tasks", ()).unwrap();
    let (status, gone) = ordered(&place, "k1", ORDER).await;
    assert_eq!((status, helper.seen().len()), (410, 2), "{gone}");
}

#[tokio::test]
async fn two_orders_at_once_under_one_key_are_one_task() {
    let place = Place::new();
    let helper = place.helper(vec![done(), done()]);
    place.serve();
    let (one, other) = tokio::join!(ordered(&place, "k1", ORDER), ordered(&place, "k1", ORDER));
    assert_eq!((one.0, &one), (200, &other));
    assert_eq!(helper.seen().len(), 1);
}

#[tokio::test]
async fn keys_are_kept_for_a_day_and_1000_of_each_person() {
    let place = Place::new();
    place.helper(vec![done(), done(), done()]);
    place.serve();
    let (_, first) = ordered(&place, "k1", ORDER).await;
    database(&place).execute("UPDATE idempotency_keys SET at = at - 86400", ()).unwrap();
    let (status, second) = ordered(&place, "k1", ORDER).await;
    assert!(status == 200 && second["id"] != first["id"], "{second}");
    let others = "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 1000)
        INSERT INTO idempotency_keys (owner, key, digest, task, at)
        SELECT owner, 'other' || i, digest, task, at FROM idempotency_keys, n";
    database(&place).execute(others, ()).unwrap();
    assert_eq!(ordered(&place, "k2", ORDER).await.0, 200);
    let left = "SELECT count(*), sum(key = 'k1'), sum(key = 'k2') FROM idempotency_keys";
    let left: (u32, u32, u32) =
        database(&place).query_row(left, (), |row| Ok((row.get(0)?, row.get(1)?, row.get(2)?))).unwrap();
    assert_eq!(left, (1000, 0, 1));
}

#[tokio::test]
async fn a_key_of_an_order_that_became_no_task_is_free() {
    let place = Place::new();
    std::fs::write(&place.host.config, "[limits]\nqueue = 1\nparallel = 1\n").unwrap();
    let helper = place.helper(vec![Play::Hold(Vec::new(), Arc::default(), Vec::new())]);
    place.serve();
    let unwatched = r#"{"task":"restart nginx","wait":false}"#;
    assert_eq!(ask(&place, "POST", "/execute", &[], unwatched).await.0, 202);
    until("the first is at work", || helper.seen().len() == 1).await;
    assert_eq!(ask(&place, "POST", "/execute", &[], unwatched).await.0, 202);
    assert_eq!(ordered(&place, "k1", ORDER).await.0, 429);
    for wrong in ["", "\"\"", &"k".repeat(256)] {
        assert_eq!(ordered(&place, wrong, ORDER).await.0, 400, "{wrong}");
    }
    let twice = [("idempotency-key", "k1"), ("idempotency-key", "k1")];
    assert_eq!(ask(&place, "POST", "/execute", &twice, ORDER).await.0, 400);
    assert_eq!(ordered(&place, "k1", r#"{"task":"frobnicate the widget"}"#).await.0, 422);
    let keys = "SELECT count(*) FROM idempotency_keys";
    assert_eq!(database(&place).query_row(keys, (), |row| row.get::<_, u32>(0)).unwrap(), 0);
}

#[tokio::test]
async fn the_database_is_its_owner_s_alone() {
    let place = Place::new();
    place.helper(vec![done()]);
    place.serve();
    place.run(&["run", "restart nginx"]).await;
    for name in ["postern.db", "postern.db-wal", "postern.db-shm"] {
        let mode = std::fs::metadata(place.host.state.join(name)).unwrap().permissions().mode();
        assert_eq!(mode & 0o777, 0o600, "{name}");
    }
    assert_eq!(std::fs::metadata(&place.host.state).unwrap().permissions().mode() & 0o777, 0o700);
}

const OLD_TASK: &str = "01890000-0000-7000-8000-000000000000";

/// A database as the first agent made it, with one task.
fn first_version(place: &Place) {
    let old = database(place);
    old.execute_batch(FIRST).unwrap();
    let uid = nix::unistd::getuid().as_raw();
    let order = json!({ "task": "restart nginx", "session": "", "steps": [], "mode": "execute", "reason": "",
                        "wait_ms": 0, "owner": { "uid": uid }, "interactive": false });
    let record = json!({ "id": OLD_TASK, "session": "", "task": "restart nginx", "status": "completed", "summary": "done",
                         "results": [], "changes": [], "warnings": [], "usage": {} });
    old.execute(
        "INSERT INTO tasks (id, owner, session, status, ordered, record) VALUES (?, ?, '', 'completed', ?, ?)",
        [OLD_TASK, &json!({ "uid": uid }).to_string(), &order.to_string(), &record.to_string()],
    )
    .unwrap();
    old.execute_batch("PRAGMA user_version = 1").unwrap();
}

#[tokio::test]
async fn a_database_of_version_1_is_brought_up_with_what_it_holds() {
    let place = Place::new();
    first_version(&place);
    place.serve();
    let ran = place.run(&["tasks", "show", OLD_TASK, "--json"]).await;
    assert_eq!(ran.json()["summary"], "done", "{ran:?}");
    let version: i64 = database(&place).query_row("PRAGMA user_version", (), |row| row.get(0)).unwrap();
    assert_eq!(version, 6);
    // The database that the older agent could read is kept beside it.
    let copy = place.host.state.join("postern.db.version-1");
    assert_eq!(std::fs::metadata(&copy).unwrap().permissions().mode() & 0o777, 0o600);
    let copy = rusqlite::Connection::open(copy).unwrap();
    let (version, tasks): (i64, i64) = copy
        .query_row("SELECT (SELECT user_version FROM pragma_user_version), count(*) FROM tasks", (), |row| {
            Ok((row.get(0)?, row.get(1)?))
        })
        .unwrap();
    assert_eq!((version, tasks), (1, 1));
    assert!(!place.host.state.join("postern.db.copy").exists());
}

/// The steps of docs/tasks.md for an older Postern after an upgrade.
#[tokio::test]
async fn the_copy_of_an_older_version_takes_the_database_s_place_by_the_documented_steps() {
    let place = Place::new();
    first_version(&place);
    place.helper(vec![done(), done()]);
    let alive = place.serve_apart();
    let newer =
        place.run(&["run", "restart nginx", "--json"]).await.json()["id"].as_str().unwrap().to_owned();
    drop(alive);
    let state = &place.host.state;
    let steps = include_str!("../../../docs/tasks.md");
    for name in ["postern.db", "postern.db-wal", "postern.db-shm"] {
        assert!(steps.contains(&format!("`{name}`")), "{name} is no part of the steps");
        let _ = std::fs::remove_file(state.join(name));
    }
    std::fs::rename(state.join("postern.db.version-1"), state.join("postern.db")).unwrap();
    // As the older agent finds it: of its version, with the tasks until the upgrade, and sound.
    let tasks: Vec<String> = database(&place)
        .prepare("SELECT id FROM tasks")
        .unwrap()
        .query_map((), |row| row.get(0))
        .unwrap()
        .collect::<rusqlite::Result<_>>()
        .unwrap();
    assert_eq!(tasks, [OLD_TASK]);
    let read = |pragma: &str| {
        database(&place).query_row(pragma, (), |row| row.get::<_, rusqlite::types::Value>(0)).unwrap()
    };
    assert_eq!(read("PRAGMA user_version"), rusqlite::types::Value::Integer(1));
    assert_eq!(read("PRAGMA integrity_check"), rusqlite::types::Value::Text("ok".to_owned()));
    // The next upgrade goes as the first did.
    std::fs::remove_file(&place.host.agent_socket).unwrap();
    let _alive = place.serve_apart();
    assert_eq!(place.run(&["tasks", "show", OLD_TASK, "--json"]).await.json()["summary"], "done");
    assert_eq!(place.run(&["tasks", "show", &newer, "--json"]).await.exit, Exit::Failed);
    assert!(state.join("postern.db.version-1").exists());
}

#[tokio::test]
async fn an_older_agent_names_the_copy_that_was_kept_before_the_upgrade() {
    let place = Place::new();
    database(&place).execute_batch("PRAGMA user_version = 7").unwrap();
    let copy = place.host.state.join("postern.db.version-6");
    std::fs::write(&copy, "").unwrap();
    place.serve();
    let health = http(&place, "GET", "/health", &Value::Null).await;
    let agent = health["agent"].as_str().unwrap();
    assert!(agent.contains("it has version 7") && agent.contains(copy.to_str().unwrap()), "{agent}");
}

#[tokio::test]
async fn a_database_of_which_no_copy_can_be_kept_is_left_as_it_is() {
    let place = Place::new();
    database(&place).execute_batch(&format!("{FIRST}; PRAGMA user_version = 1")).unwrap();
    // A directory in the place of the copy.
    std::fs::create_dir_all(place.host.state.join("postern.db.copy/x")).unwrap();
    place.serve();
    let health = http(&place, "GET", "/health", &Value::Null).await;
    assert!(health["agent"].as_str().unwrap().contains("cannot keep a copy of version 1"), "{health}");
    let version: i64 = database(&place).query_row("PRAGMA user_version", (), |row| row.get(0)).unwrap();
    assert_eq!(version, 1);
}

#[tokio::test]
async fn a_database_that_cannot_be_used_is_told_and_left_alone_and_typed_requests_work() {
    for (version, why) in [(99, "it has version 99, which a newer Postern has made"), (0, "not a database")] {
        let place = Place::new();
        let helper = place.helper(vec![done(), done(), done()]);
        let path = place.host.state.join("postern.db");
        if version == 0 {
            std::fs::create_dir(&place.host.state).unwrap();
            std::fs::write(&path, "this is no database at all, but long enough to have had a head").unwrap();
        } else {
            database(&place)
                .execute_batch(&format!("CREATE TABLE t (x); PRAGMA user_version = {version}"))
                .unwrap();
        }
        let before = std::fs::read(&path).unwrap();
        place.serve();
        let health = http(&place, "GET", "/health", &Value::Null).await;
        assert!(health["agent"].as_str().unwrap().contains(why), "{health}");
        let refused = http(&place, "POST", "/execute", &json!({ "task": "restart nginx" })).await;
        assert!(refused["error"]["message"].as_str().unwrap().contains(why), "{refused}");
        let ran = place.run(&["service", "restart", "nginx"]).await;
        assert_eq!(ran.exit, Exit::Done, "{ran:?}");
        assert!(helper.seen().iter().any(|seen| seen.rpc == "UnitRestart"));
        if version == 0 {
            assert_eq!(std::fs::read(&path).unwrap(), before);
        } else {
            let kept: i64 = database(&place)
                .query_row("SELECT count(*) FROM sqlite_schema", (), |row| row.get(0))
                .unwrap();
            assert_eq!(kept, 1, "nothing of ours is in it");
        }
    }
}

#[tokio::test]
async fn no_more_than_200_finished_tasks_are_kept_and_no_more_than_their_bytes() {
    let place = Place::new();
    let helper = place.helper(Vec::new());
    place.serve();
    assert_eq!(place.run(&["tasks"]).await.exit, Exit::Done);
    let uid = nix::unistd::getuid().as_raw();
    let order = json!({ "task": "x", "session": "", "steps": [], "mode": "execute", "reason": "", "wait_ms": 0,
                        "owner": { "uid": uid }, "interactive": false });
    let rows = database(&place);
    for (count, size) in [(300, 10), (50, 1 << 20)] {
        for number in 0..count {
            let id = format!("{size}-{number}");
            let record = json!({ "id": id, "session": "", "task": "x", "status": "completed", "results": [],
                                 "summary": "s".repeat(size), "changes": [], "warnings": [], "usage": {} });
            rows.execute(
                "INSERT INTO tasks (id, owner, session, status, ordered, record)
                 VALUES (?, ?, '', 'completed', ?, ?)",
                [&id, &json!({ "uid": uid }).to_string(), &order.to_string(), &record.to_string()],
            )
            .unwrap();
        }
        helper.add(done());
        place.run(&["run", "restart nginx"]).await;
        let kept: i64 = rows.query_row("SELECT count(*) FROM tasks", (), |row| row.get(0)).unwrap();
        let bytes: i64 =
            rows.query_row("SELECT sum(length(record)) FROM tasks", (), |row| row.get(0)).unwrap();
        assert!(kept <= 200 && bytes <= 8 << 20, "{kept} tasks of {bytes} bytes");
    }
    let pages: i64 = rows.query_row("PRAGMA freelist_count", (), |row| row.get(0)).unwrap();
    assert_eq!(pages, 0, "what was deleted gave its room back");
}

#[tokio::test]
async fn tasks_of_one_session_run_one_after_the_other_also_while_one_waits_for_a_person() {
    let place = Place::new();
    let go = Arc::new(Notify::new());
    let asks = waiting(&approval("a"), in_seconds(600));
    let asks = Play::Hold(asks, Arc::clone(&go), vec![ended(Status::Done, "")]);
    let helper = place.helper(vec![asks, done(), done()]);
    place.serve();
    let first = give(&place, &json!({ "task": "restart one", "session": "s" })).await;
    stands(&place, &first, "waiting").await;
    let second = give(&place, &json!({ "task": "restart two", "session": "s" })).await;
    let other = give(&place, &json!({ "task": "restart three", "session": "t" })).await;
    stands(&place, &other, "completed").await;
    assert_eq!(task(&place, &second).await["status"], "queued");
    go.notify_one();
    stands(&place, &second, "completed").await;
    let units: Vec<String> =
        helper.seen().iter().map(|seen| seen.decode::<UnitRestartRequest>().unit).collect();
    assert_eq!(units, ["one.service", "three.service", "two.service"]);
}

#[tokio::test]
async fn the_queue_is_as_long_as_it_is_configured() {
    let place = Place::new();
    std::fs::write(&place.host.config, "[limits]\nqueue = 1\nparallel = 1\n").unwrap();
    let helper = place.helper(vec![Play::Hold(vec![accepted()], Arc::new(Notify::new()), Vec::new())]);
    place.serve();
    let order = json!({ "task": "restart nginx", "wait": false });
    give(&place, &order).await;
    until("the first is at work", || helper.seen().len() == 1).await;
    give(&place, &order).await;
    let refused = http(&place, "POST", "/execute", &order).await;
    assert_eq!(refused["error"]["message"], "1 tasks of yours are waiting; try again later");
    let list = http(&place, "GET", "/tasks", &Value::Null).await;
    assert_eq!(list.as_array().unwrap().len(), 2, "what is not taken in is not kept: {list}");
}

#[tokio::test]
async fn who_sent_a_change_is_not_forgotten_for_reads_nor_while_its_task_can_go_on() {
    let place = Place::new();
    place.helper(vec![done(), done(), done()]);
    let agent = place.serve_apart();
    place.run(&["run", "restart nginx"]).await;
    drop(agent);
    let sql = database(&place);
    let insert = |effect: u8, name: &str, count: u32| {
        let rows = format!(
            "WITH RECURSIVE many (n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM many WHERE n < {count})
             INSERT INTO requests (id, owner, is_undo, is_effect, state)
             SELECT '{name}' || n, '{{\"uid\":4}}', 0, {effect}, 'nothing' FROM many"
        );
        sql.execute_batch(&rows).unwrap();
    };
    let count = |what: &str| -> i64 {
        sql.query_row(&format!("SELECT count(*) FROM requests WHERE {what}"), (), |row| row.get(0)).unwrap()
    };
    insert(0, "read", 10_050);
    std::fs::remove_file(&place.host.agent_socket).unwrap();
    let agent = place.serve_apart();
    place.run(&["run", "restart nginx"]).await;
    // The agent tidies up once it has told of the task's end.
    until("reads are forgotten", || (count("is_effect"), count("NOT is_effect")) == (2, 10_000)).await;
    drop(agent);
    insert(1, "change", 10_050);
    sql.execute_batch("UPDATE tasks SET interrupted = 1 WHERE seq = 1").unwrap();
    std::fs::remove_file(&place.host.agent_socket).unwrap();
    place.serve();
    place.run(&["run", "restart nginx"]).await;
    let left = || (count("is_effect"), count("task = 1"), count("task = 2"));
    until("changes are forgotten", || left() == (10_001, 1, 0)).await;
}

#[tokio::test]
async fn tasks_that_wait_for_a_person_are_as_many_as_may_wait() {
    let place = Place::new();
    std::fs::write(&place.host.config, "[limits]\nqueue = 1\n").unwrap();
    let asks = || Play::Hold(waiting(&approval("a"), in_seconds(600)), Arc::new(Notify::new()), Vec::new());
    place.helper(vec![asks(), asks(), asks()]);
    place.serve();
    let order = json!({ "task": "restart nginx", "wait": false });
    for _ in 0..2 {
        let id = give(&place, &order).await;
        stands(&place, &id, "waiting").await;
    }
    let refused = http(&place, "POST", "/execute", &order).await;
    assert_eq!(refused["error"]["code"], "busy", "{refused}");
}

fn words(server: &Server, request: usize) -> String {
    server.seen()[request].body["messages"][1]["content"].as_str().unwrap().to_owned()
}

#[tokio::test]
async fn a_task_goes_on_with_what_the_last_one_did_and_what_failed_in_it() {
    let server = Server::start(vec![
        calls("pkg_install", &json!({ "name": "nginx" })),
        calls("service", &json!({ "action": "restart", "name": "nginx" })),
        calls("finish", &json!({ "outcome": "done", "summary": "nginx is installed but does not start" })),
        calls("finish", &json!({ "outcome": "answered", "summary": "nothing to do" })),
        calls("service", &json!({ "action": "restart", "name": "nginx" })),
        calls("finish", &json!({ "outcome": "done", "summary": "it starts by now" })),
        calls("finish", &json!({ "outcome": "done", "summary": "what failed is not told any more" })),
        calls("finish", &json!({ "outcome": "done", "summary": "anew" })),
    ])
    .await;
    let place = Place::new();
    configure(&place, &server);
    let describe = || Play::Events(vec![refused("no_grant")]);
    let failed = Play::Events(vec![ended(Status::Failed, "unit_failed")]);
    place.helper(vec![describe(), done(), failed, describe(), describe(), done(), describe(), describe()]);
    place.serve();
    assert_eq!(place.run(&["run", "--continue", "go on"]).await.exit, Exit::Failed, "nothing to go on from");
    place.run(&["run", "install nginx"]).await;
    for request in [3, 4] {
        place.run(&["run", "--continue", "is it now well?"]).await;
        let told = words(&server, request);
        assert!(told.starts_with("[System: earlier tasks of this conversation"), "{told}");
        let first = r#"1. "install nginx": partial: "nginx is installed but does not start"#;
        assert!(told.contains(first) && told.contains("; changed: package.install nginx"), "{told}");
        assert!(
            told.contains(
                "[System: The following approaches were tried and failed in previous runs — consider them \
                 exhausted:\n1. service action \"restart\", name \"nginx\": unit_failed: "
            ),
            "{told}"
        );
        assert!(told.ends_with("is it now well?"), "{told}");
    }
    assert!(
        words(&server, 4).contains("\n2. \"is it now well?\": completed: \"nothing to do"),
        "{}",
        words(&server, 4)
    );
    place.run(&["run", "--continue", "and now"]).await;
    let told = words(&server, 6);
    assert!(told.contains("it starts by now") && !told.contains("exhausted"), "{told}");
    place.run(&["run", "something else"]).await;
    assert_eq!(words(&server, 7), "something else");
}

#[tokio::test]
async fn what_failed_is_not_exhausted_once_the_policy_or_the_cause_was_mended() {
    let finish = || calls("finish", &json!({ "outcome": "not_done", "summary": "it is refused" }));
    let install = calls("pkg_install", &json!({ "name": "nginx" }));
    let server = Server::start(vec![install, finish(), finish(), finish(), finish()]).await;
    let place = Place::new();
    configure(&place, &server);
    let describe = |verb: &str| {
        let grants = vec![v1::Grant { verbs: vec![verb.to_owned()], ..v1::Grant::default() }];
        let description = Some(v1::Description { client: "agent".into(), grants });
        let status = Status::Done.into();
        Play::Events(vec![completed(v1::Completed { status, description, ..v1::Completed::default() })])
    };
    let refuse = Play::Events(vec![refused("no_grant")]);
    let old = || describe("package.show");
    place.helper(vec![old(), refuse, old(), old(), describe("package.install")]);
    place.serve();
    place.run(&["run", "install nginx"]).await;
    for (request, task, head, is_exhausted) in [
        (2, "go on", "consider them exhausted:", true),
        (3, "the rule is granted now, go on", "say that the cause is gone, they may be tried again:", false),
        (4, "go on", "but the policy was changed since: they may be tried again:", false),
    ] {
        place.run(&["run", "--continue", task]).await;
        let told = words(&server, request);
        let failed = format!("{head}\n1. pkg_install name \"nginx\": no_grant");
        assert!(told.contains(&failed) && told.contains("exhausted") == is_exhausted, "{told}");
    }
}

#[tokio::test]
async fn a_task_goes_on_only_from_one_s_own_and_in_its_session() {
    let finish = |summary: &str| calls("finish", &json!({ "outcome": "done", "summary": summary }));
    let server = Server::start(vec![finish("one"), finish("two"), finish("three")]).await;
    let place = Place::new();
    configure(&place, &server);
    place.helper((0..3).map(|_| done()).collect());
    place.serve();
    for (session, task) in [("a", "first"), ("b", "second"), ("a", "third")] {
        let order = json!({ "task": task, "session": session, "continue": true });
        http(&place, "POST", "/execute", &order).await;
    }
    assert_eq!(words(&server, 1), "second", "a session begins without memory");
    let told = words(&server, 2);
    assert!(told.contains("first") && !told.contains("second"), "{told}");
}

#[tokio::test]
async fn a_session_remembers_without_being_told_to_unless_it_is_told_not_to() {
    let finish = |summary: &str| calls("finish", &json!({ "summary": summary, "outcome": "answered" }));
    let server = Server::start(["one", "two", "three", "four"].map(finish).to_vec()).await;
    let place = Place::new();
    configure(&place, &server);
    place.helper((0..4).map(|_| done()).collect());
    place.serve();
    for order in [
        json!({ "task": "first", "session": "a" }),
        json!({ "task": "second", "session": "a" }),
        json!({ "task": "third", "session": "a", "continue": false }),
        json!({ "task": "fourth" }),
    ] {
        http(&place, "POST", "/execute", &order).await;
    }
    assert!(words(&server, 1).contains("1. \"first\": "), "{}", words(&server, 1));
    assert_eq!([words(&server, 2), words(&server, 3)], ["third", "fourth"]);
}

#[tokio::test]
async fn a_request_that_cannot_be_recorded_is_not_sent_and_health_tells_why() {
    let place = Place::new();
    let helper = place.helper(vec![done()]);
    place.serve();
    assert_eq!(place.run(&["tasks"]).await.exit, Exit::Done);
    database(&place)
        .execute_batch(
            "CREATE TRIGGER full BEFORE INSERT ON requests BEGIN SELECT RAISE(ABORT, 'the disk is full'); END",
        )
        .unwrap();
    let ran = place.run(&["run", "restart nginx", "--json"]).await;
    assert_eq!((ran.exit, &ran.json()["status"]), (Exit::Failed, &json!("cancelled")), "{ran:?}");
    assert!(
        ran.json()["warnings"][0].as_str().unwrap().contains("its database cannot be written"),
        "{ran:?}"
    );
    assert!(helper.seen().is_empty());
    let ran = place.run(&["service", "restart", "nginx"]).await;
    assert!(ran.exit != Exit::Done && ran.err.contains("the disk is full"), "{ran:?}");
    assert!(helper.seen().is_empty(), "nor is a typed one, whose owner could not be told later");
    let health = http(&place, "GET", "/health", &Value::Null).await;
    assert!(health["agent"].as_str().unwrap().contains("the disk is full"), "{health}");
}

#[tokio::test]
async fn tasks_of_other_sessions_do_not_wait_for_one_that_is_at_work() {
    let place = Place::new();
    let go = Arc::new(Notify::new());
    let busy = Play::Hold(vec![accepted()], Arc::clone(&go), vec![ended(Status::Done, "")]);
    let helper = place.helper(vec![busy, done()]);
    place.serve();
    let first = give(&place, &json!({ "task": "restart nginx", "session": "s" })).await;
    until("the first is at work", || helper.seen().len() == 1).await;
    let second = give(&place, &json!({ "task": "restart redis", "session": "t" })).await;
    stands(&place, &second, "completed").await;
    let third = give(&place, &json!({ "task": "restart ssh", "session": "s" })).await;
    assert_eq!(task(&place, &third).await["status"], "queued");
    helper.add(done());
    go.notify_one();
    stands(&place, &third, "completed").await;
    let (_, _, told) = crate::http::ask(&place, "GET", &format!("/tasks/{third}/events"), &[], "").await;
    assert!(told.contains(&format!("your earlier task {} of this session", &first[..8])), "{told}");
}

#[tokio::test]
async fn one_person_s_tasks_leave_slots_to_others_and_are_served_in_turn_with_theirs() {
    let place = Place::new();
    let bearer = crate::http::over_tcp_with(&place, "[limits]\nparallel = 2\n").await;
    let go = Arc::new(Notify::new());
    let busy = Play::Hold(vec![accepted()], Arc::clone(&go), vec![ended(Status::Done, "")]);
    let helper = place.helper(vec![busy, done(), done(), done()]);
    let own = [
        give(&place, &json!({ "task": "restart one" })).await,
        give(&place, &json!({ "task": "restart two" })).await,
        give(&place, &json!({ "task": "restart three" })).await,
    ];
    until("the first is at work", || helper.seen().len() == 1).await;
    // Half of two slots is this person's; the other one is for somebody else.
    let other = bearer.execute(r#"{"task":"restart theirs"}"#).await;
    assert_eq!(other["status"], "completed", "{other}");
    assert_eq!(task(&place, &own[1]).await["status"], "queued");
    go.notify_one();
    for id in &own {
        stands(&place, id, "completed").await;
    }
    let units: Vec<String> =
        helper.seen().iter().map(|seen| seen.decode::<UnitRestartRequest>().unit).collect();
    assert_eq!(units, ["one.service", "theirs.service", "two.service", "three.service"]);
}
