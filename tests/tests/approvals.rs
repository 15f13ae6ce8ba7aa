//! Requests that wait for a person, on the installed system: who may answer, and what is done then.

use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::thread;
use std::time::Duration;

use postern_tests::{Installed, Output, Release, on_each_release};
use serde_json::Value;

on_each_release!(
    a_person_agrees_to_what_root_shows_and_takes_it_back,
    the_agents_user_cannot_agree_to_anything,
    waiting_requests_end_with_a_killed_recorder_and_a_pause_does_not,
);

const RULES: &str = r#"
[[rule]]
id = "asked-packages"
client = "agent"
verbs = ["package.install"]
packages = ["asked-*"]
decision = "ask"
justification = "a person looks at the plan"
accept_risk = { "*" = "a test" }

[[rule]]
id = "asked-texts"
client = "agent"
verbs = ["file.write"]
directories = ["/var/www/html"]
files = ["*.txt"]
decision = "ask"
justification = "a person looks at the text"
accept_risk = { "*" = "a test" }
"#;

/// A person who may approve.
const OPERATOR: &str = "oper";

/// A request under a rule that asks.
const WRITE: [&str; 6] = ["postern", "file", "write", "/var/www/html/a.txt", "--content", "one"];

fn host(release: Release) -> Installed {
    let host = Installed::on(release);
    let _ = host
        .root(&["useradd", "--create-home", "--groups", "postern-operators,postern-users", OPERATOR])
        .ok();
    let _ = host.shell("mkdir -p /var/www/html").ok();
    host.grant(RULES);
    host
}

fn admin(host: &Installed, arguments: &[&str]) -> Output {
    host.run(OPERATOR, &[&["postern-admin"], arguments].concat())
}

/// Waits for a pending approval and returns its id.
fn waiting(host: &Installed) -> String {
    for _ in 0..200 {
        let list = admin(host, &["pending", "--json"]).ok();
        let list: Value = serde_json::from_str(&list).expect("JSON");
        if let Some(id) = list["pending"][0]["approval_id"].as_str() {
            return id.to_owned();
        }
        thread::sleep(Duration::from_millis(50));
    }
    panic!("nothing waits: {}", host.journal("postern-*"));
}

/// Runs the visitor's command, and `then` while it waits. Approvals left pending are denied, so that a failing test
/// ends.
fn while_it_waits(host: &Installed, argv: &[&str], then: impl FnOnce(&str)) -> Output {
    thread::scope(|scope| {
        let asked = scope.spawn(|| host.visitor(argv));
        let result = catch_unwind(AssertUnwindSafe(|| then(&waiting(host))));
        if result.is_err() {
            let _ = host.shell(
                "postern-admin pending --json | grep -o '\"approval_id\":\"[0-9a-f]*' | cut -d'\"' -f4 | xargs -rn1 postern-admin deny",
            );
        }
        let answer = asked.join().expect("the person's command");
        result.unwrap_or_else(|panic| resume_unwind(panic));
        answer
    })
}

fn digest_of(host: &Installed, id: &str) -> String {
    let shown = admin(host, &["show", id, "--json"]).ok();
    let shown: Value = serde_json::from_str(&shown).expect("JSON");
    shown["sha256"].as_str().expect("a digest").to_owned()
}

fn log(host: &Installed) -> Vec<Value> {
    let log = host.shell("cat /var/log/postern/audit.jsonl").ok();
    log.lines().map(|line| serde_json::from_str(line).expect("JSON")).collect()
}

fn a_person_agrees_to_what_root_shows_and_takes_it_back(release: Release) {
    let host = host(release);
    host.publish("asked-one", "1.0", "true");
    let _ = host.visitor(&["postern", "package", "update"]).ok();
    let install = ["postern", "package", "install", "asked-one", "--reason", "for the \"demo\""];
    let installed = while_it_waits(&host, &install, |id| {
        let text = admin(&host, &["show", id]).ok();
        for words in [
            "verb package.install",
            "target asked-one",
            "asked-one (all) is installed: none -> 1.0",
            "rule asked-packages",
        ] {
            assert!(text.contains(words), "no {words:?} in\n{text}");
        }
        assert_eq!(host.root(&["dpkg-query", "--show", "asked-one"]).code, 1, "nothing is done before");
        let refused = admin(&host, &["approve", id, "--digest", &"0".repeat(64)]);
        assert_ne!(refused.code, 0, "{refused}");
        let _ = admin(&host, &["approve", id, "--digest", &digest_of(&host, id)]).ok();
    });
    let _ = installed.ok();
    let _ = host.root(&["dpkg-query", "--show", "asked-one"]).ok();
    let oper = host.root(&["id", "-u", OPERATOR]).ok().trim().to_owned();
    let records = log(&host);
    let of = |event: &str| {
        let is = |record: &&Value| record["event"] == event && record["verb"] == "package.install";
        records.iter().find(is).unwrap_or_else(|| panic!("no {event} record")).clone()
    };
    assert_eq!(of("begin")["approval"]["uids"][0].to_string(), oper);
    assert_eq!(of("approval")["client"]["uid"].to_string(), oper);
    assert_eq!(of("begin")["decision"], "ask");

    // Denied: the reason reaches the person, and exit status 4.
    let denied = while_it_waits(&host, &WRITE, |id| {
        let _ = admin(&host, &["deny", id, "--reason", "use b.txt"]).ok();
    });
    assert_eq!(denied.code, 4, "{denied}");
    assert!(denied.stderr.contains("use b.txt"), "{denied}");

    // A person undoes a change that was allowed without asking.
    let _ = host.shell("echo before >/var/www/html/index.html").ok();
    let _ =
        host.visitor(&["postern", "file", "write", "/var/www/html/index.html", "--content", "after"]).ok();
    let records = log(&host);
    let last = records.iter().rev().find(|record| record["event"] == "end").expect("an end record");
    let id = last["request_id"].as_str().expect("an id");
    let _ = admin(&host, &["undo", id, "--yes"]).ok();
    assert_eq!(host.shell("cat /var/www/html/index.html").ok(), "before\n");
    let _ = host.root(&["postern-admin", "audit", "verify"]).ok();
}

fn the_agents_user_cannot_agree_to_anything(release: Release) {
    let host = host(release);
    let denied = while_it_waits(&host, &WRITE, |id| {
        let digest = digest_of(&host, id);
        let approve = ["approve", id, "--digest", &digest];
        let try_as = |user: &str, command: &[&str]| host.run(user, &[&["postern-admin"], command].concat());
        // Neither the agent's user nor a person without the group reaches the socket.
        for user in ["postern", "visitor"] {
            let refused = try_as(user, &approve);
            assert!(refused.code != 0 && refused.stderr.contains("postern-operators"), "{refused}");
        }
        // In the group the agent's user reaches it, and is refused for being a client.
        let _ = host.root(&["usermod", "--append", "--groups", "postern-operators", "postern"]).ok();
        let calls: [&[&str]; 6] =
            [&["pending"], &["show", id], &approve, &["deny", id], &["pause"], &["resume"]];
        for command in calls {
            let refused = try_as("postern", command);
            assert!(refused.code != 0 && refused.stderr.contains("client"), "{refused}");
        }
        let group = host.run_with(&["User=nobody", "Group=postern-operators"], &["postern-admin", "pending"]);
        assert_eq!(group.code, 0, "the control: another member of the group may: {group}");
        assert!(!host.shell("ls /var/www/html").ok().contains("a.txt"));
        let _ = admin(&host, &["deny", id]).ok();
    });
    assert_eq!(denied.code, 4, "{denied}");
    let records = log(&host);
    assert_eq!(records.iter().filter(|record| record["event"] == "approval").count(), 1, "the denial alone");
    assert!(!records.iter().any(|record| record["event"] == "begin" && record["verb"] == "file.write"));
}

fn waiting_requests_end_with_a_killed_recorder_and_a_pause_does_not(release: Release) {
    let host = host(release);
    let mut late = None;
    let ended = while_it_waits(&host, &WRITE, |id| {
        let digest = digest_of(&host, id);
        host.kill("postern-audit.service", "KILL");
        late = Some(admin(&host, &["approve", id, "--digest", &digest]));
    });
    assert_eq!(ended.code, 4, "{ended}");
    assert!(late.is_some_and(|late| late.code != 0));
    let records = log(&host);
    let expired =
        |record: &Value| record["verb"] == "file.write" && record["outcome"]["code"] == "approval_expired";
    assert!(records.iter().any(expired), "{records:#?}");
    assert!(!host.shell("ls /var/www/html").ok().contains("a.txt"));

    let _ = admin(&host, &["pause", "--reason", "looking into it"]).ok();
    let page = ["postern", "file", "write", "/var/www/html/index.html", "--content", "x"];
    for _ in 0..2 {
        let refused = host.visitor(&page);
        assert!(refused.code == 3 && refused.stderr.contains("looking into it"), "{refused}");
        host.kill("postern-audit.service", "KILL");
    }
    assert!(admin(&host, &["status"]).ok().contains("looking into it"));
    let _ = admin(&host, &["resume"]).ok();
    let _ = host.visitor(&page).ok();
}
