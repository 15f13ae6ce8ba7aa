//! `audit verify`: where root states something else than the broker claimed, and what root's own lines in the journal say.

use crate::log::Log;
use crate::support::{Ran, TestHost};
use postern_admin::io::Exit;
use postern_proto::link::order_id;
use serde_json::{Value, json};
use std::fs;
use std::os::unix::fs::PermissionsExt;

const UID: u32 = 993;

fn id(number: u32) -> String {
    format!("019aaa62-0b3c-7000-8000-{number:012}")
}

/// The id and digest of an order, as root writes them.
fn order(number: u32) -> (String, String) {
    (
        crate::approvals_support::hex(&order_id(UID, &id(number))),
        crate::approvals_support::hex(&[number.try_into().unwrap(); 32]),
    )
}

/// Members of a record of a request.
fn members(own: &str, number: u32, uid: u32, verb: &str, rule: &str, decision: &str) -> String {
    format!(
        ",{own}\"request_id\":\"{}\",\"client\":{{\"name\":\"agent\",\"uid\":{uid},\"gid\":{uid},\"pid\":7}},\"verb\":\"{verb}\",\
         \"args\":{{\"path\":\"/a\\\",\\\"rule\\\":\\\"x\"}},\"rule\":\"{rule}\",\"decision\":\"{decision}\"",
        id(number)
    )
}

fn begin(log: &mut Log, number: u32) {
    let own = format!("\"order\":\"{}\",\"state\":\"0a\",", order(number).1);
    log.add("begin", &members(&own, number, UID, "file.write", "site", "allow"));
}

fn end(log: &mut Log, number: u32) {
    let ended = members("\"state\":\"0a\",", number, UID, "file.write", "site", "allow");
    log.add("end", &format!("{ended},\"outcome\":{{\"status\":\"done\"}}"));
}

fn verify(host: &TestHost, log: &Log, options: &[&str]) -> (Ran, Value) {
    fs::write(host.host.log.join("audit.jsonl"), &log.bytes).unwrap();
    let json = host.run(&[&["audit", "verify", "--json"], options].concat());
    (host.run(&[&["audit", "verify"], options].concat()), serde_json::from_str(&json.out).unwrap())
}

#[test]
fn reports_a_difference_between_roots_statement_and_the_brokers_claim() {
    let host = TestHost::new("");
    let claimed = (UID, "file.write", "site", "allow");
    for (stated, what) in [
        (claimed, ""),
        ((0, claimed.1, claimed.2, claimed.3), "uid 993 was claimed, 0 is stated"),
        ((UID, "file.remove", claimed.2, claimed.3), "verb file.write was claimed, file.remove is stated"),
        (
            (UID, claimed.1, "other", "ask"),
            "rule site was claimed, other is stated, decision allow was claimed, ask is stated",
        ),
    ] {
        let mut log = Log::new();
        log.add("start", "");
        begin(&mut log, 1);
        begin(&mut log, 2);
        let (uid, verb, rule, decision) = stated;
        log.add("end", &members("", 1, uid, verb, rule, decision));
        end(&mut log, 2);
        let (ran, json) = verify(&host, &log, &[]);
        if what.is_empty() {
            assert_eq!((ran.exit, json["differences"].as_array().unwrap().len()), (Exit::Done, 0));
        } else {
            assert_eq!(ran.exit, Exit::Failed);
            assert!(ran.out.contains(&format!("DIFFERENT: records 2 and 4: {what}\n")), "{}", ran.out);
            assert_eq!(json["differences"], json!([{ "begin": 2, "end": 4, "what": what }]));
        }
        assert_eq!(json["valid"], true, "the chain itself is whole");
    }
}

#[test]
fn accepts_operator_undos_and_interrupted_effects() {
    let host = TestHost::new("");
    let mut log = Log::new();
    let undo = |rule: &str| {
        format!(
            ",\"request_id\":\"{}\",\"client\":{{\"uid\":0,\"gid\":0,\"pid\":7}},\"verb\":\"request.undo\"{rule}",
            id(1)
        )
    };
    log.add("begin", &undo("")).add("end", &undo(",\"decision\":\"allow\""));
    begin(&mut log, 2);
    log.add("interrupted", &members("", 2, UID, "file.write", "site", "allow"));
    assert_eq!(verify(&host, &log, &[]).0.exit, Exit::Done);
}

/// A line of root's as journald tells of it.
fn line(number: u32, unix_us: u64) -> Value {
    let (order, digest) = order(number);
    entry(
        "0",
        "postern-units.service",
        &format!("postern-act v1 {order} {digest} {UID} file.write allow"),
        unix_us,
    )
}

fn entry(uid: &str, unit: &str, message: &str, unix_us: u64) -> Value {
    json!({ "_UID": uid, "_SYSTEMD_UNIT": unit, "MESSAGE": message, "__REALTIME_TIMESTAMP": unix_us.to_string() })
}

/// A journal of these entries; it answers only if it is asked for root's units.
fn journal(host: &mut TestHost, entries: &[Value]) {
    let path = host.host.state.join("journalctl");
    let text = entries.iter().map(ToString::to_string).collect::<Vec<_>>().join("\n");
    fs::write(path.with_extension("json"), text).unwrap();
    let script = format!(
        "#!/bin/sh\ncase \"$*\" in *'--unit postern-files.service --unit postern-units.service --unit postern-packages@*.service') exec cat {}.json;; *MESSAGE_ID*) exit 0;; esac\nexit 1\n",
        path.display()
    );
    fs::write(&path, script).unwrap();
    fs::set_permissions(&path, fs::Permissions::from_mode(0o755)).unwrap();
    host.host.journalctl = Some(path);
}

/// Before the records of a test's log.
const EARLY: u64 = 1_700_000_000_000_000;

fn sample() -> Log {
    let mut log = Log::new();
    log.add("start", "");
    for number in 1..=3 {
        begin(&mut log, number);
        end(&mut log, number);
    }
    log
}

#[test]
fn matches_every_effect_with_its_journal_line() {
    let mut host = TestHost::new("");
    journal(&mut host, &[line(1, EARLY), line(2, EARLY + 1), line(2, EARLY + 1), line(3, EARLY + 2)]);
    let (ran, json) = verify(&host, &sample(), &["--journal"]);
    assert_eq!(ran.exit, Exit::Done, "{}", ran.out);
    assert!(ran.out.contains("journal: 4 lines of root's, 3 effects as recorded\n"), "{}", ran.out);
    assert_eq!(json["journal"], json!({ "lines": 4, "matched": 3, "wrong": [] }));
}

#[test]
fn reports_an_act_of_root_that_no_record_names() {
    let mut host = TestHost::new("");
    journal(&mut host, &[line(1, EARLY), line(2, EARLY), line(3, EARLY), line(4, EARLY)]);
    let (ran, json) = verify(&host, &sample(), &["--journal"]);
    assert_eq!(ran.exit, Exit::Failed);
    let wrong = json["journal"]["wrong"][0].as_str().unwrap();
    assert!(wrong.starts_with(&format!("root did order {}, which no record names", order(4).0)), "{wrong}");
    assert!(ran.out.contains("DIFFERENT: root did order"), "{}", ran.out);
}

#[test]
fn reports_an_effect_without_a_line_and_a_line_of_another_order() {
    let mut host = TestHost::new("");
    let (order_1, _) = order(1);
    let other = format!("postern-act v1 {order_1} {} {UID} file.write allow", order(9).1);
    journal(&mut host, &[line(3, EARLY), entry("0", "postern-units.service", &other, EARLY)]);
    let (_, json) = verify(&host, &sample(), &["--journal"]);
    let wrong = json["journal"]["wrong"].as_array().unwrap();
    assert_eq!(wrong.len(), 2, "{wrong:?}");
    assert!(
        wrong[0].as_str().unwrap().contains("record 2 and root's line in the journal differ"),
        "{wrong:?}"
    );
    assert!(wrong[1].as_str().unwrap().contains("record 4 is of an effect without a line"), "{wrong:?}");
    // Records from before the journal's first entry cannot be in it.
    let late = 4_000_000_000_000_000;
    journal(&mut host, &[line(3, late)]);
    assert_eq!(verify(&host, &sample(), &["--journal"]).0.exit, Exit::Done);
}

#[test]
fn ignores_journal_lines_of_other_users_and_units() {
    let mut host = TestHost::new("");
    let (order_4, digest) = order(4);
    let message = format!("postern-act v1 {order_4} {digest} {UID} file.write allow");
    let forged = [
        entry("993", "postern-units.service", &message, EARLY),
        entry("0", "ssh.service", &message, EARLY),
        entry("0", "postern-packages.service", &message, EARLY),
        entry("0", "postern-units.service", &message.replace("v1", "v2"), EARLY),
        entry("0", "postern-units.service", &format!("{message} more"), EARLY),
        // postern-files has a uid of its own.
        entry("0", "postern-files.service", &message, EARLY),
    ];
    let real = [1, 2, 3].map(|number| line(number, EARLY));
    journal(&mut host, &[&forged[..], &real].concat());
    let (ran, json) = verify(&host, &sample(), &["--journal"]);
    assert_eq!((ran.exit, &json["journal"]["lines"]), (Exit::Done, &3.into()), "{}", ran.out);
    let packages = entry("0", "postern-packages@ab.service", &message, EARLY);
    journal(&mut host, &[&real[..], &[packages]].concat());
    assert_eq!(verify(&host, &sample(), &["--journal"]).0.exit, Exit::Failed);
}

#[test]
fn fails_if_the_journal_cannot_be_read() {
    let host = TestHost::new("");
    fs::write(host.host.log.join("audit.jsonl"), &sample().bytes).unwrap();
    let ran = host.run(&["audit", "verify", "--journal"]);
    assert_eq!(
        (ran.exit, ran.err.contains("--journal: there is no journal")),
        (Exit::Failed, true),
        "{}",
        ran.err
    );
}
