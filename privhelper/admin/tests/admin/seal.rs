//! With a key, nobody who came later can have written what is sealed; with a public key, nobody can have forged it.

use crate::log::{KEY, Log, lines, sealed};
use crate::support::TestHost;
use postern_admin::io::Exit;
use postern_audit::log::{AuditLog, Event, Location, Record};
use postern_policy::types::Digest;
use postern_proto::root::v1::Claim;
use postern_seal::{Epoch, RunningKeys};
use serde_json::Value;
use std::fs;
use std::time::{Duration, UNIX_EPOCH};

fn epoch() -> Epoch {
    Epoch::new(0, KEY).unwrap()
}

fn public() -> String {
    epoch().signer().public().to_string()
}

/// Verifies the installed log with these options; the key stands in file `key` beside it.
fn verify(host: &TestHost, options: &[&str]) -> Value {
    let key = host.host.state.join("key");
    fs::write(&key, format!("{KEY}\n")).unwrap();
    let key = key.to_str().unwrap().to_owned();
    let options = options.iter().map(|option| if *option == "KEY" { key.as_str() } else { option });
    let ran = host.run(&["audit", "verify", "--json"].into_iter().chain(options).collect::<Vec<_>>());
    let result: Value = serde_json::from_str(&ran.out).unwrap_or_else(|_| panic!("{}", ran.err));
    assert_eq!(ran.exit == Exit::Done, result["valid"].as_bool().unwrap());
    result
}

fn with(bytes: &[u8]) -> TestHost {
    let host = TestHost::new("");
    fs::write(host.host.log.join("audit.jsonl"), bytes).unwrap();
    host
}

/// The kind and the reason.
fn bad(bytes: &[u8], options: &[&str]) -> (String, String) {
    let result = verify(&with(bytes), options);
    let text = |name: &str| result["bad"][name].as_str().unwrap_or_default().to_owned();
    (text("kind"), text("reason"))
}

#[test]
fn a_sealed_log_is_proven_by_its_key_over_all_epochs() {
    let log = sealed();
    let result = verify(&with(&log.bytes), &["--key", "KEY"]);
    assert_eq!(result["valid"], true, "{result}");
    let is = |name: &str, number: u64| assert_eq!(result[name], number, "{name} in {result}");
    is("sealed_from", 1);
    is("seals_checked_from", 1);
    is("epoch", 3);
    assert_eq!(result["tail"], "not_proven");
    let without = verify(&with(&log.bytes), &[]);
    assert_eq!((&without["valid"], &without["seals_checked_from"]), (&true.into(), &Value::Null));
    assert!(without["notes"].to_string().contains("use --key or --public"), "{without}");
}

#[test]
fn reports_a_boot_that_ended_without_a_stop_record() {
    let result = verify(&with(&sealed().bytes), &[]);
    assert_eq!(result["open_ends"], serde_json::json!([12]), "{result}");
    let mut log = Log::new();
    log.boot(0, true).boot(1, true);
    assert_eq!(verify(&with(&log.bytes), &[])["open_ends"], serde_json::json!([]));
}

#[test]
fn a_log_sealed_from_the_middle_on_is_proven_from_there() {
    let mut log = Log::new();
    log.add("start", "").add("stop", "").add("start", "").enter(0).sign().add("stop", "");
    let result = verify(&with(&log.bytes), &["--key", "KEY"]);
    assert_eq!((&result["valid"], &result["sealed_from"]), (&true.into(), &4.into()), "{result}");
}

#[test]
fn seals_of_a_log_that_begins_within_an_epoch_are_checked() {
    let mut log = Log::new();
    log.boot(0, false);
    log.add("rotated", &format!("{},\"file\":\"audit-000000000001.jsonl\",\"kept\":6", log.own()))
        .boot(1, true);
    let host = TestHost::new("");
    let all = lines(&log.bytes);
    fs::write(host.host.log.join("audit-000000000006.jsonl"), all[5..].concat()).unwrap();
    let result = verify(&host, &["--key", "KEY"]);
    assert_eq!((&result["valid"], &result["seals_checked_from"]), (&true.into(), &6.into()), "{result}");
}

#[test]
fn a_later_key_proves_the_later_epochs() {
    let host = with(&sealed().bytes);
    let path = host.host.state.join("later");
    for text in [format!("2:{}", epoch().next().next().seed_hex()), epoch().next().next().encode()] {
        fs::write(&path, text).unwrap();
        let result = verify(&host, &["--key", path.to_str().unwrap()]);
        assert_eq!((&result["valid"], &result["seals_checked_from"]), (&true.into(), &8.into()), "{result}");
    }
    fs::write(&path, "no key").unwrap();
    assert_eq!(host.run(&["audit", "verify", "--key", path.to_str().unwrap()]).exit, Exit::Usage);
}

/// Forges a log from record `from` on, as an attacker who became root after record `keys_of`, with the keys found
/// then.
fn rewritten(keys_of: usize, from: usize) -> Log {
    let mut log = Log::new();
    log.boot(0, true).boot(1, true);
    let mut found = Log::new();
    found.boot(0, true).enter(1);
    found.add("start", &found.own());
    while found.seq < keys_of as u64 {
        found.add("served", "");
    }
    let all = lines(&log.bytes);
    let mut forged = Log { bytes: all[..from - 1].concat(), seq: from as u64 - 1, ..found };
    let before: Value = serde_json::from_slice(&all[from - 2]).unwrap();
    before["hash"].as_str().unwrap().clone_into(&mut forged.prev);
    for _ in from..=all.len() {
        forged.add("served", ",\"verb\":\"unit.status\"");
    }
    forged
}

#[test]
fn a_later_key_cannot_forge_earlier_records() {
    // Root was lost at record 11: later records are the attacker's, earlier ones cannot be forged.
    let forged = rewritten(10, 9);
    assert_eq!(bad(&forged.bytes, &[]).0, "", "hashes alone show nothing");
    let (kind, reason) = bad(&forged.bytes, &["--key", "KEY"]);
    assert_eq!(kind, "modification");
    assert!(reason.contains("the seal of record 9 is not what the key of epoch 1 makes"), "{reason}");
}

#[test]
fn detects_removed_seals() {
    let mut log = Log::new();
    log.boot(0, false);
    log.seal = None;
    log.add("served", "").add("stop", "");
    for options in [&["--key", "KEY"][..], &[]] {
        assert!(bad(&log.bytes, options).1.contains("record 6 has no seal"));
    }
    // All of them.
    let mut bare = Log::new();
    bare.add("start", "").add("stop", "");
    assert!(bad(&bare.bytes, &["--key", "KEY"]).1.contains("no record is sealed by the key"));
    assert!(bad(&bare.bytes, &["--public", &public()]).1.contains("no record is signed by the public key"));
    // By records of an epoch that was.
    let mut back = sealed();
    back.boot(2, true);
    assert!(bad(&back.bytes, &[]).1.contains("says that epoch 2 began with record"));
}

#[test]
fn rejects_the_key_of_another_log() {
    let host = with(&sealed().bytes);
    let path = host.host.state.join("other");
    fs::write(&path, "ff".repeat(32)).unwrap();
    let ran = host.run(&["audit", "verify", "--key", path.to_str().unwrap()]);
    assert!(ran.out.contains("the seal of record 1 is not what the key of epoch 0 makes"), "{}", ran.out);
}

#[test]
fn signatures_are_proven_by_the_public_key_alone_over_all_epochs() {
    let log = sealed();
    let result = verify(&with(&log.bytes), &["--public", &public()]);
    assert_eq!(result["valid"], true, "{result}");
    assert_eq!((&result["signatures"], &result["signed_to"]), (&5.into(), &18.into()), "{result}");
    // The key of the next signature, as it was printed, goes on from there.
    let mut more = Log::new();
    more.boot(0, true);
    let next = verify(&with(&more.bytes), &[])["next_public"].as_str().unwrap().to_owned();
    more.add("served", "").sign();
    let result = verify(&with(&more.bytes), &["--public", &next]);
    assert_eq!((&result["valid"], &result["signatures"]), (&true.into(), &1.into()), "{result}");
}

#[test]
fn detects_a_forged_signature_with_the_public_key_alone() {
    let log = sealed();
    let text = String::from_utf8(log.bytes).unwrap();
    let at = text.find("\"signature\":\"").unwrap() + 13;
    let other = if text.as_bytes()[at] == b'0' { "1" } else { "0" };
    let changed = format!("{}{other}{}", &text[..at], &text[at + 1..]);
    // With all hashes made anew, as root can.
    let mut forged = Log::new();
    for line in changed.lines() {
        let members = line.split_once("\"event\":\"").unwrap().1.split_once(",\"prev\"").unwrap().0;
        let (event, members) = members.split_once('"').unwrap();
        forged.add(event, members);
    }
    forged.bytes = String::from_utf8(forged.bytes)
        .unwrap()
        .replace("\"}\n", &format!("\",\"seal\":\"{}\"}}\n", "0".repeat(64)))
        .into_bytes();
    assert_eq!(bad(&forged.bytes, &[]).0, "");
    let (_, reason) = bad(&forged.bytes, &["--public", &public()]);
    assert!(reason.contains("the signature in record 2 is not that of its key"), "{reason}");
    // By a key of the forger's own.
    let mut own = Log::new();
    own.enter(0);
    own.seal.as_mut().unwrap().signer = Epoch::new(0, &"ab".repeat(32)).unwrap().signer();
    own.add("start", &own.own()).sign();
    assert!(bad(&own.bytes, &["--public", &public()]).1.contains("no record is signed by the public key"));
    // By a key that no signature before names.
    let mut other = Log::new();
    other.boot(0, false);
    other.seal.as_mut().unwrap().signer = Epoch::new(0, &"ab".repeat(32)).unwrap().signer();
    other.sign();
    assert!(bad(&other.bytes, &[]).1.contains("signed by another key than the signature before it names"));
}

#[test]
fn the_running_recorders_keys_prove_the_end() {
    let mut log = Log::new();
    log.boot(0, false);
    let host = with(&log.bytes);
    let seal = log.seal.clone().unwrap();
    let running = |seq: u64, hash: &str, key| RunningKeys {
        boot_id: "6b2f8a0e-0000-4000-8000-000000000000".to_owned(),
        epoch: 0,
        since: 1,
        seq,
        hash: Digest::from_hex(hash).unwrap(),
        key,
        signer: seal.signer.clone(),
        boots: [epoch().next().signer().public(), epoch().next().next().signer().public()],
    };
    fs::write(&host.host.seal, running(5, &log.prev, seal.key.clone()).encode()).unwrap();
    let result = verify(&host, &["--key", "KEY"]);
    assert_eq!((&result["valid"], &result["tail"]), (&true.into(), &"proven".into()), "{result}");
    // Without the key nobody can tell whether the file is the recorder's.
    assert_eq!(verify(&host, &[])["tail"], "not_proven");
    // Cut, with the file made to fit: the key of that place is gone.
    let mut cut = Log::new();
    cut.enter(0);
    cut.add("start", &cut.own()).sign();
    fs::write(host.host.log.join("audit.jsonl"), &cut.bytes).unwrap();
    assert_eq!(verify(&host, &[])["bad"]["kind"], "truncation");
    fs::write(&host.host.seal, running(2, &cut.prev, seal.key.clone()).encode()).unwrap();
    let result = verify(&host, &["--key", "KEY"]);
    assert!(result["bad"]["reason"].as_str().unwrap().contains("the key behind record 2"), "{result}");
}

/// Where the real helper writes, so that `host` finds it.
fn place(host: &TestHost, boot: u8) -> Location {
    let seal = host.host.state.join("seal");
    if !seal.exists() {
        fs::create_dir(seal).unwrap();
    }
    Location {
        log: host.host.log.clone(),
        next: host.host.seed(),
        running: host.host.seal.clone(),
        journal: host.host.state.join("no journal"),
        boot_id: format!("6b2f8a0e-0000-4000-8000-00000000000{boot}"),
        now: || UNIX_EPOCH + Duration::from_secs(1_763_700_000),
        since_boot: || Duration::from_secs(5),
    }
}

#[test]
fn verifies_what_the_helper_writes_unsealed_and_torn() {
    let host = TestHost::new("");
    let path = host.host.log.join("audit.jsonl");
    let record =
        Record { claim: Claim { verb: "file.write".to_owned(), ..Claim::default() }, ..Record::default() };
    for cut in [0, 1, 40, 40, 40] {
        let audit = AuditLog::open(&place(&host, 1)).unwrap();
        audit.note(Event::Start, &record).unwrap();
        audit.note(Event::Refused, &record).unwrap();
        drop(audit);
        let file = fs::OpenOptions::new().write(true).open(&path).unwrap();
        file.set_len(fs::metadata(&path).unwrap().len() - cut).unwrap();
    }
    AuditLog::open(&place(&host, 1)).unwrap();
    let result = verify(&host, &[]);
    assert_eq!(
        (&result["valid"], &result["torn"], &result["sealed"]),
        (&true.into(), &4.into(), &false.into()),
        "{result}"
    );
}

#[test]
fn verifies_what_the_helper_writes_sealed_over_boots() {
    let host = TestHost::new("");
    let open = |boot: u8| AuditLog::open(&place(&host, boot)).unwrap();
    let record =
        Record { claim: Claim { verb: "file.write".to_owned(), ..Claim::default() }, ..Record::default() };
    let audit = open(0);
    audit.note(Event::Start, &record).unwrap();
    // `keygen` while it runs.
    fs::write(host.host.seed(), epoch().encode()).unwrap();
    audit.tick();
    audit.note(Event::Refused, &record).unwrap();
    drop(audit);
    for boot in [0, 1, 1, 2] {
        let audit = open(boot);
        audit.note(Event::Start, &record).unwrap();
        audit.sign().unwrap();
        audit.note(Event::Refused, &record).unwrap();
        audit.stop().unwrap();
    }
    let proven = verify(&host, &["--key", "KEY", "--public", &public()]);
    assert_eq!((&proven["valid"], &proven["tail"]), (&true.into(), &"proven".into()), "{proven}");
    assert_eq!((&proven["epoch"], &proven["sealed_from"]), (&2.into(), &2.into()), "{proven}");
    assert_eq!(proven["signatures"], 9, "{proven}");
    // Cut off behind the helper's back: it goes on behind what it knows, and the gap stays.
    let path = host.host.log.join("audit.jsonl");
    let all = lines(&fs::read(&path).unwrap());
    fs::write(&path, all[..all.len() - 2].concat()).unwrap();
    open(2).note(Event::Start, &record).unwrap();
    let cut = verify(&host, &["--key", "KEY"]);
    assert_eq!(cut["bad"]["kind"], "removal", "{cut}");
}
