//! The chain of records: form, escapes, torn lines, and a log that can't be written.

use crate::common::{CLIENT_UID, World, meta, open_audit, site_rules, write_request};
use postern_helper::audit::{Audit, Event, Json, Limits, Record, bytes, rfc3339};
use postern_policy::types::Digest;
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

#[test]
fn goldens_of_control_characters() {
    for (text, written) in [
        ("\u{1b}[2J", r#""t":"\u001b[2J""#),
        ("a\r\nb\tc", r#""t":"a\u000d\u000ab\u0009c""#),
        ("\0", r#""t":"\u0000""#),
        ("\u{202e}evil\u{202c}", r#""t":"\u202eevil\u202c""#),
        ("\u{9b}31m\u{7f}", r#""t":"\u009b31m\u007f""#),
        (r#"\n"x"#, r#""t":"\\n\"x""#),
        ("\u{fffd}\u{e9}", "\"t\":\"\u{fffd}\u{e9}\""),
    ] {
        assert_eq!(Json::new().text("t", text).members(), written);
    }
}

#[test]
fn bytes_that_are_no_text_are_recorded_as_size_and_digest_alone() {
    // A lone surrogate, as WTF-8 has it: no UTF-8, in a field that is text.
    let world = World::new(site_rules);
    let reason = [0x1a, 0x03, 0xed, 0xa0, 0x80];
    let body = [&[0x0a, 0x05][..], &reason].concat();
    let mut channel = world.connect(CLIENT_UID);
    let stream = channel.send("Helper/FileWrite", &body);
    assert_eq!(channel.answer(stream).code, 3);
    let log = world.log();
    let line = log.last().unwrap();
    let told = format!("\"event\":\"malformed\",\"size\":7,\"sha256\":\"{}\",", Digest::of(&[&body]));
    assert!(line.contains(&told) && line.is_ascii(), "{line}");
    verify(&log.join("\n"));
}

/// The names of an object's members, in order.
fn names(line: &str) -> Vec<String> {
    let (mut depth, mut names, mut rest) = (0, Vec::new(), line);
    while let Some(at) = rest.find(['{', '}', '[', ']', '"']) {
        let c = rest.as_bytes()[at];
        rest = &rest[at + 1..];
        match c {
            b'{' | b'[' => depth += 1,
            b'}' | b']' => depth -= 1,
            _ => {
                let (text, after) = rest.split_once('"').unwrap();
                rest = after;
                if depth == 1 && rest.starts_with(':') {
                    names.push(text.to_owned());
                }
            }
        }
    }
    names
}

/// The first cells of a table of `AUDIT.md`, and their second ones.
fn table(heading: &str) -> Vec<(String, String)> {
    let path = concat!(env!("CARGO_MANIFEST_DIR"), "/../AUDIT.md");
    let text = std::fs::read_to_string(path).unwrap();
    let part = text.split(heading).nth(1).unwrap().split("\n## ").next().unwrap().to_owned();
    let rows = part.lines().filter(|line| line.starts_with("| `"));
    let cells = rows.map(|row| row.split('|').map(|cell| cell.trim().to_owned()).collect::<Vec<_>>());
    cells.map(|cells| (cells[1].trim_matches('`').to_owned(), cells[2].clone())).collect()
}

#[test]
fn audit_md_has_every_member_in_its_place() {
    let one = || Json::new().number("x", 1);
    let full = Record {
        request_id: "r".to_owned(),
        trace_id: "t".to_owned(),
        task: "t".to_owned(),
        client_name: "agent".to_owned(),
        client: Some(crate::common::peer(1)),
        claimed_uid: 1,
        verb: "v".to_owned(),
        args: one(),
        rule: "r".to_owned(),
        decision: "allow",
        risk: one(),
        policy: "p".to_owned(),
        plan: one(),
        approval: one(),
        outcome: one(),
        duration_us: Some(1),
        undo: one(),
        ..Record::default()
    };
    let directory = tempfile::tempdir_in(env!("CARGO_TARGET_TMPDIR")).unwrap();
    std::fs::write(crate::reader::place(directory.path()).next, crate::reader::epoch0().encode()).unwrap();
    open_audit(directory.path()).begin(&full).unwrap();
    let text = std::fs::read_to_string(directory.path().join("audit.jsonl")).unwrap();
    let listed: Vec<String> =
        table("## A line").iter().map(|(name, _)| name.split('{').next().unwrap().to_owned()).collect();
    assert_eq!(names(text.trim_end()), listed);
    assert!(text.contains(r#""client":{"name":"agent","uid":1,"gid":1,"pid":77},"claimed_by":{"uid":1}"#));
}

#[test]
fn audit_md_has_every_event_and_its_own_members() {
    let listed = table("## Events");
    let events: Vec<&str> = listed.iter().map(|(name, _)| name.as_str()).collect();
    let built: Vec<&str> = Event::ALL.iter().map(|event| event.as_str()).collect();
    assert_eq!(events.len(), built.len());
    assert!(built.iter().all(|event| events.contains(event)), "{built:?}");
    // One record of each kind that has members of its own.
    let directory = tempfile::tempdir_in(env!("CARGO_TARGET_TMPDIR")).unwrap();
    let place = crate::reader::place(directory.path());
    std::fs::write(&place.next, crate::reader::epoch0().encode()).unwrap();
    let path = directory.path().join("audit.jsonl");
    let open = || Audit::open(&place).unwrap();
    open().durable(Event::Start, &Record::default()).unwrap();
    std::fs::OpenOptions::new().append(true).open(&path).unwrap().write_all(b"torn").unwrap();
    let audit = open();
    audit.sign().unwrap();
    audit.note(Event::Malformed, &Record { own: bytes(b"x"), ..Record::default() }).unwrap();
    audit.limit(Limits { per_minute: 1, ..Limits::default() });
    let of_client = Record { client: Some(crate::common::peer(1)), ..Record::default() };
    audit.note(Event::Served, &of_client).unwrap();
    audit.admit(1).unwrap_err();
    audit.limit(Limits { max_bytes: 1, ..Limits::default() });
    let before = std::fs::read_to_string(&path).unwrap();
    audit.tick();
    std::fs::remove_file(&path).unwrap();
    audit.stop().unwrap();
    let away = std::fs::read_to_string(directory.path().join("audit-000000000001.jsonl")).unwrap();
    let all = [before, away, std::fs::read_to_string(&path).unwrap()].concat();
    let common = ["v", "seq", "time", "boot_id", "event", "client", "outcome", "prev", "hash", "seal"];
    for (event, own) in listed.iter().filter(|(event, _)| event != "rotated") {
        let told =
            own.split('`').skip(1).step_by(2).map(|name| name.trim_end_matches("[]")).collect::<Vec<_>>();
        let line = all.lines().find(|line| line.contains(&format!("\"event\":\"{event}\"")));
        assert!(line.is_some() || told.is_empty(), "{event} has members of its own and no record here");
        let found = line.map(names).unwrap_or_default();
        let found: Vec<&str> =
            found.iter().map(String::as_str).filter(|name| !common.contains(name)).collect();
        assert_eq!(found, told, "{event}");
    }
}
