//! `audit verify --tip`: a record kept elsewhere shows a truncated or rewritten log, which the file alone cannot.

use crate::log::{Log, lines, sample};
use crate::support::TestHost;
use postern_admin::io::Exit;
use serde_json::{Value, json};
use std::fs;
use std::os::unix::fs::PermissionsExt;

const TIP: &str = "c2e4a6b81d3f4a5c9e7b0d2f4a6c8e11";

fn verify(host: &TestHost, options: &[&str]) -> Value {
    let ran = host.run(&[&["audit", "verify", "--json"], options].concat());
    let result: Value = serde_json::from_str(&ran.out).unwrap();
    assert_eq!(ran.exit == Exit::Done, result["valid"].as_bool().unwrap());
    result
}

fn write(host: &TestHost, bytes: &[u8]) {
    fs::write(host.host.log.join("audit.jsonl"), bytes).unwrap();
}

/// The uid of the recorder.
pub const UID: &str = "995";

/// A journal of these entries; it answers only if it is asked for the recorder's alone.
pub fn journal(host: &mut TestHost, entries: &[Value]) {
    let path = host.host.state.join("journalctl");
    let text = entries.iter().map(ToString::to_string).collect::<Vec<_>>().join("\n");
    fs::write(path.with_extension("json"), text).unwrap();
    let script = format!(
        "#!/bin/sh\ncase \"$*\" in *--output=json*\" MESSAGE_ID={TIP} _UID={UID} _SYSTEMD_UNIT=postern-audit.service\") exec cat {}.json;; esac\nexit 1\n",
        path.display()
    );
    fs::write(&path, script).unwrap();
    fs::set_permissions(&path, fs::Permissions::from_mode(0o755)).unwrap();
    host.host.journalctl = Some(path);
}

pub fn entry(uid: &str, unit: &str, log: &Log) -> Value {
    json!({ "_UID": uid, "_SYSTEMD_UNIT": unit, "MESSAGE_ID": TIP, "POSTERN_SEQ": log.seq.to_string(), "POSTERN_HASH": log.prev, "__CURSOR": "s=1" })
}

#[test]
fn a_saved_tip_reveals_a_truncated_log() {
    let (host, log) = (TestHost::new(""), sample());
    write(&host, &log.bytes);
    let ran = host.run(&["audit", "verify"]);
    assert!(ran.out.contains("whole up to record 10, tail not proven"), "{}", ran.out);
    let tip = ran.out.lines().find_map(|line| line.strip_prefix("tip: ")).unwrap();
    assert!(host.run(&["audit", "verify", "--tip", tip]).out.contains("the end is proven"));
    write(&host, &lines(&log.bytes)[..9].concat());
    assert_eq!(verify(&host, &[])["valid"], true);
    let cut = verify(&host, &["--tip", tip]);
    assert_eq!(cut["bad"]["kind"], "truncation", "{cut}");
    assert!(cut["bad"]["reason"].as_str().unwrap().contains("ends with record 9"), "{cut}");
    write(&host, b"");
    assert_eq!(verify(&host, &["--tip", tip])["bad"]["kind"], "truncation");
}

#[test]
fn a_saved_tip_reveals_a_rewritten_log() {
    let (host, log) = (TestHost::new(""), sample());
    let mut anew = Log::new();
    for _ in 0..12 {
        anew.add("served", "");
    }
    write(&host, &anew.bytes);
    assert_eq!(verify(&host, &[])["valid"], true);
    let found = verify(&host, &["--tip", &format!("{}:{}", log.seq, log.prev)]);
    assert!(
        found["bad"]["reason"].as_str().unwrap().contains("record 10 is not the one that the tip"),
        "{found}"
    );
}

#[test]
fn uses_the_tips_in_the_journal() {
    let (mut host, log) = (TestHost::new(""), sample());
    let mut more = log.clone();
    more.add("served", "");
    let unit = "postern-audit.service";
    journal(&mut host, &[entry(UID, unit, &log), entry(UID, unit, &more)]);
    write(&host, &more.bytes);
    assert_eq!(verify(&host, &[])["tail"], "proven");
    write(&host, &log.bytes);
    let cut = verify(&host, &[]);
    assert!(cut["bad"]["reason"].as_str().unwrap().contains("the journal knows record 11"), "{cut}");
    // Copies elsewhere have nothing to do with this host's journal.
    let path = host.host.log.join("audit.jsonl");
    assert_eq!(verify(&host, &[path.to_str().unwrap()])["valid"], true);
}

#[test]
fn ignores_journal_entries_of_other_users() {
    let (mut host, log) = (TestHost::new(""), sample());
    let mut other = Log::new();
    other.add("served", "");
    let unit = "postern-audit.service";
    let mut no_tip = entry(UID, unit, &other);
    no_tip["MESSAGE_ID"] = "5f0d2c8e7b1a4f6d9c3e8a7b6d5c4f21".into();
    let mut uidless = entry(UID, unit, &other);
    uidless.as_object_mut().unwrap().remove("_UID");
    let forged = [entry("0", unit, &other), entry(UID, "postern-agent.service", &other), no_tip, uidless];
    journal(&mut host, &forged);
    write(&host, &log.bytes);
    let result = verify(&host, &[]);
    assert_eq!((&result["valid"], &result["known_to"]), (&true.into(), &Value::Null), "{result}");
}

#[test]
fn reports_a_journal_that_cannot_be_read() {
    let (mut host, log) = (TestHost::new(""), sample());
    host.host.journalctl = Some("/nonexistent/journalctl".into());
    write(&host, &log.bytes);
    let ran = host.run(&["audit", "verify"]);
    assert_eq!(ran.exit, Exit::Done);
    assert!(ran.err.contains("the journal's tips are not known"), "{}", ran.err);
}
