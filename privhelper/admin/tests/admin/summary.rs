//! `audit summary` counts what happened, by whom and under which rule.

use crate::log::{Log, sample};
use crate::support::TestHost;
use postern_admin::io::Exit;
use serde_json::{Value, json};
use std::fs;

fn host() -> TestHost {
    let host = TestHost::new("");
    let mut log = sample();
    let who = ",\"client\":{\"name\":\"agent\",\"uid\":990,\"gid\":990,\"pid\":7}";
    let refused = ",\"verb\":\"file.read\",\"decision\":\"deny\",\"outcome\":{\"status\":\"refused\",\"code\":\"no_grant\"}";
    log.add("refused", &format!("{who}{refused}")).add("refused", &format!("{who}{refused}"));
    log.add("previewed", &format!("{who},\"verb\":\"file.write\",\"rule\":\"site\",\"decision\":\"allow\""));
    log.add(
        "pending",
        &format!("{who},\"verb\":\"unit.restart\",\"rule\":\"ask-first\",\"decision\":\"ask\""),
    );
    log.add("begin", &format!("{who},\"verb\":\"unit.restart\",\"rule\":\"ask-first\",\"decision\":\"ask\""));
    let failed = ",\"outcome\":{\"status\":\"failed\",\"code\":\"unit_failed\"}";
    log.add(
        "end",
        &format!("{who},\"verb\":\"unit.restart\",\"rule\":\"ask-first\",\"decision\":\"ask\"{failed}"),
    );
    fs::write(host.host.log.join("audit.jsonl"), &log.bytes).unwrap();
    host
}

fn tally(hits: u64, failed: u64, asked: u64, previewed: u64, refused: u64) -> Value {
    json!({ "hits": hits, "failed": failed, "asked": asked, "previewed": previewed, "refused": refused })
}

#[test]
fn counts_requests_by_verb_rule_client_person_decision_and_code() {
    let ran = host().run(&["audit", "summary", "--json"]);
    assert_eq!(ran.exit, Exit::Done);
    let summary: Value = serde_json::from_str(&ran.out).unwrap();
    assert_eq!((&summary["records"], &summary["unreadable"]), (&16.into(), &0.into()));
    assert_eq!(summary["verbs"]["package.install"], tally(4, 0, 0, 0, 0));
    assert_eq!(summary["verbs"]["file.read"], tally(0, 0, 0, 0, 2));
    assert_eq!(summary["rules"]["ask-first"], tally(1, 1, 1, 0, 0));
    assert_eq!(summary["rules"]["site"], tally(0, 0, 0, 1, 0));
    assert_eq!(summary["clients"]["agent"], tally(5, 1, 1, 1, 2));
    assert_eq!(summary["claimed_by"]["1000"], tally(4, 0, 0, 0, 0));
    assert_eq!(summary["decisions"], json!({ "allow": 5, "ask": 1, "deny": 2 }));
    assert_eq!(summary["codes"], json!({ "no_grant": 2, "unit_failed": 1 }));
    assert_eq!(summary["events"]["begin"], 5);
}

#[test]
fn prints_tables_of_the_selected_records() {
    let text = host().run(&["audit", "summary"]).out;
    for row in [
        "16 records from 2026-11-21T04:13:14",
        "VERB  ",
        "package.install  ",
        "REFUSED OR FAILED  ",
        "no_grant  ",
    ] {
        assert!(text.contains(row), "no {row:?} in\n{text}");
    }
    let text = host().run(&["audit", "summary", "--decision", "ask"]).out;
    assert!(text.starts_with("3 records") && !text.contains("no_grant"), "{text}");
    assert_eq!(host().run(&["audit", "summary", "--person", "nobody-here"]).exit, Exit::Usage);
}

#[test]
fn escapes_control_characters_and_bounds_the_number_of_names() {
    let host = TestHost::new("");
    let mut log = Log::new();
    log.add("served", ",\"verb\":\"\u{202e}x\u{1b}[2J\"");
    for number in 0..10_100 {
        log.add("served", &format!(",\"verb\":\"v{number}\""));
    }
    fs::write(host.host.log.join("audit.jsonl"), &log.bytes).unwrap();
    let ran = host.run(&["audit", "summary", "--json"]);
    let summary: Value = serde_json::from_str(&ran.out).unwrap();
    assert_eq!(summary["verbs"].as_object().unwrap().len(), 10_001);
    assert_eq!(summary["verbs"]["(others)"]["hits"], 100);
    let text = host.run(&["audit", "summary"]).out;
    assert!(!ran.out.contains('\u{202e}') && !text.contains(['\u{202e}', '\u{1b}']));
}
