//! What a task remembers: checkpoints between its runs, failures, and the task before it.

use serde_json::{Value, json};

use crate::host::{Host, call, finish, service};

fn checkpoint(progress: &[&str], remaining: &str) -> Value {
    call(
        "checkpoint",
        json!({ "response": "half done", "log_summary": "looked", "progress": progress, "remaining": remaining,
                "failed_approaches": ["everything was tried"] }),
    )
}

pub fn next_run_begins_with_the_checkpoint_and_knows_what_failed(host: &Host) {
    let replies = [
        service("restart", "app"),
        call("pkg_install", json!({ "name": "nginx-full" })),
        checkpoint(&["restarted app", "installed redis"], "look at other"),
        service("status", "other"),
        finish("app was restarted"),
    ];
    host.model(&replies, "[limits]\nsteps = 2\nruns = 2");
    let task = host.task("restart app and look at other");
    let seen = host.seen();
    assert_eq!(seen.len(), 5, "{task}");
    let told = seen[3]["messages"].to_string();
    for part in [
        "this is run 2 of 2 of this task",
        "- restarted app",
        "~~installed redis~~ (struck out",
        "look at other",
        "consider them exhausted",
        "pkg_install name",
    ] {
        assert!(told.contains(part), "{part}: {told}");
    }
    assert!(!told.contains("everything was tried"), "what failed is collected from the log: {told}");
    assert_eq!(task["status"], "partial", "the refused package counts: {task}");
}

pub fn run_without_progress_ends_the_task(host: &Host) {
    let one = || [service("status", "app"), checkpoint(&[], "mend app")];
    let replies: Vec<Value> = [one(), one(), one()].concat();
    host.model(&replies, "[limits]\nsteps = 1\nruns = 9");
    let task = host.task("mend app");
    assert_eq!((&task["status"], host.seen().len()), (&json!("failed"), 4), "{task}");
    assert!(task["summary"].to_string().contains("no progress"), "{task}");
}

pub fn same_failure_is_not_run_a_third_time(host: &Host) {
    let start = || service("start", "broken");
    let task = host.told(&[start(), start(), start(), start(), finish("tried")], "start broken");
    let begun = host.begun(&task);
    assert_eq!(begun, ["unit.start", "unit.start"], "{task}");
    let steps = (0..30).map(|_| service("status", "app")).collect::<Vec<_>>();
    host.model(&steps, "[limits]\nsteps = 3\nruns = 1");
    let task = host.task("look at app for ever");
    let steps = task["results"].as_array().expect("results").iter().filter(|one| one["step"].is_u64());
    assert_eq!((&task["status"], steps.count()), (&json!("out_of_budget"), 3), "{task}");
}

pub fn next_task_of_a_person_goes_on_from_the_last_one(host: &Host) {
    let task = host.told(
        &[call("pkg_install", json!({ "name": "nginx-full" })), service("status", "app"), finish("no")],
        "get nginx-full",
    );
    assert_eq!(task["status"], "refused", "{task}");
    host.model(&[service("status", "app"), finish("app is up")], "");
    let ran = host.postern(&["run", "--continue", "--json", "is app up"]);
    assert_eq!(ran.code, 0, "{ran}");
    let told = host.seen()[0]["messages"].to_string();
    assert!(told.contains("get nginx-full") && told.contains("no_grant"), "{told}");
}

/// The steps of docs/tasks.md, after a newer Postern made the database its own.
pub fn copy_of_an_older_version_takes_the_databases_place_by_the_documented_steps(host: &Host) {
    let task = host.told(&[service("status", "app"), finish("app is up")], "is app up");
    let id = task["id"].as_str().expect("an id");
    let newer = "import sqlite3, shutil, os, pwd
state = '/var/lib/postern/'
base = sqlite3.connect(state + 'postern.db')
base.execute('PRAGMA wal_checkpoint(TRUNCATE)')
version = base.execute('PRAGMA user_version').fetchone()[0]
base.close()
copy = f'{state}postern.db.version-{version}'
shutil.copy(state + 'postern.db', copy)
base = sqlite3.connect(state + 'postern.db')
base.executescript(f'CREATE TABLE newer (x); PRAGMA user_version = {version + 1}')
base.close()
for name in os.listdir(state):
    if name.startswith('postern.db'):
        os.chown(state + name, *pwd.getpwnam('postern')[2:4])
print(copy)";
    let _ = host.sh("systemctl stop postern-agent.service postern-agent.socket");
    let copy = host.machine.root(&["python3", "-c", newer]).ok();
    let _ = host.sh("systemctl start postern-agent.socket postern-agent.service");
    let health = host.postern(&["health", "--json"]).json();
    assert!(health["agent"].as_str().is_some_and(|words| words.contains(copy.trim())), "{health}");
    assert_ne!(host.postern(&["run", "is app up"]).code, 0, "it takes no tasks");
    let _ = host.postern(&["service", "status", "app"]).ok();
    let _ = host.sh(&format!(
        "systemctl stop postern-agent
        rm -f /var/lib/postern/postern.db /var/lib/postern/postern.db-wal /var/lib/postern/postern.db-shm
        mv {} /var/lib/postern/postern.db
        systemctl start postern-agent",
        copy.trim()
    ));
    assert_eq!(host.postern(&["health", "--json"]).json()["agent"], "ok");
    assert_eq!(host.postern(&["tasks", "show", id, "--json"]).json()["id"], task["id"]);
    let _ = host.sh("rm -f /etc/postern/agent.toml; systemctl restart postern-agent");
    let _ = host.postern(&["run", "restart app"]).ok();
}
