//! The chain of records: form, escapes, torn lines, and a log that can't be written.

use crate::common::{CLIENT_UID, World, meta, open_audit, site_rules, write_request};
use postern_helper::audit::{Event, Json, Record, rfc3339};
use postern_helper::types::Digest;
use postern_proto::v1::{self as wire, Mode};
use std::io::Write;
use std::time::Duration;

/// Checks the chain as CONTRACTS 7 says, on bytes; returns how many records it has.
fn verify(text: &str) -> usize {
    let mut prev = Digest::ZERO.to_string();
    let mut count = 0;
    for line in text.lines() {
        let (signed, hash) = line.rsplit_once(",\"hash\":\"").unwrap();
        assert!(signed.ends_with(&format!(",\"prev\":\"{prev}\"")), "{line}");
        assert_eq!(hash, format!("{}\"}}", Digest::of(&[signed.as_bytes()])), "{line}");
        hash.trim_end_matches("\"}").clone_into(&mut prev);
        count += 1;
        let json: serde_json::Value = serde_json::from_str(line).unwrap();
        assert_eq!(json["seq"], count);
    }
    count
}

#[test]
fn every_record_is_one_line_of_the_chain_across_restarts() {
    let mut world = World::new(site_rules);
    for round in 0..3 {
        let mut channel = world.connect(CLIENT_UID);
        channel.ask("Helper/FileWrite", &write_request(&world.text("site/a.html"), &[b'0' + round], "any"));
        channel.ask("Helper/FileWrite", &write_request("/etc/x", b"", "any"));
        world.restart();
    }
    // start, and thrice begin, end, refused, start.
    assert_eq!(verify(&format!("{}\n", world.log().join("\n"))), 1 + 3 * 4);
}

#[test]
fn hostile_words_cannot_end_a_line_or_drive_a_terminal() {
    let world = World::new(site_rules);
    let mut request = write_request(&world.text("site/a.html"), b"x", "any");
    let evil = "a\"b\\c\u{202e}\u{2028}\u{200f}\u{2066}d";
    request.meta.as_mut().unwrap().reason = evil.to_owned();
    assert_eq!(world.connect(CLIENT_UID).ask("Helper/FileWrite", &request).code, 0);
    request.meta = meta(Mode::Execute);
    request.meta.as_mut().unwrap().reason = "a\nb\u{1b}[2J".to_owned();
    assert_eq!(
        world.connect(CLIENT_UID).ask("Helper/FileWrite", &request).refused().code,
        "invalid_argument"
    );
    let log = world.log();
    verify(&log.join("\n"));
    let begin = log.iter().find(|line| line.contains("\"begin\"")).unwrap();
    assert!(begin.is_ascii(), "{begin}");
    let json: serde_json::Value = serde_json::from_str(begin).unwrap();
    assert_eq!(json["args"]["reason"], evil);
}

#[test]
fn control_and_bidi_characters_are_escaped_and_all_else_is_kept() {
    let text: String = ('\u{0}'..='\u{2fff}').collect();
    let json = Json::new().text("t", &text).to_string();
    assert!(!json.chars().any(
        |c| c.is_control() || matches!(c, '\u{2028}'..='\u{202e}' | '\u{2066}'..='\u{2069}' | '\u{61c}')
    ));
    let back: serde_json::Value = serde_json::from_str(&json).unwrap();
    assert_eq!(back["t"], text);
}

#[test]
fn a_torn_last_line_stays_and_is_told_of() {
    let directory = tempfile::tempdir_in(env!("CARGO_TARGET_TMPDIR")).unwrap();
    let path = directory.path().join("audit.jsonl");
    open_audit(directory.path()).note(Event::Start, &Record::default()).unwrap();
    let torn = b"{\"v\":1,\"seq\":2,\"ti";
    std::fs::OpenOptions::new().append(true).open(&path).unwrap().write_all(torn).unwrap();
    for _ in 0..2 {
        open_audit(directory.path()).note(Event::Start, &Record::default()).unwrap();
    }
    let text = std::fs::read_to_string(&path).unwrap();
    let lines: Vec<&str> = text.lines().collect();
    assert_eq!((lines.len(), lines[1].as_bytes()), (5, torn.as_slice()));
    let record: serde_json::Value = serde_json::from_str(lines[2]).unwrap();
    assert_eq!(
        (&record["event"], &record["size"], &record["seq"]),
        (&"torn".into(), &torn.len().into(), &2.into())
    );
    assert_eq!(record["sha256"], Digest::of(&[torn]).to_string());
    verify(&[lines[0], lines[2], lines[3], lines[4]].join("\n"));
}

#[test]
fn a_foreign_end_is_told_of_as_torn() {
    let directory = tempfile::tempdir_in(env!("CARGO_TARGET_TMPDIR")).unwrap();
    let path = directory.path().join("audit.jsonl");
    std::fs::write(&path, "hello\n").unwrap();
    open_audit(directory.path());
    let text = std::fs::read_to_string(&path).unwrap();
    assert!(text.lines().nth(2).unwrap().contains("\"event\":\"torn\",\"size\":6"), "{text}");
}

#[test]
fn without_a_log_no_effect_is_performed() {
    let world = World::new(site_rules);
    std::fs::rename(world.path("log"), world.path("away")).unwrap();
    let path = world.text("site/a.html");
    let mut channel = world.connect(CLIENT_UID);
    for mode in [Mode::Execute, Mode::Preview, Mode::Check] {
        let request = wire::FileWriteRequest { meta: meta(mode), ..write_request(&path, b"x", "any") };
        assert_eq!(channel.ask("Helper/FileWrite", &request).refused().code, "audit_unavailable", "{mode:?}");
    }
    assert!(!std::path::Path::new(&path).exists());
    // It goes on by itself once there is a log again.
    std::fs::rename(world.path("away"), world.path("log")).unwrap();
    assert_eq!(channel.ask("Helper/FileWrite", &write_request(&path, b"x", "any")).code, 0);
    verify(&world.log().join("\n"));
    assert!(std::path::Path::new(&path).exists());
}

#[test]
fn times_are_rfc_3339() {
    for (seconds, text) in [
        (0, "1970-01-01T00:00:00.000001Z"),
        (951_782_400, "2000-02-29T00:00:00.000001Z"),
        (1_709_251_199, "2024-02-29T23:59:59.000001Z"),
        (1_795_234_394, "2026-11-21T04:13:14.000001Z"),
        (4_102_444_800, "2100-01-01T00:00:00.000001Z"),
    ] {
        assert_eq!(rfc3339(Duration::new(seconds, 1_000)), text);
    }
}
