//! No change of the log goes unseen.

use crate::log::{Log, sample};
use crate::support::TestHost;
use postern_admin::io::Exit;
use serde_json::Value;
use std::fs;

/// Verifies these bytes as the log.
fn verify(bytes: &[u8]) -> Value {
    let host = TestHost::new("");
    fs::write(host.host.log.join("audit.jsonl"), bytes).unwrap();
    let ran = host.run(&["audit", "verify", "--json"]);
    let result: Value = serde_json::from_str(&ran.out).unwrap();
    assert_eq!(ran.exit == Exit::Done, result["valid"].as_bool().unwrap());
    result
}

fn bad(bytes: &[u8], line: u64, words: &str) {
    let result = verify(bytes);
    assert_eq!(result["valid"], false, "{words}");
    assert_eq!(result["bad"]["line"], line, "{result}");
    assert!(result["bad"]["reason"].as_str().unwrap().contains(words), "no {words:?} in {result}");
}

fn lines(log: &Log) -> Vec<Vec<u8>> {
    log.bytes.split_inclusive(|byte| *byte == b'\n').map(<[u8]>::to_vec).collect()
}

#[test]
fn a_whole_log_is_valid_and_said_to_be_unsealed() {
    let host = TestHost::new("");
    fs::write(host.host.log.join("audit.jsonl"), sample().bytes).unwrap();
    let ran = host.run(&["audit", "verify"]);
    assert_eq!(ran.exit, Exit::Done);
    assert!(ran.out.starts_with("valid: 10 records (1 to 10) in 1 file, unsealed"), "{}", ran.out);
    assert!(verify(b"")["valid"].as_bool().unwrap());
}

#[test]
fn every_flipped_bit_is_seen() {
    let log = sample().bytes;
    for at in (0..log.len()).step_by(7) {
        let mut changed = log.clone();
        changed[at] ^= 1;
        assert_eq!(verify(&changed)["valid"], false, "byte {at}");
    }
}

#[test]
fn a_cut_swapped_repeated_or_added_record_is_seen() {
    let all = lines(&sample());
    bad(&all[1..].concat(), 1, "record 2 stands where record 1 must stand");
    let mut cut = all.clone();
    cut.remove(4);
    bad(&cut.concat(), 5, "record 6 stands where record 5 must stand");
    let mut swapped = all.clone();
    swapped.swap(2, 3);
    bad(&swapped.concat(), 3, "record 4 stands where record 3 must stand");
    let mut twice = all.clone();
    twice.insert(5, all[4].clone());
    bad(&twice.concat(), 6, "record 5 stands where record 6 must stand");
    // A record of another history with the right number.
    let mut other = Log::new();
    other.add("start", ",\"policy\":\"01\"").add("stop", "");
    let mixed = [all[0].clone(), lines(&other)[1].clone()].concat();
    bad(&mixed, 2, "does not hold the hash of the record before it");
}

#[test]
fn a_record_that_was_written_anew_breaks_the_next() {
    let mut all = lines(&sample());
    let mut forged = Log::new();
    forged.add("start", ",\"policy\":\"ff\"");
    all[0] = forged.bytes;
    bad(&all.concat(), 2, "does not hold the hash of the record before it");
}

#[test]
fn what_is_no_record_is_seen() {
    let mut log = sample();
    for (extra, words) in [
        (&b"\n"[..], "no record"),
        (b"{}\n", "no record"),
        (b"{\"v\":1,\"seq\":11}\n", "no record"),
        (b"\xff\xfe\n", "no record"),
    ] {
        bad(&[&log.bytes[..], extra].concat(), 11, words);
    }
    let (line, _) = log.line("stop", "");
    bad(
        &[&log.bytes[..], line.replace("\"seq\":11", "\"seq\":011").as_bytes(), b"\n"].concat(),
        11,
        "no record",
    );
    log.bytes.extend_from_slice(line.as_bytes());
    bad(&log.bytes, 11, "the log ends inside this line");
}

#[test]
fn a_torn_line_is_accepted_only_with_its_record() {
    let mut log = sample();
    log.add_torn(b"{\"v\":1,\"seq\":11,\"ti").add("start", "").add_torn(b"x").add("stop", "");
    let result = verify(&log.bytes);
    assert_eq!(
        (&result["valid"], &result["torn"], &result["records"]),
        (&true.into(), &2.into(), &14.into()),
        "{result}"
    );

    // The fragment changed, cut out, or its record cut out.
    let all = lines(&log);
    let mut changed = all.clone();
    changed[10] = b"{\"v\":1,\"seq\":12,\"ti\n".to_vec();
    bad(&changed.concat(), 11, "no record");
    let mut cut = all.clone();
    cut.remove(10);
    bad(&cut.concat(), 11, "names no line before it");
    let mut unnamed = all[..10].to_vec();
    unnamed.push(all[10].clone());
    bad(&unnamed.concat(), 11, "no record");
    let mut hidden = all.clone();
    hidden.insert(12, b"hidden\n".to_vec());
    bad(&hidden.concat(), 13, "no record");
}

#[test]
fn a_record_that_lacked_only_its_end_of_line_is_a_torn_line_too() {
    let mut log = sample();
    let (line, _) = log.line("begin", "");
    log.add_torn(line.as_bytes()).add("stop", "");
    let result = verify(&log.bytes);
    assert_eq!((&result["valid"], &result["last_seq"]), (&true.into(), &12.into()), "{result}");
    let mut first = Log::new();
    let (line, _) = first.line("start", "");
    first.add_torn(line.as_bytes());
    let result = verify(&first.bytes);
    assert_eq!(
        (&result["valid"], &result["records"], &result["first_seq"]),
        (&true.into(), &1.into(), &1.into())
    );
}

#[test]
fn two_crashes_in_a_row_are_one_torn_stretch() {
    let mut log = sample();
    log.add_torn(b"{\"v\":1,\"se\n{\"v\":1,\"seq\":11,\"time").add("stop", "");
    let result = verify(&log.bytes);
    assert_eq!(result["valid"], true, "{result}");
}

#[test]
fn rotated_files_are_one_chain() {
    let host = TestHost::new("");
    let all = lines(&sample());
    let put = |name: &str, part: &[Vec<u8>]| fs::write(host.host.log.join(name), part.concat()).unwrap();
    put("audit-000000000001.jsonl", &all[..3]);
    put("audit-000000000004.jsonl", &all[3..7]);
    put("audit.jsonl", &all[7..]);
    put("audit-1.jsonl", &all[..1]);
    let ran = host.run(&["audit", "verify"]);
    assert!(ran.out.starts_with("valid: 10 records (1 to 10) in 3 files"), "{}", ran.out);
    // The oldest may have been removed; the name says where the rest begins.
    fs::remove_file(host.host.log.join("audit-000000000001.jsonl")).unwrap();
    let ran = host.run(&["audit", "verify"]);
    assert!(ran.out.starts_with("valid: 7 records (4 to 10) in 2 files"), "{}", ran.out);
    assert!(ran.err.contains("nothing is said of them"), "{}", ran.err);
    // One in the middle may not.
    put("audit-000000000001.jsonl", &all[..3]);
    fs::remove_file(host.host.log.join("audit-000000000004.jsonl")).unwrap();
    let ran = host.run(&["audit", "verify"]);
    assert_eq!(ran.exit, Exit::Failed);
    assert!(ran.out.contains("audit.jsonl:1: record 8 stands where record 4 must stand"), "{}", ran.out);
    assert!(ran.out.contains("valid before it: 3 records"), "{}", ran.out);
}

/// Where the helper writes, unsealed.
fn place(log: &std::path::Path) -> postern_helper::audit::Place {
    postern_helper::audit::Place {
        log: log.to_owned(),
        next: log.join("none/next"),
        running: log.join("none/seal"),
        journal: log.join("none/journal"),
        boot_id: "6b2f8a0e-0000-4000-8000-000000000000".to_owned(),
        now: || std::time::UNIX_EPOCH + std::time::Duration::from_secs(1_763_700_000),
        since_boot: || std::time::Duration::ZERO,
    }
}

#[test]
fn verifies_what_the_helper_writes() {
    use postern_helper::audit::{Audit, Event, Record};
    let host = TestHost::new("");
    let path = host.host.log.join("audit.jsonl");
    let open = || Audit::open(&place(&host.host.log)).unwrap();
    let record = Record { verb: "file.write".to_owned(), ..Record::default() };
    for cut in [0, 1, 40] {
        let audit = open();
        audit.note(Event::Start, &record).unwrap();
        audit.note(Event::Refused, &record).unwrap();
        drop(audit);
        let len = fs::metadata(&path).unwrap().len();
        fs::OpenOptions::new().write(true).open(&path).unwrap().set_len(len - cut).unwrap();
    }
    open();
    let ran = host.run(&["audit", "verify", "--json"]);
    assert_eq!(ran.exit, Exit::Done, "{}", ran.out);
    assert!(ran.out.contains("\"torn\":2"), "{}", ran.out);
}

#[test]
fn verifies_what_the_helper_writes_after_a_crash_while_it_names_a_torn_line() {
    use postern_helper::audit::{Audit, Event, Record};
    let host = TestHost::new("");
    let path = host.host.log.join("audit.jsonl");
    let open = || Audit::open(&place(&host.host.log)).unwrap();
    open().note(Event::Start, &Record::default()).unwrap();
    for _ in 0..3 {
        let len = fs::metadata(&path).unwrap().len();
        fs::OpenOptions::new().write(true).open(&path).unwrap().set_len(len - 30).unwrap();
        open();
    }
    let ran = host.run(&["audit", "verify"]);
    assert_eq!(ran.exit, Exit::Done, "{}", ran.out);
}

#[test]
fn a_missing_log_is_not_a_valid_one() {
    let host = TestHost::new("");
    let ran = host.run(&["audit", "verify"]);
    assert_eq!(ran.exit, Exit::Failed);
    assert!(ran.err.contains("there is no audit log"), "{}", ran.err);
}
