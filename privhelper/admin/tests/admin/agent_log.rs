//! `audit verify` of the agent's own log: its chain, and the anchors of it in the recorder's.

use crate::log::{Log, lines, sha256};
use crate::support::TestHost;
use postern_admin::io::Exit;
use serde_json::{Value, json};
use std::fs;

/// The uid of `postern serve` in these tests.
const AGENT: u32 = 990;

/// The agent's log of a short task.
fn agents() -> Log {
    let mut log = Log::new();
    let task = ",\"trace_id\":\"0af7651916cd43dd8448eb211c80319c\",\"task\":\"0199a0b0-0000-7000-8000-000000000001\"";
    log.add("start", ",\"version\":\"0.1.0\"");
    log.add("task_begun", &format!("{task},\"person\":{{\"uid\":1000}},\"args\":{{\"work\":\"words\"}}"));
    log.add("command", &format!("{task},\"step\":1,\"outcome\":{{\"status\":\"ok\",\"exit\":0}}"));
    log.add("task_ended", &format!("{task},\"outcome\":{{\"status\":\"completed\"}}"));
    log
}

/// A record by which the recorder notes where a log of this uid ended then.
fn note(recorder: &mut Log, uid: u32, of: &Log) {
    let client = format!(",\"client\":{{\"name\":\"agent\",\"uid\":{uid},\"gid\":990,\"pid\":7}}");
    let args = format!(",\"args\":{{\"seq\":{},\"tip\":\"{}\"}}", of.seq, of.prev);
    recorder.add("note", &format!("{client},\"verb\":\"agent.note\"{args}"));
}

fn write(host: &TestHost, agent: &[u8], recorder: &Log) {
    fs::create_dir_all(&host.host.agent_log).unwrap();
    fs::write(host.host.agent_log.join("audit.jsonl"), agent).unwrap();
    fs::write(host.host.log.join("audit.jsonl"), &recorder.bytes).unwrap();
}

fn verify(host: &TestHost) -> Value {
    let ran = host.run(&["audit", "verify", "--json"]);
    let found: Value = serde_json::from_str(&ran.out).unwrap();
    let is_right = found["valid"] == true && found["agent"]["valid"] != false;
    assert_eq!(ran.exit == Exit::Done, is_right, "{found}");
    found
}

/// What is wrong with these bytes as the agent's log, of which the whole was anchored.
fn wrong(agent: &[u8]) -> String {
    let (host, mut recorder) = (TestHost::new(""), Log::new());
    recorder.add("start", "");
    note(&mut recorder, AGENT, &agents());
    write(&host, agent, &recorder);
    let found = verify(&host);
    assert_eq!(
        (&found["valid"], &found["agent"]["valid"]),
        (&Value::Bool(true), &Value::Bool(false)),
        "{found}"
    );
    let ran = host.run(&["audit", "verify"]);
    assert!(ran.out.contains("\nagent's log: NOT VALID: "), "{}", ran.out);
    found["agent"]["wrong"].as_str().unwrap().to_owned()
}

#[test]
fn the_agents_log_is_valid_as_far_as_it_is_anchored() {
    let (host, mut recorder, mut agent) = (TestHost::new(""), Log::new(), agents());
    recorder.add("start", "");
    write(&host, &agent.bytes, &recorder);
    let said = |host: &TestHost| host.run(&["audit", "verify"]).out;
    assert!(said(&host).contains("not anchored in the recorder's log: its user could have rewritten"));
    note(&mut recorder, AGENT, &agent);
    write(&host, &agent.bytes, &recorder);
    let whole =
        "agent's log: valid: 4 records (1 to 4) in 1 file, anchored in the recorder's log to its end\n";
    assert!(said(&host).contains(whole), "{}", said(&host));
    agent.add("stop", "").add("start", ",\"version\":\"0.1.0\"");
    write(&host, &agent.bytes, &recorder);
    let behind = "valid: 6 records (1 to 6) in 1 file, anchored in the recorder's log up to record 4; 2 records behind it not yet";
    assert!(said(&host).contains(behind), "{}", said(&host));
    let found = verify(&host);
    assert_eq!((&found["agent"]["anchored_to"], &found["agent"]["last_seq"]), (&4.into(), &6.into()));
}

#[test]
fn a_host_without_an_agents_log_is_valid() {
    let (host, mut recorder) = (TestHost::new(""), Log::new());
    recorder.add("start", "");
    fs::write(host.host.log.join("audit.jsonl"), &recorder.bytes).unwrap();
    assert_eq!(verify(&host)["agent"], Value::Null);
}

#[test]
fn a_change_before_the_anchor_is_reported() {
    let whole = agents().bytes;
    for at in (0..whole.len()).step_by(11) {
        let mut changed = whole.clone();
        changed[at] ^= 1;
        wrong(&changed);
    }
}

#[test]
fn a_log_that_was_cut_before_the_anchor_is_reported() {
    let all = lines(&agents().bytes);
    assert!(
        wrong(&all[..3].concat())
            .starts_with("truncation: the log ends with record 3, and the recorder's log knows record 4")
    );
    assert!(wrong(b"").starts_with("truncation: the log is empty"));
    assert!(wrong(&[&all[..3].concat()[..], &all[3][..40]].concat()).starts_with("truncation: "));
    assert!(wrong(&all[1..].concat()).starts_with("removal: "));
}

#[test]
fn a_log_that_was_replaced_by_a_consistent_one_is_reported() {
    let mut other = Log::new();
    for _ in 0..9 {
        other.add("start", ",\"version\":\"0.1.0\"");
    }
    assert_eq!(wrong(&other.bytes), "modification: record 4 is not the one that the recorder's log knows");
    // Rewritten from the third record on.
    let mut forked = Log::new();
    forked.bytes = lines(&agents().bytes)[..2].concat();
    (forked.seq, forked.prev) = (2, {
        let second: Value = serde_json::from_slice(&lines(&agents().bytes)[1]).unwrap();
        second["hash"].as_str().unwrap().to_owned()
    });
    forked.add("stop", "").add("start", "").add("stop", "");
    assert_eq!(wrong(&forked.bytes), "modification: record 4 is not the one that the recorder's log knows");
}

#[test]
fn an_anchor_of_a_rewritten_log_does_not_replace_the_one_before() {
    let (host, mut recorder, mut other) = (TestHost::new(""), Log::new(), Log::new());
    note(&mut recorder, AGENT, &agents());
    for _ in 0..4 {
        other.add("start", "");
    }
    note(&mut recorder, AGENT, &other);
    write(&host, &other.bytes, &recorder);
    assert_eq!(
        verify(&host)["agent"]["wrong"],
        "modification: record 4 is not the one that the recorder's log knows"
    );
}

/// A recorder's and an agent's log, to which records of these times are added: `a` of the agent, `n` a note of its end.
fn timed(host: &TestHost, times: &[(char, &str)]) -> (Log, Log) {
    let (mut recorder, mut agent) = (Log::new(), Log::new());
    recorder.at("04:00:00").add("start", "");
    for (whose, time) in times {
        match whose {
            'a' => {
                agent.at(time).add("command", "");
            }
            _ => note(recorder.at(time), AGENT, &agent),
        }
    }
    write(host, &agent.bytes, &recorder);
    (recorder, agent)
}

#[test]
fn records_that_were_anchored_late_are_named_and_valid() {
    let host = TestHost::new("");
    let prompt = [('a', "05:00:00"), ('n', "05:00:01"), ('a', "05:01:00"), ('n', "05:06:00")];
    timed(&host, &prompt);
    let found = verify(&host)["agent"].clone();
    assert_eq!((&found["late"], &found["misdated"]), (&json!([]), &json!([])), "five minutes are no delay");
    // Held back for two hours, once; the times of the first two span the most.
    let late = [
        ('a', "05:00:00"),
        ('n', "05:00:01"),
        ('a', "05:01:00"),
        ('a', "05:50:00"),
        ('n', "07:01:00"),
        ('a', "07:02:00"),
        ('n', "07:02:02"),
        ('a', "08:00:00"),
        ('n', "08:05:01"),
    ];
    timed(&host, &late);
    let found = verify(&host)["agent"].clone();
    let expected = json!([
        { "from": 2, "to": 3, "seconds": 7200 },
        { "from": 5, "to": 5, "seconds": 301 },
    ]);
    assert_eq!((&found["valid"], &found["late"], &found["more_late"]), (&json!(true), &expected, &json!(0)));
    let said = host.run(&["audit", "verify"]).out;
    let line = "agent's log: anchored late: records 2 to 3 (up to 2 h 0 min after their time), 5 (up to 5 min after their time); \
                until then their user could have rewritten them\n";
    assert!(said.contains(line), "{said}");
}

#[test]
fn a_late_anchor_is_not_hidden_by_a_later_one_of_fewer_records() {
    let host = TestHost::new("");
    let (mut recorder, agent) = timed(&host, &[('a', "05:00:00"), ('a', "05:00:01"), ('n', "09:00:00")]);
    // A note of record 1 that comes after the one of record 2.
    let first: Value = serde_json::from_slice(&lines(&agent.bytes)[0]).unwrap();
    let early = Log { seq: 1, prev: first["hash"].as_str().unwrap().to_owned(), ..Log::new() };
    note(recorder.at("09:01:00"), AGENT, &early);
    write(&host, &agent.bytes, &recorder);
    let found = verify(&host)["agent"].clone();
    assert_eq!(found["late"], json!([{ "from": 1, "to": 2, "seconds": 14400 }]), "{found}");
}

#[test]
fn times_that_cannot_be_are_named() {
    let host = TestHost::new("");
    for (time, seconds) in [("02:00:00", 10_800), ("09:00:00", 14_340)] {
        timed(&host, &[('a', "05:00:00"), ('n', "05:00:01"), ('a', time), ('n', "05:01:00")]);
        let found = verify(&host)["agent"].clone();
        let second = &found["misdated"][0];
        assert_eq!((&second["from"], &second["to"]), (&json!(2), &json!(2)), "{found}");
        assert!(second["seconds"].as_u64().unwrap().abs_diff(seconds) <= 1, "{found}");
        assert_eq!((&found["valid"], found["misdated"].as_array().unwrap().len()), (&json!(true), 1));
        let said = host.run(&["audit", "verify"]).out;
        assert!(
            said.contains("agent's log: misdated: records 2 (by ") && said.contains("clock was set"),
            "{said}"
        );
    }
    let (mut recorder, mut agent) = timed(&host, &[('a', "05:00:00")]);
    agent.time = Some("yesterday".to_owned());
    agent.add("command", "");
    note(recorder.at("05:00:01"), AGENT, &agent);
    write(&host, &agent.bytes, &recorder);
    let found = verify(&host)["agent"].clone();
    assert_eq!(found["misdated"], json!([{ "from": 2, "to": 2, "seconds": 0 }]), "{found}");
}

#[test]
fn records_that_wait_for_their_anchor_are_told_with_their_age() {
    let host = TestHost::new("");
    timed(&host, &[('a', "05:00:00"), ('n', "05:00:01"), ('a', "05:00:02"), ('a', "05:00:03")]);
    let said = host.run(&["audit", "verify"]).out;
    assert!(said.contains("2 records behind it not yet; the oldest of them waits for "), "{said}");
    assert!(verify(&host)["agent"]["unanchored_for_s"].as_u64().unwrap() > 300);
    // One that was just written is no finding.
    let (mut recorder, mut agent) = timed(&host, &[('a', "05:00:00"), ('n', "05:00:01")]);
    let now = postern_admin::text::time(postern_admin::text::now());
    agent.time = Some(now.replacen(' ', "T", 1).replace(" UTC", ".000000Z"));
    agent.add("command", "");
    recorder.add("stop", "");
    write(&host, &agent.bytes, &recorder);
    let said = host.run(&["audit", "verify"]).out;
    assert!(said.contains("1 record behind it not yet\n"), "{said}");
    assert_eq!(verify(&host)["agent"]["unanchored_for_s"], Value::Null);
}

#[test]
fn findings_of_late_anchors_are_bounded() {
    let host = TestHost::new("");
    let (mut recorder, mut agent) = (Log::new(), Log::new());
    recorder.at("00:00:00").add("start", "");
    // One late record and one prompt record in turns: 150 spans.
    for turn in 0..150 {
        let (hour, minute) = (turn / 8, turn % 8 * 7);
        agent.at(&format!("{hour:02}:{minute:02}:00")).add("command", "");
        note(recorder.at(&format!("{hour:02}:{:02}:01", minute + 6)), AGENT, &agent);
        agent.at(&format!("{hour:02}:{:02}:02", minute + 6)).add("command", "");
        note(recorder.at(&format!("{hour:02}:{:02}:03", minute + 6)), AGENT, &agent);
    }
    write(&host, &agent.bytes, &recorder);
    let found = verify(&host)["agent"].clone();
    assert_eq!((found["late"].as_array().unwrap().len(), &found["more_late"]), (100, &json!(50)));
    let said = host.run(&["audit", "verify"]).out;
    assert!(said.contains(", 145 more spans; until then"), "{said}");
}

#[test]
fn without_the_first_files_of_the_recorder_nobody_is_called_late() {
    let host = TestHost::new("");
    let (recorder, agent) = timed(
        &host,
        &[
            ('a', "05:00:00"),
            ('n', "05:00:01"),
            ('a', "05:00:02"),
            ('n', "09:00:00"),
            ('a', "09:00:01"),
            ('n', "19:00:00"),
        ],
    );
    // Retention removed the start and the first note: record 1 was anchored in time, which nobody can see any more.
    let left = lines(&recorder.bytes)[2..].concat();
    fs::write(host.host.log.join("audit.jsonl"), "").unwrap();
    fs::remove_file(host.host.log.join("audit.jsonl")).unwrap();
    fs::write(host.host.log.join("audit-000000000003.jsonl"), left).unwrap();
    fs::write(host.host.agent_log.join("audit.jsonl"), &agent.bytes).unwrap();
    let ran = host.run(&["audit", "verify", "--json"]);
    let found: Value = serde_json::from_str(&ran.out).unwrap();
    let found = &found["agent"];
    assert_eq!(found["late"], json!([{ "from": 3, "to": 3, "seconds": 35_999 }]), "{found}");
    assert_eq!(found["lateness_unknown_to"], 2, "{found}");
    let said = host.run(&["audit", "verify"]).out;
    assert!(said.contains("agent's log: how soon records up to 2 were anchored is not known"), "{said}");
}

#[test]
fn a_log_that_is_gone_is_reported() {
    let (host, mut recorder) = (TestHost::new(""), Log::new());
    note(&mut recorder, AGENT, &agents());
    fs::write(host.host.log.join("audit.jsonl"), &recorder.bytes).unwrap();
    let wrong = verify(&host)["agent"]["wrong"].as_str().unwrap().to_owned();
    assert!(wrong.starts_with("truncation: the log is empty"), "{wrong}");
}

#[test]
fn another_clients_notes_are_not_the_agents_anchors() {
    let (host, mut recorder, agent) = (TestHost::new(""), Log::new(), agents());
    let mut other = Log::new();
    for _ in 0..9 {
        other.add("start", "");
    }
    note(&mut recorder, AGENT + 1, &other);
    note(&mut recorder, AGENT, &agent);
    write(&host, &agent.bytes, &recorder);
    assert_eq!(verify(&host)["agent"]["anchored_to"], 4);
}

#[test]
fn old_records_are_removed_by_retention_and_not_before() {
    let mut agent = agents();
    let first = lines(&agent.bytes);
    let mut noted = Log::new();
    note(&mut noted, AGENT, &agent);
    agent.add("rotated", ",\"file\":\"audit-000000000001.jsonl\",\"kept\":5").add("stop", "");
    let left = lines(&agent.bytes)[first.len()..].concat();
    let host = TestHost::new("");
    fs::create_dir_all(&host.host.agent_log).unwrap();
    fs::write(host.host.agent_log.join("audit-000000000005.jsonl"), &left).unwrap();
    let text = String::from_utf8(noted.bytes).unwrap();
    let noted_on = |day: &str| {
        let text = text.replace("2026-11-21", day);
        let (signed, _) = text.rsplit_once(",\"hash\"").unwrap();
        let line = format!("{signed},\"hash\":\"{}\"}}\n", sha256(signed.as_bytes()));
        fs::write(host.host.log.join("audit.jsonl"), line).unwrap();
        verify(&host)["agent"].clone()
    };
    let today = postern_admin::text::time(postern_admin::text::now());
    let found = noted_on(&today[..10]);
    assert!(found["wrong"].as_str().unwrap().contains("the agent keeps them for 30 days"), "{found}");
    assert_eq!(noted_on("2026-01-21")["valid"], true);
}

/// A host whose agent's log was anchored and then replaced by this.
fn replaced(by: impl Fn(&std::path::Path)) -> TestHost {
    let (host, mut recorder) = (TestHost::new(""), Log::new());
    recorder.add("start", "");
    note(&mut recorder, AGENT, &agents());
    write(&host, b"", &recorder);
    fs::remove_file(host.host.agent_log.join("audit.jsonl")).unwrap();
    by(&host.host.agent_log);
    host
}

/// Puts something in the place of the agent's log, whose directory this gets.
type Replace<'a> = Box<dyn Fn(&std::path::Path) + 'a>;

#[test]
fn what_is_no_file_in_the_place_of_the_agents_log_is_reported_and_holds_nobody_up() {
    let outside = tempfile::tempdir().unwrap();
    let real = outside.path().join("audit.jsonl");
    fs::write(&real, &agents().bytes).unwrap();
    let link = |to: &std::path::Path, log: &std::path::Path| std::os::unix::fs::symlink(to, log).unwrap();
    let plays: [(Replace<'_>, &str); 8] = [
        (
            Box::new(|log| {
                nix::unistd::mkfifo(&log.join("audit.jsonl"), nix::sys::stat::Mode::S_IRWXU).unwrap();
            }),
            "no regular file",
        ),
        (
            Box::new(|log| {
                nix::unistd::mkfifo(&log.join("audit-000000000001.jsonl"), nix::sys::stat::Mode::S_IRWXU)
                    .unwrap();
            }),
            "no regular file",
        ),
        (Box::new(|log| fs::create_dir(log.join("audit.jsonl")).unwrap()), "no regular file"),
        (Box::new(|log| link(&real, &log.join("audit.jsonl"))), "symbolic link"),
        (Box::new(|log| link(std::path::Path::new("/nowhere"), &log.join("audit.jsonl"))), "symbolic link"),
        (
            Box::new(|log| {
                fs::remove_dir(log).unwrap();
                link(outside.path(), log);
            }),
            "no directory",
        ),
        (
            Box::new(|log| fs::write(log.join("audit.jsonl"), b"\xfd7zXZ\0\n").unwrap()),
            "bytes that are not a record",
        ),
        (
            Box::new(|log| fs::File::create(log.join("audit.jsonl")).unwrap().set_len(8 << 40).unwrap()),
            "more than the agent keeps",
        ),
    ];
    for (play, expected) in plays {
        let host = replaced(play);
        let found = verify(&host);
        assert_eq!(found["agent"]["valid"], false, "{expected}: {found}");
        let wrong = found["agent"]["wrong"].as_str().unwrap();
        assert!(wrong.contains(expected), "{wrong} in place of {expected}");
    }
}

#[test]
fn a_packed_file_in_the_place_of_the_agents_log_is_not_unpacked() {
    use std::io::Write;
    let mut packed = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
    packed.write_all(&agents().bytes).unwrap();
    let packed = packed.finish().unwrap();
    let host = replaced(|log| fs::write(log.join("audit.jsonl"), &packed).unwrap());
    assert_eq!(verify(&host)["agent"]["valid"], false);
}

#[test]
fn nonsense_that_the_agent_has_noted_is_reported() {
    for (seq, tip) in [(u64::MAX, "0".repeat(64)), (3, "f".repeat(64)), (5, agents().prev.clone())] {
        let (host, mut recorder, agent) = (TestHost::new(""), Log::new(), agents());
        recorder.add("start", "");
        note(&mut recorder, AGENT, &agent);
        let client = format!(",\"client\":{{\"name\":\"agent\",\"uid\":{AGENT},\"gid\":990,\"pid\":7}}");
        recorder.add(
            "note",
            &format!("{client},\"verb\":\"agent.note\",\"args\":{{\"seq\":{seq},\"tip\":\"{tip}\"}}"),
        );
        write(&host, &agent.bytes, &recorder);
        assert_eq!(verify(&host)["agent"]["valid"], false, "{seq}");
    }
}
