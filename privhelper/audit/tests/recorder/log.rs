//! The chain of records: form, torn lines, a log that cannot be written, and what `AUDIT.md` says of it.

use crate::common::{Root, World, new_id};
use crate::reader::{epoch0, location};
use postern_audit::log::{Asker, AuditLog, Event, Limits, Record, size_and_digest};
use postern_peers::Class;
use postern_peers::Peer;
use postern_policy::types::Digest;
use postern_proto::root::v1 as root;
use postern_record::Json;
use std::io::Write;
use std::path::Path;

/// Checks the chain as `AUDIT.md` specifies it, on bytes; returns the number of records.
fn verify(lines: &[String]) -> usize {
    let mut prev = Digest::ZERO.to_string();
    for (line, seq) in lines.iter().zip(1..) {
        let (signed, hash) = line.rsplit_once(",\"hash\":\"").unwrap();
        assert!(signed.ends_with(&format!(",\"prev\":\"{prev}\"")), "{line}");
        assert_eq!(hash, format!("{}\"}}", Digest::of(&[signed.as_bytes()])), "{line}");
        hash.trim_end_matches("\"}").clone_into(&mut prev);
        let json: serde_json::Value = serde_json::from_str(line).unwrap();
        assert_eq!(json["seq"], seq);
    }
    lines.len()
}

fn open(directory: &Path) -> AuditLog {
    AuditLog::open(&location(directory)).unwrap()
}

fn directory() -> tempfile::TempDir {
    tempfile::tempdir_in(env!("CARGO_TARGET_TMPDIR")).unwrap()
}

#[test]
fn every_record_is_one_line_of_the_chain_across_restarts() {
    let mut world = World::new();
    Root::willing(&world.host.files);
    for _ in 0..3 {
        world.run(world.claim(&new_id())).completed();
        let stale = root::Claim { policy: "0".repeat(64), ..world.claim(&new_id()) };
        assert_eq!(
            world.run(root::Claim { policy: Digest::ZERO.to_string(), ..stale }).refused(),
            "plan_changed"
        );
        world.restart();
    }
    // start, and thrice begin, end, refused, start.
    assert_eq!(verify(&world.log()), 1 + 3 * 4);
}

#[test]
fn claims_cannot_end_a_line_or_drive_a_terminal() {
    let world = World::new();
    Root::willing(&world.host.files);
    let evil = "a\"b\\c\u{202e}\u{2028}\u{200f}\u{2066}d";
    let claim = root::Claim { reason: evil.to_owned(), ..world.claim(&new_id()) };
    world.run(claim).completed();
    let log = world.log();
    verify(&log);
    assert!(log.iter().all(|line| line.is_ascii()), "{log:?}");
    assert_eq!(world.records("begin")[0]["args"]["reason"], evil);
}

#[test]
fn a_torn_last_line_stays_and_is_recorded() {
    let directory = directory();
    let path = directory.path().join("audit.jsonl");
    open(directory.path()).note(Event::Start, &Record::default()).unwrap();
    let torn = b"{\"v\":1,\"seq\":2,\"ti";
    std::fs::OpenOptions::new().append(true).open(&path).unwrap().write_all(torn).unwrap();
    for _ in 0..2 {
        open(directory.path()).note(Event::Start, &Record::default()).unwrap();
    }
    let text = std::fs::read_to_string(&path).unwrap();
    let lines: Vec<String> = text.lines().map(str::to_owned).collect();
    assert_eq!((lines.len(), lines[1].as_bytes()), (5, torn.as_slice()));
    let record: serde_json::Value = serde_json::from_str(&lines[2]).unwrap();
    let (event, size, seq) = ("torn".into(), torn.len().into(), 2.into());
    assert_eq!((&record["event"], &record["size"], &record["seq"]), (&event, &size, &seq));
    assert_eq!(record["sha256"], Digest::of(&[torn]).to_string());
    verify(&[&lines[..1], &lines[2..]].concat());
}

#[test]
fn foreign_bytes_at_the_end_are_recorded_as_torn() {
    let directory = directory();
    let path = directory.path().join("audit.jsonl");
    std::fs::write(&path, "hello\n").unwrap();
    open(directory.path());
    let text = std::fs::read_to_string(&path).unwrap();
    assert!(text.lines().nth(2).unwrap().contains("\"event\":\"torn\",\"size\":6"), "{text}");
}

#[test]
fn refuses_effects_while_the_log_cannot_be_written_and_recovers() {
    let world = World::new();
    let files = Root::willing(&world.host.files);
    std::fs::rename(world.path("log"), world.path("away")).unwrap();
    let id = new_id();
    assert_eq!(world.run(world.claim(&id)).refused(), "audit_unavailable");
    assert_eq!((files.executed().len(), world.recall(&id).state.as_str()), (0, "unknown"));
    std::fs::rename(world.path("away"), world.path("log")).unwrap();
    world.run(world.claim(&id)).completed();
    verify(&world.log());
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

/// The first and second cells of a table of `AUDIT.md`.
fn table(heading: &str) -> Vec<(String, String)> {
    let text = std::fs::read_to_string(concat!(env!("CARGO_MANIFEST_DIR"), "/AUDIT.md")).unwrap();
    let part = text.split(heading).nth(1).unwrap().split("\n## ").next().unwrap().to_owned();
    let rows = part.lines().filter(|line| line.starts_with("| `"));
    let cells = rows.map(|row| row.split('|').map(|cell| cell.trim().to_owned()).collect::<Vec<_>>());
    cells.map(|cells| (cells[1].trim_matches('`').to_owned(), cells[2].clone())).collect()
}

#[test]
fn audit_md_lists_every_member_in_order() {
    let one = || Json::new().number("x", 1);
    let full = Record {
        claim: root::Claim {
            request_id: "r".to_owned(),
            trace_id: "t".to_owned(),
            task: "t".to_owned(),
            client: "agent".to_owned(),
            claimed_uid: 1,
            verb: "v".to_owned(),
            rule: "r".to_owned(),
            decision: "allow".to_owned(),
            policy: "p".to_owned(),
            ..root::Claim::default()
        },
        client: Some(Peer { uid: 1, gid: 1, pid: 77 }),
        args: one(),
        risk: one(),
        plan: one(),
        approval: one(),
        outcome: one(),
        duration_us: Some(1),
        undo: one(),
        ..Record::default()
    };
    let directory = directory();
    std::fs::write(location(directory.path()).next, epoch0().encode()).unwrap();
    let asker = Asker { uid: 1, session: "0123456789abcdef".to_owned(), open: true };
    open(directory.path()).begin(&Record { asked_by: Some(asker), ..full }).unwrap();
    let text = std::fs::read_to_string(directory.path().join("audit.jsonl")).unwrap();
    let listed: Vec<String> =
        table("## A line").iter().map(|(name, _)| name.split('{').next().unwrap().to_owned()).collect();
    assert_eq!(names(text.trim_end()), listed);
    assert!(text.contains(r#""client":{"name":"agent","uid":1,"gid":1,"pid":77},"claimed_by":{"uid":1}"#));
}

#[test]
fn audit_md_lists_every_event_with_its_own_members() {
    let listed = table("## Events");
    let events: Vec<&str> = listed.iter().map(|(name, _)| name.as_str()).collect();
    let built: Vec<&str> = Event::ALL.iter().map(|event| event.as_str()).collect();
    assert_eq!(events.len(), built.len());
    assert!(built.iter().all(|event| events.contains(event)), "{built:?}");
    // One record of each kind that has members of its own: of the log itself, and of a request.
    let directory = directory();
    let location = location(directory.path());
    std::fs::write(&location.next, epoch0().encode()).unwrap();
    let path = directory.path().join("audit.jsonl");
    open(directory.path()).durable(Event::Start, &Record::default()).unwrap();
    std::fs::OpenOptions::new().append(true).open(&path).unwrap().write_all(b"torn").unwrap();
    let log = open(directory.path());
    log.sign().unwrap();
    let own = size_and_digest(1, Digest::of(&[b"x"]));
    log.note(Event::Malformed, &Record { own, ..Record::default() }).unwrap();
    log.limit(Limits { per_minute: 1, ..Limits::default() });
    log.admit(1, Class::Effect).unwrap();
    log.admit(1, Class::Effect).unwrap_err();
    log.limit(Limits { max_bytes: 1, ..Limits::default() });
    let before = std::fs::read_to_string(&path).unwrap();
    log.tick();
    std::fs::remove_file(&path).unwrap();
    log.stop().unwrap();
    let away = std::fs::read_to_string(directory.path().join("audit-000000000001.jsonl")).unwrap();
    let world = World::new();
    Root::willing(&world.host.files);
    world.run(world.claim(&new_id())).completed();
    let all = [before, away, std::fs::read_to_string(&path).unwrap(), world.log().join("\n")].concat();
    let members = table("## A line").into_iter().map(|(name, _)| name.split('{').next().unwrap().to_owned());
    let common = members.collect::<Vec<_>>();
    let of_requests = ["pending", "refused", "served", "interrupted", "not_taken_back"];
    for (event, own) in listed.iter().filter(|(event, _)| event != "rotated") {
        let own = own.split('`').skip(1).step_by(2).map(|name| name.trim_end_matches("[]"));
        let own = own.collect::<Vec<_>>();
        let line = all.lines().find(|line| line.contains(&format!("\"event\":\"{event}\"")));
        if of_requests.contains(&event.as_str()) {
            assert_eq!(own, ["state"], "{event}");
            continue;
        }
        assert!(line.is_some() || own.is_empty(), "{event} has members of its own and no record here");
        let found = line.map(names).unwrap_or_default();
        let found: Vec<&str> =
            found.iter().map(String::as_str).filter(|name| !common.contains(&(*name).to_owned())).collect();
        assert_eq!(found, own, "{event}");
    }
}
