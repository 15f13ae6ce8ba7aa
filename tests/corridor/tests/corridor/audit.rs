//! The audit log of requests that took the whole corridor: its chain, its members, and what it keeps out.

use postern_corridor::{
    Answer, CLIENT_UID, OPERATOR, World, changing, eventually, meta, new_id, rule, site_rules, strings,
    write_request,
};
use postern_policy::types::Digest;
use postern_proto::root::v1 as root;
use postern_proto::v1::{self as wire, Mode};
use serde_json::{Value, json};

/// Checks the chain as `privhelper/audit/AUDIT.md` specifies it, on bytes; returns the number of records.
fn verify(lines: &[String]) -> usize {
    let mut prev = Digest::ZERO.to_string();
    for (number, line) in lines.iter().enumerate() {
        let (signed, hash) = line.rsplit_once(",\"hash\":\"").unwrap();
        assert!(signed.ends_with(&format!(",\"prev\":\"{prev}\"")), "{line}");
        assert_eq!(hash, format!("{}\"}}", Digest::of(&[signed.as_bytes()])), "{line}");
        hash.trim_end_matches("\"}").clone_into(&mut prev);
        let json: Value = serde_json::from_str(line).unwrap();
        assert_eq!(json["seq"], number + 1);
    }
    lines.len()
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
    // start, and thrice begin, end, refused, stop, start.
    assert_eq!(verify(&world.log()), 1 + 3 * 5);
}

#[test]
fn hostile_words_cannot_end_a_line_or_drive_a_terminal() {
    let world = World::new(site_rules);
    let mut request = write_request(&world.text("site/a.html"), b"x", "any");
    let evil = "a\"b\\c\u{202e}\u{2028}\u{200f}\u{2066}d";
    request.meta.as_mut().unwrap().reason = evil.to_owned();
    assert_eq!(world.ask("Helper/FileWrite", &request).code, 0);
    request.meta = meta(Mode::Execute);
    request.meta.as_mut().unwrap().reason = "a\nb\u{1b}[2J".to_owned();
    assert_eq!(world.ask("Helper/FileWrite", &request).refused().code, "invalid_argument");
    let log = world.log();
    verify(&log);
    let begin = log.iter().find(|line| line.contains("\"begin\"")).unwrap();
    assert!(begin.is_ascii(), "{begin}");
    assert_eq!(world.records("begin")[0]["args"]["reason"], evil);
}

#[test]
fn without_a_log_nothing_is_answered_and_nothing_happens() {
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
    verify(&world.log());
    assert!(std::path::Path::new(&path).exists());
}

/// The names of a record's members, in their order.
fn members(line: &str) -> Vec<String> {
    let mut names = Vec::new();
    let (mut depth, mut rest) = (0_u32, line);
    while let Some(at) = rest.find(['{', '}', '[', ']', '"']) {
        let (found, after) = (&rest[at..=at], &rest[at + 1..]);
        rest = after;
        match found {
            "{" | "[" => depth += 1,
            "}" | "]" => depth -= 1,
            _ => {
                let end = after.find('"').unwrap();
                rest = &after[end + 1..];
                if depth == 1 && rest.starts_with(':') {
                    names.push(after[..end].to_owned());
                }
            }
        }
    }
    names
}

/// The members of these records but those that differ each time.
fn told(record: &Value, names: &[&str]) -> Value {
    names.iter().map(|name| ((*name).to_owned(), record[*name].clone())).collect()
}

#[test]
fn a_write_is_recorded_with_these_members() {
    let world = World::new(|at| vec![changing(at)]);
    let path = world.text("site/index.html");
    let mut request = write_request(&path, b"hello\n", "absent");
    let carried = request.meta.as_mut().unwrap();
    carried.task = "t1".to_owned();
    carried.claimed_uid = 1000;
    carried.reason = "why".to_owned();
    carried.traceparent = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01".to_owned();
    let answer = world.ask("Helper/FileWrite", &request);
    assert_eq!(answer.code, 0);
    let (begin, end) = (world.records("begin").remove(0), world.records("end").remove(0));
    let sha256 = Digest::of(&[b"hello\n"]).to_string();
    let names = [
        "request_id",
        "trace_id",
        "task",
        "client",
        "claimed_by",
        "verb",
        "args",
        "rule",
        "decision",
        "risk",
        "plan",
    ];
    let wanted = json!({
        "request_id": request.meta.unwrap().request_id,
        "trace_id": "0af7651916cd43dd8448eb211c80319c",
        "task": "t1",
        "client": {"name": "agent", "uid": CLIENT_UID, "gid": CLIENT_UID, "pid": 77},
        "claimed_by": {"uid": 1000},
        "verb": "file.write",
        "args": {"path": path, "size": 6, "sha256": sha256, "expect": "absent", "reason": "why"},
        "rule": "site",
        "decision": "allow",
        "risk": {"score": 40, "capabilities": ["filesystem.write"]},
        "plan": {"files": [{"path": path, "action": "write", "new_size": 6, "new_sha256": sha256, "mode": "0644"}]},
    });
    assert_eq!(told(&begin, &names), wanted);
    assert_eq!(end["outcome"]["status"], "done");
    let file = json!({"path": path, "size": 6, "sha256": sha256, "mode": "0644"});
    assert_eq!(end["outcome"]["files"], json!([file]));
    assert_eq!(end["client"], begin["client"]);
    assert_eq!(end["undo"]["kind"], "file.remove");
    // AUDIT.md's order, absent members left out.
    let order = "v seq time boot_id event order state request_id trace_id task client claimed_by asked_by verb args rule decision \
                 risk policy plan approval outcome duration_us undo prev hash";
    let order = order.split_whitespace().collect::<Vec<_>>();
    for line in world.log() {
        let names = members(&line);
        let places = names.iter().map(|name| order.iter().position(|known| known == name));
        let places = places.collect::<Option<Vec<_>>>().unwrap_or_else(|| panic!("{names:?}"));
        assert!(places.is_sorted(), "{names:?}");
    }
}

#[test]
fn a_units_change_is_recorded_with_these_members() {
    let world = World::new(|_| {
        vec![root::Rule { units: strings(&["nginx.service"]), ..rule("units", &["unit.start"]) }]
    });
    world.systemctl(
        "case $1 in show) printf 'Id=nginx.service\\nNames=nginx.service\\nLoadState=loaded\\nActiveState=active\\nSubState=running\\nUnitFileState=enabled\\n';; esac",
    );
    let request = wire::UnitStartRequest { meta: meta(Mode::Execute), unit: "nginx.service".to_owned() };
    assert_eq!(world.ask("Helper/UnitStart", &request).code, 0);
    let (begin, end) = (world.records("begin").remove(0), world.records("end").remove(0));
    let wanted = json!({
        "verb": "unit.start",
        "args": {"unit": "nginx.service"},
        "rule": "units",
        "decision": "allow",
        "risk": {"score": 50, "capabilities": ["service.mutate"]},
        "plan": {"units": [{"id": "nginx.service", "verb": "start", "active": "active", "enabled": "enabled"}]},
    });
    assert_eq!(told(&begin, &["verb", "args", "rule", "decision", "risk", "plan"]), wanted);
    assert_eq!(end["outcome"]["status"], "unchanged");
    assert_eq!(
        end["outcome"]["unit"],
        json!({"id": "nginx.service", "active": "active", "enabled": "enabled"})
    );
}

#[test]
fn refusals_previews_and_reads_are_recorded_once() {
    let world = World::new(site_rules);
    let path = world.text("site/a.html");
    std::fs::write(&path, "content").unwrap();
    let mut channel = world.connect(CLIENT_UID);
    channel.ask("Helper/FileWrite", &write_request("/etc/x", b"", "any"));
    let preview = wire::FileWriteRequest { meta: meta(Mode::Preview), ..write_request(&path, b"x", "any") };
    channel.ask("Helper/FileWrite", &preview);
    let read = wire::FileReadRequest { meta: meta(Mode::Execute), path: path.clone(), offset: 0, limit: 0 };
    let answer: Answer = channel.ask("Helper/FileRead", &read);
    assert_eq!(answer.content(), b"content");
    let missing = wire::RequestResultRequest { meta: meta(Mode::Execute), of: new_id() };
    channel.ask("Helper/RequestResult", &missing);
    let refused = world.records("refused");
    let outcomes = refused.iter().map(|record| record["outcome"].clone()).collect::<Vec<_>>();
    assert_eq!(outcomes[0]["code"], "no_grant");
    assert_eq!(
        (outcomes[0]["status"].clone(), outcomes[0]["missing"].clone()),
        (json!("refused"), json!("file.write /etc/x"))
    );
    assert_eq!((outcomes.len(), outcomes[1]["code"].clone()), (2, json!("unknown_request")));
    assert_eq!((world.count("previewed"), world.count("served"), world.count("begin")), (1, 1, 0));
    let served = &world.records("served")[0];
    assert_eq!((served["verb"].clone(), served["rule"].clone()), (json!("file.read"), json!("site")));
    assert!(!world.log().join("").contains("content\""), "content is in the log");
}

#[test]
fn people_and_pauses_are_recorded_with_who_they_are() {
    let world = World::new(site_rules);
    let mut operator = world.operator(OPERATOR);
    let pause = wire::OperatorPauseRequest { reason: "look".to_owned() };
    postern_corridor::call::<wire::OperatorPaused>(&mut operator, "Operator/Pause", &pause).unwrap();
    let refused = world.ask("Helper/FileWrite", &write_request(&world.text("site/a.html"), b"x", "any"));
    assert_eq!(refused.refused().code, "paused");
    let resume = wire::OperatorResumeRequest {};
    postern_corridor::call::<wire::OperatorResumed>(&mut operator, "Operator/Resume", &resume).unwrap();
    eventually("it is recorded", || world.count("resumed") == 1);
    let paused = &world.records("paused")[0];
    assert_eq!(
        (paused["client"]["uid"].clone(), paused["outcome"]["detail"].clone()),
        (json!(OPERATOR), json!("look"))
    );
    verify(&world.log());
}
