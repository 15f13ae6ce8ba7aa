//! Rules for people, on the installed system: the kernel says who a session is of, and nobody else can use it.

use std::thread;
use std::time::Duration;

use postern_tests::{Installed, Output, Release, on_each_release};
use serde_json::{Value, json};

on_each_release!(
    a_rule_with_people_is_for_those_whose_session_is_open,
    who_asked_cannot_approve_where_the_rule_says_so,
);

const RULES: &str = r#"
[[rule]]
id = "of-ann"
client = "agent"
verbs = ["file.write"]
directories = ["/var/www/html"]
files = ["ann-*.txt"]
people = ["ann"]
decision = "allow"
justification = "a test"
accept_risk = { "*" = "a test" }

[[rule]]
id = "of-web"
client = "agent"
verbs = ["file.write"]
directories = ["/var/www/html"]
files = ["web-*.txt"]
people = ["group:web"]
decision = "ask"
approvers_exclude_asker = true
justification = "a colleague agrees"
accept_risk = { "*" = "a test" }
"#;

/// Ann, who is of group web and may approve; Bob, who is neither; an operator.
fn host(release: Release) -> Installed {
    let host = Installed::on(release);
    let _ = host
        .shell(
            "groupadd web; useradd -m -G postern-users,postern-operators,web ann; useradd -m -G postern-users bob; \
             useradd -m -G postern-operators oper; mkdir -p /var/www/html",
        )
        .ok();
    host.grant(RULES);
    host
}

fn write(host: &Installed, person: &str, file: &str) -> Output {
    let path = format!("/var/www/html/{file}");
    host.run(person, &["postern", "file", "write", &path, "--content", person])
}

/// The records of this event about a file.
fn records(host: &Installed, event: &str, file: &str) -> Vec<Value> {
    let log = host.shell("cat /var/log/postern/audit.jsonl").ok();
    let all = log.lines().map(|line| serde_json::from_str::<Value>(line).expect("JSON"));
    all.filter(|record| record["event"] == event && record["args"].to_string().contains(file)).collect()
}

fn uid(host: &Installed, name: &str) -> Value {
    host.root(&["id", "-u", name]).ok().trim().parse::<u32>().expect("a uid").into()
}

fn a_rule_with_people_is_for_those_whose_session_is_open(release: Release) {
    let host = host(release);
    let (ann, bob) = (uid(&host, "ann"), uid(&host, "bob"));
    let _ = write(&host, "ann", "ann-1.txt").ok();
    let begin = records(&host, "begin", "ann-1.txt").remove(0);
    assert_eq!((&begin["asked_by"]["uid"], &begin["claimed_by"]["uid"]), (&ann, &ann), "{begin}");
    assert_eq!((&begin["asked_by"]["proof"], &begin["asked_by"]["open"]), (&json!("kernel"), &json!(true)));
    assert_eq!(begin["rule"], "of-ann");

    let refused = write(&host, "bob", "ann-2.txt");
    assert_eq!(refused.code, 3, "{refused}");
    let refusal = records(&host, "refused", "ann-2.txt").remove(0);
    assert_eq!(refusal["asked_by"]["uid"], bob, "{refusal}");
    // The person of a request through the agent is no uid that a client names: bob's own connection has no rule at all.
    let direct = host
        .run("bob", &["postern", "--direct", "file", "write", "/var/www/html/ann-3.txt", "--content", "bob"]);
    assert_ne!(direct.code, 0, "{direct}");
    let _ = host.shell("! ls /var/www/html/ann-2.txt /var/www/html/ann-3.txt").ok();

    let show = |person| host.root(&["postern-admin", "audit", "show", "--person", person, "--with-session"]);
    let (of_ann, of_bob) = (show("ann").ok(), show("bob").ok());
    assert!(of_ann.contains("ann-1.txt") && !of_ann.contains("ann-2.txt"), "{of_ann}");
    assert!(of_bob.contains("ann-2.txt") && !of_bob.contains("ann-1.txt"), "{of_bob}");

    // Who has left postern-users has no session, and the agent takes no order of theirs.
    let _ = host.shell("gpasswd --delete ann postern-users").ok();
    let left = write(&host, "ann", "ann-4.txt");
    assert_ne!(left.code, 0, "{left}");
    let _ = host.shell("! ls /var/www/html/ann-4.txt").ok();
}

fn who_asked_cannot_approve_where_the_rule_says_so(release: Release) {
    let host = host(release);
    let refused = write(&host, "bob", "web-1.txt");
    assert_eq!(refused.code, 3, "{refused}");
    thread::scope(|scope| {
        let asked = scope.spawn(|| write(&host, "ann", "web-2.txt"));
        let answers = decide(&host);
        let done = asked.join().expect("ann's command");
        let [own, others] = answers.expect("a request that waits");
        assert_ne!(own.code, 0, "{own}");
        assert!(own.stderr.contains("a session of yours was quoted"), "{own}");
        let _ = others.ok();
        let _ = done.ok();
    });
    let begin = records(&host, "begin", "web-2.txt").remove(0);
    assert_eq!(begin["asked_by"]["uid"], uid(&host, "ann"), "{begin}");
    assert_eq!(begin["approval"]["uids"], json!([uid(&host, "oper")]), "{begin}");
    assert_eq!(host.shell("cat /var/www/html/web-2.txt").ok(), "ann");
}

/// Has Ann, who asked, and then the operator approve what waits. None if nothing does within 10 s.
fn decide(host: &Installed) -> Option<[Output; 2]> {
    for _ in 0..200 {
        let pending = host.root(&["postern-admin", "pending", "--json"]).json();
        if let Some(id) = pending["pending"][0]["approval_id"].as_str() {
            let shown = host.root(&["postern-admin", "show", id, "--json"]).json();
            let digest = shown["sha256"].as_str().expect("a digest");
            let approve = ["postern-admin", "approve", id, "--digest", digest];
            return Some(["ann", "oper"].map(|person| host.run(person, &approve)));
        }
        thread::sleep(Duration::from_millis(50));
    }
    None
}
