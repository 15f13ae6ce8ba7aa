//! `audit show` shows what fits, and drives no terminal.

use crate::log::{Log, sample};
use crate::support::TestHost;
use clap::Parser;
use postern_admin::cli::Cli;
use postern_admin::io::Exit;
use serde_json::Value;
use std::fs;
use unicode_width::UnicodeWidthStr;

fn host() -> TestHost {
    let host = TestHost::new("");
    let mut log = sample();
    log.add("refused", ",\"verb\":\"file.read\",\"args\":{\"path\":\"/etc/\u{202e}x\u{7f}\"},\"outcome\":{\"status\":\"refused\",\"code\":\"no_grant\"}");
    fs::write(host.host.log.join("audit.jsonl"), &log.bytes).unwrap();
    host
}

fn rows(host: &TestHost, filter: &[&str]) -> usize {
    let ran = host.run(&[&["audit", "show", "--json"], filter].concat());
    assert_eq!(ran.exit, Exit::Done);
    ran.out.lines().filter(|line| serde_json::from_str::<Value>(line).unwrap().is_object()).count()
}

#[test]
fn a_row_shows_client_verb_object_and_outcome() {
    let ran = host().run(&["audit", "show", "--event", "end", "--last", "1"]);
    let row = ran.out.lines().nth(1).unwrap();
    for words in [
        "2026-11-21 04:13:14",
        " end ",
        "agent(990) claims uid 1000",
        "package.install",
        "nginx-light=1.22 hello -> allow by web -> done in 1.500 s",
    ] {
        assert!(row.contains(words), "no {words:?} in {row}");
    }
}

#[test]
fn tells_a_claim_with_an_open_session_from_a_mere_one() {
    let host = host();
    let mut log = crate::log::Log::new();
    let client = ",\"client\":{\"name\":\"agent\",\"uid\":990,\"gid\":990,\"pid\":7}";
    let asked_by = "\"asked_by\":{\"uid\":1000,\"session\":\"0123456789abcdef\",\"proof\":\"kernel\"}";
    let claimed_by = "\"claimed_by\":{\"uid\":1000}";
    log.add("begin", &format!("{client},{claimed_by},{asked_by},\"verb\":\"file.write\""));
    log.add("begin", &format!("{client},{claimed_by},\"verb\":\"file.write\""));
    std::fs::write(host.host.log.join("audit.jsonl"), &log.bytes).unwrap();
    let ran = host.run(&["audit", "show", "--person", "1000"]);
    let words = ["agent(990) session of uid 1000", "agent(990) claims uid 1000"];
    let rows = ran.out.lines().skip(1).collect::<Vec<_>>();
    assert!(rows.len() == 2 && rows.iter().zip(words).all(|(row, word)| row.contains(word)), "{rows:?}");
    let ran = host.run(&["audit", "show", "--person", "1000", "--with-session"]);
    assert!(ran.out.lines().count() == 2 && ran.out.contains(words[0]), "{}", ran.out);
    let summary: Value = serde_json::from_str(&host.run(&["audit", "summary", "--json"]).out).unwrap();
    assert_eq!([&summary["asked_by"]["1000"]["hits"], &summary["claimed_by"]["1000"]["hits"]], [1, 2]);
}

#[test]
fn filters_select_records() {
    let host = host();
    assert_eq!(rows(&host, &[]), 11);
    assert_eq!(rows(&host, &["--last", "3"]), 3);
    assert_eq!(rows(&host, &["--event", "begin"]), 4);
    assert_eq!(rows(&host, &["--verb", "file.read"]), 1);
    assert_eq!(rows(&host, &["--client", "agent"]), 8);
    assert_eq!(rows(&host, &["--rule", "web", "--event", "end"]), 4);
    assert_eq!(rows(&host, &["--request", "0199a0b0-0000-7000-8000-000000000002"]), 2);
    assert_eq!(rows(&host, &["--request", "0199a0b0"]), 8);
    assert_eq!(rows(&host, &["--request", "0299"]), 0);
}

#[test]
fn filters_select_by_time_person_task_and_outcome() {
    let host = host();
    assert_eq!(rows(&host, &["--since", "2026-11-21"]), 11);
    assert_eq!(rows(&host, &["--since", "2026-11-21 04:13:14.000005"]), 5);
    assert_eq!(rows(&host, &["--until", "2026-11-21T04:13:14.000003Z"]), 4);
    assert_eq!(rows(&host, &["--until", "2026-11-21 04:13"]), 0);
    assert_eq!(rows(&host, &["--since", "2026-11-21 04:14"]), 0);
    assert_eq!(rows(&host, &["--person", "1000"]), 8);
    assert_eq!(rows(&host, &["--person", "root"]), 0);
    assert_eq!(rows(&host, &["--client", "990"]), 8);
    assert_eq!(rows(&host, &["--task", "t1"]), 0);
    assert_eq!(rows(&host, &["--decision", "allow"]), 8);
    assert_eq!(rows(&host, &["--outcome", "done"]), 4);
    assert_eq!(rows(&host, &["--outcome", "no_grant"]), 1);
    assert_eq!(rows(&host, &["--boot"]), 11);
    let path = host.host.log.join("audit.jsonl");
    assert_eq!(rows(&host, &[path.to_str().unwrap(), "--event", "stop"]), 1);
    for wrong in ["2026", "2026-13-01", "2026-11-21 25:00", "tomorrow", "2026-11-21T04:13:14+01:00", "0d"] {
        let words = ["postern-admin", "audit", "show", "--since", wrong];
        assert!(Cli::try_parse_from(words).is_err(), "{wrong}");
    }
}

#[test]
fn columns_are_aligned_for_wide_characters() {
    let host = TestHost::new("");
    let mut log = Log::new();
    for name in ["agent", "\u{8cb4}\u{65b9}", "e\u{301}"] {
        let client = format!(",\"client\":{{\"name\":\"{name}\",\"uid\":990}},\"verb\":\"unit.status\"");
        log.add("served", &client);
    }
    fs::write(host.host.log.join("audit.jsonl"), &log.bytes).unwrap();
    let out = host.run(&["audit", "show"]).out;
    let width = |line: &str| line.split("unit.status").next().unwrap().width();
    let widths = out.lines().skip(1).map(width).collect::<Vec<_>>();
    assert!(widths.windows(2).all(|pair| pair[0] == pair[1]), "{out}");
}

#[test]
fn shows_records_about_the_log_itself() {
    let host = TestHost::new("");
    let mut log = Log::new();
    log.boot(0, true).add("rotated", ",\"file\":\"audit-000000000001.jsonl\",\"kept\":1");
    log.add("suppressed", ",\"uid\":990,\"count\":7,\"first\":\"a\",\"last\":\"b\"");
    fs::write(host.host.log.join("audit.jsonl"), &log.bytes).unwrap();
    let out = host.run(&["audit", "show"]).out;
    for words in
        ["signed, epoch 0", "audit-000000000001.jsonl is put away", "7 requests of uid 990 between a and b"]
    {
        assert!(out.contains(words), "no {words:?} in\n{out}");
    }
}

#[test]
fn control_and_bidi_characters_are_escaped_in_both_forms() {
    let host = host();
    let text = host.run(&["audit", "show", "--verb", "file.read"]).out;
    assert!(text.contains("/etc/\\u{202e}x\\u{7f}"), "{text:?}");
    let json = host.run(&["audit", "show", "--verb", "file.read", "--json"]).out;
    assert!(json.contains("/etc/\\u202ex\\u007f"), "{json:?}");
    for out in [text, json] {
        assert!(!out.contains(['\u{202e}', '\u{7f}']), "{out:?}");
    }
}

#[test]
fn reports_and_skips_lines_that_are_not_records() {
    let host = TestHost::new("");
    let mut log = sample();
    log.add_torn(b"{\"v\":1,\"se\x1b[2J");
    fs::write(host.host.log.join("audit.jsonl"), &log.bytes).unwrap();
    let ran = host.run(&["audit", "show"]);
    assert_eq!(ran.exit, Exit::Done);
    assert!(ran.err.contains("audit.jsonl:11: no record"), "{}", ran.err);
    assert!(ran.out.contains(" torn "), "{}", ran.out);
    assert!(!ran.out.contains('\u{1b}') && !ran.err.contains('\u{1b}'));
}
