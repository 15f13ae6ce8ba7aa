//! The record of a task on the installed system: its story from both logs, and what becomes of an agent's log that its own
//! user rewrites.

use postern_tests::{Installed, Release};
use serde_json::{Value, json};

const RULES: &str = r#"
[[rule]]
id = "texts"
client = "agent"
verbs = ["file.write", "file.read"]
directories = ["/srv/texts"]
files = ["*.txt"]
decision = "allow"
justification = "a test"
accept_risk = { "*" = "a test" }
"#;

/// A word of a file that no record may have.
const CONTENT: &str = "tangerine";
const LOG: &str = "/var/lib/postern/audit/audit.jsonl";

#[test]
fn a_tasks_story_is_told_from_both_logs_and_a_rewritten_agents_log_is_found() {
    let host = Installed::on(Release::Trixie);
    let _ = host.shell("mkdir -p /srv/texts").ok();
    host.grant(RULES);
    let replies = json!([
        { "tool": "shell", "args": { "cmd": "id -u" } },
        { "tool": "write_file", "args": { "path": "/srv/texts/a.txt", "content": format!("{CONTENT}\n") } },
        { "tool": "finish", "args": { "outcome": "done", "summary": "the text is written" } },
    ]);
    host.with_model(&replies, "");
    let done = host.visitor(&["postern", "run", "--json", "write the flavour into a.txt"]);
    let task = done.json();
    assert_eq!(task["status"], "completed", "{done}\n{}", host.journal("postern-agent.service"));
    let id = task["id"].as_str().expect("an id").to_owned();
    is_anchored(&host);
    the_story_is_told_in_order(&host, &id);
    the_page_is_self_contained(&host, &id);
    nobody_else_reads_it(&host);
    a_rewritten_log_is_found(&host);
}

fn verified(host: &Installed) -> String {
    host.root(&["postern-admin", "audit", "verify"]).stdout
}

/// The end of a task is anchored within seconds.
fn is_anchored(host: &Installed) {
    let _ = host
        .shell(
            "for i in $(seq 150); do postern-admin audit verify | grep -q \"anchored in the recorder's log to its end\" && exit 0; \
             sleep 0.2; done; postern-admin audit verify; exit 1",
        )
        .ok();
}

fn the_story_is_told_in_order(host: &Installed, id: &str) {
    let shown = host.root(&["postern-admin", "audit", "show", "--task", id, "--json"]).ok();
    let records: Vec<Value> = shown.lines().map(|line| serde_json::from_str(line).expect(line)).collect();
    let place = |event: &str, more: &str| {
        let found =
            records.iter().position(|record| record["event"] == event && record.to_string().contains(more));
        found.unwrap_or_else(|| panic!("no {event} {more} in {shown}"))
    };
    let order = [
        place("task_begun", "words"),
        place("model", "ok"),
        place("command", "argv_sha256"),
        place("begin", "file.write"),
        place("end", "file.write"),
        place("task_ended", "completed"),
    ];
    assert!(order.is_sorted(), "{order:?} in {shown}");
    assert!(!shown.contains(CONTENT), "{shown}");
    let argv = host.shell("printf 'id\\0-u\\0' | sha256sum | cut -c1-64").ok();
    assert_eq!(records[place("command", "argv_sha256")]["args"]["argv_sha256"], argv.trim());
    let rows = host.root(&["postern-admin", "audit", "show", "--task", id]).ok();
    assert_eq!(rows.lines().count(), records.len() + 1, "{rows}");
}

fn the_page_is_self_contained(host: &Installed, id: &str) {
    let page = host.root(&["postern-admin", "audit", "show", "--task", id, "--html"]).ok();
    assert!(page.contains("anchored in the recorder") && page.contains("task_ended"), "{page}");
    for forbidden in ["<script", "http://", "https://", "src=", CONTENT] {
        assert!(!page.contains(forbidden), "{forbidden}");
    }
}

fn nobody_else_reads_it(host: &Installed) {
    assert_ne!(host.visitor(&["cat", LOG]).code, 0);
    let modes = host.shell(&format!("stat -c '%U %a' {LOG} /var/lib/postern/audit")).ok();
    assert_eq!(modes, "postern 600\npostern 700\n");
}

/// The agent's user cuts its log and goes on, in a chain that is consistent in itself.
fn a_rewritten_log_is_found(host: &Installed) {
    let whole = host.root(&["cat", LOG]).ok().lines().count();
    let _ = host.root(&["systemctl", "stop", "postern-agent.service", "postern-agent.socket"]);
    is_anchored(host);
    let cut = format!("head -n 2 {LOG} > {LOG}.new && mv {LOG}.new {LOG}");
    let _ = host.run("postern", &["sh", "-c", &cut]).ok();
    let found = verified(host);
    assert!(found.contains("agent's log: NOT VALID") && found.contains("truncation"), "{found}");
    let _ = host.root(&["systemctl", "start", "postern-agent.socket"]).ok();
    for _ in 0..whole {
        let _ = host.visitor(&["postern", "shell", "run", "id -u", "--json"]).ok();
        if host.root(&["cat", LOG]).ok().lines().count() > whole + 2 {
            break;
        }
    }
    let found = verified(host);
    let modified = "modification: record";
    assert!(
        found.contains(modified) && found.contains("is not the one that the recorder's log knows"),
        "{found}"
    );
    assert_ne!(host.root(&["postern-admin", "audit", "verify"]).code, 0);
}
