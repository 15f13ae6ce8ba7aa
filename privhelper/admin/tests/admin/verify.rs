//! No change of the log goes unseen.

use crate::log::{Log, lines as split, sample};
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
    split(&log.bytes)
}

#[test]
fn an_intact_log_is_valid_and_reported_as_unsealed() {
    let host = TestHost::new("");
    fs::write(host.host.log.join("audit.jsonl"), sample().bytes).unwrap();
    let ran = host.run(&["audit", "verify"]);
    assert_eq!(ran.exit, Exit::Done);
    assert!(ran.out.starts_with("valid: 10 records (1 to 10) in 1 file, unsealed"), "{}", ran.out);
    assert!(verify(b"")["valid"].as_bool().unwrap());
}

#[test]
fn detects_every_flipped_bit() {
    let log = sample().bytes;
    for at in (0..log.len()).step_by(7) {
        let mut changed = log.clone();
        changed[at] ^= 1;
        assert_eq!(verify(&changed)["valid"], false, "byte {at}");
    }
}

#[test]
fn detects_removed_swapped_repeated_and_added_records() {
    let all = lines(&sample());
    bad(&all[1..].concat(), 1, "record 2 is where record 1 must be");
    let mut cut = all.clone();
    cut.remove(4);
    bad(&cut.concat(), 5, "record 6 is where record 5 must be");
    let mut swapped = all.clone();
    swapped.swap(2, 3);
    bad(&swapped.concat(), 3, "record 4 is where record 3 must be");
    let mut twice = all.clone();
    twice.insert(5, all[4].clone());
    bad(&twice.concat(), 6, "record 5 is where record 6 must be");
    // A record of another history with the right number.
    let mut other = Log::new();
    other.add("start", ",\"policy\":\"01\"").add("stop", "");
    let mixed = [all[0].clone(), lines(&other)[1].clone()].concat();
    bad(&mixed, 2, "does not hold the hash of the record before it");
}

#[test]
fn a_rewritten_record_breaks_the_hash_of_the_next() {
    let mut all = lines(&sample());
    let mut forged = Log::new();
    forged.add("start", ",\"policy\":\"ff\"");
    all[0] = forged.bytes;
    bad(&all.concat(), 2, "does not hold the hash of the record before it");
}

#[test]
fn detects_lines_that_are_not_records() {
    let mut log = sample();
    for (extra, words) in [
        (&b"\n"[..], "not a record"),
        (b"{}\n", "not a record"),
        (b"{\"v\":1,\"seq\":11}\n", "not a record"),
        (b"\xff\xfe\n", "not a record"),
    ] {
        bad(&[&log.bytes[..], extra].concat(), 11, words);
    }
    let (line, _) = log.line("stop", "");
    bad(
        &[&log.bytes[..], line.replace("\"seq\":11", "\"seq\":011").as_bytes(), b"\n"].concat(),
        11,
        "not a record",
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
    bad(&changed.concat(), 11, "not a record");
    let mut cut = all.clone();
    cut.remove(10);
    bad(&cut.concat(), 11, "names no line before it");
    let mut unnamed = all[..10].to_vec();
    unnamed.push(all[10].clone());
    bad(&unnamed.concat(), 11, "not a record");
    let mut hidden = all.clone();
    hidden.insert(12, b"hidden\n".to_vec());
    bad(&hidden.concat(), 13, "not a record");
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
fn accepts_the_torn_lines_of_two_crashes_in_a_row() {
    let mut log = sample();
    log.add_torn(b"{\"v\":1,\"se\n{\"v\":1,\"seq\":11,\"time").add("stop", "");
    let result = verify(&log.bytes);
    assert_eq!(result["valid"], true, "{result}");
}

#[test]
fn verifies_rotated_files_as_one_chain() {
    let host = TestHost::new("");
    let all = lines(&sample());
    let put = |name: &str, part: &[Vec<u8>]| fs::write(host.host.log.join(name), part.concat()).unwrap();
    put("audit-000000000001.jsonl", &all[..3]);
    put("audit-000000000004.jsonl", &all[3..7]);
    put("audit.jsonl", &all[7..]);
    put("audit-1.jsonl", &all[..1]);
    let ran = host.run(&["audit", "verify"]);
    assert!(ran.out.starts_with("valid: 10 records (1 to 10) in 3 files"), "{}", ran.out);
    // The oldest may have been removed, but not silently; the name says where the rest begins.
    fs::remove_file(host.host.log.join("audit-000000000001.jsonl")).unwrap();
    let ran = host.run(&["audit", "verify"]);
    assert_eq!(ran.exit, Exit::Failed);
    assert!(ran.out.contains("removal: the records 1 to 3 are not here"), "{}", ran.out);
    let named = ["audit-000000000004.jsonl", "audit.jsonl"].map(|name| host.host.log.join(name));
    let named = named.each_ref().map(|path| path.to_str().unwrap());
    let ran = host.run(&["audit", "verify", named[0], named[1]]);
    assert!(ran.out.starts_with("valid: 7 records (4 to 10) in 2 files"), "{}", ran.out);
    assert!(ran.err.contains("are missing and not verified"), "{}", ran.err);
    // One in the middle may not.
    put("audit-000000000001.jsonl", &all[..3]);
    fs::remove_file(host.host.log.join("audit-000000000004.jsonl")).unwrap();
    let ran = host.run(&["audit", "verify"]);
    assert_eq!(ran.exit, Exit::Failed);
    assert!(ran.out.contains("audit.jsonl:1: removal: record 8 is where record 4 must be"), "{}", ran.out);
    assert!(ran.out.contains("valid before it: 3 records"), "{}", ran.out);
}

#[test]
fn accepts_records_removed_by_retention_as_the_log_states() {
    let host = TestHost::new("");
    let mut log = sample();
    log.add("rotated", ",\"file\":\"audit-000000000004.jsonl\",\"kept\":4").add("stop", "");
    let all = lines(&log);
    let put = |name: &str, part: &[Vec<u8>]| fs::write(host.host.log.join(name), part.concat()).unwrap();
    put("audit-000000000004.jsonl", &all[3..10]);
    put("audit.jsonl", &all[10..]);
    let ran = host.run(&["audit", "verify"]);
    assert_eq!(ran.exit, Exit::Done, "{}", ran.out);
    assert!(ran.err.contains("the records before 4 were removed by retention"), "{}", ran.err);
    // More than that is missing.
    put("audit-000000000006.jsonl", &all[5..10]);
    fs::remove_file(host.host.log.join("audit-000000000004.jsonl")).unwrap();
    let ran = host.run(&["audit", "verify"]);
    assert!(ran.out.contains("removal: the records 4 to 5 are not here"), "{}", ran.out);
}

#[test]
fn reads_compressed_files() {
    use std::io::Write;
    let host = TestHost::new("");
    let all = lines(&sample());
    let put = |name: &str, bytes: &[u8]| fs::write(host.host.log.join(name), bytes).unwrap();
    let gzip = |bytes: &[u8]| {
        let mut file = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::default());
        file.write_all(bytes).unwrap();
        file.finish().unwrap()
    };
    let zstd =
        |bytes: &[u8]| ruzstd::encoding::compress_to_vec(bytes, ruzstd::encoding::CompressionLevel::Fastest);
    put("audit-000000000001.jsonl.gz", &[gzip(&all[0]), gzip(&all[1..3].concat())].concat());
    put("audit-000000000004.jsonl.zst", &[zstd(&all[3]), zstd(&all[4..7].concat())].concat());
    // The packed form of a file that is still there does not count.
    put("audit-000000000008.jsonl", &all[7]);
    put("audit-000000000008.jsonl.gz", b"\x1f\x8bhalf");
    put("audit.jsonl", &all[8..].concat());
    let ran = host.run(&["audit", "verify"]);
    assert!(ran.out.starts_with("valid: 10 records (1 to 10) in 4 files"), "{}{}", ran.out, ran.err);
    assert_eq!(host.run(&["audit", "show", "--json"]).out.lines().count(), 10);
    // A truncated compressed file is not read as a log.
    let packed = zstd(&all[3..7].concat());
    put("audit-000000000004.jsonl.zst", &packed[..packed.len() - 5]);
    assert_eq!(host.run(&["audit", "verify"]).exit, Exit::Failed);
    let packed = gzip(&all[3..7].concat());
    fs::remove_file(host.host.log.join("audit-000000000004.jsonl.zst")).unwrap();
    put("audit-000000000004.jsonl.gz", &packed[..packed.len() - 9]);
    assert_eq!(host.run(&["audit", "verify"]).exit, Exit::Failed);
    put("audit-000000000004.jsonl.gz", b"\xfd7zXZ\0 and so on");
    assert!(host.run(&["audit", "verify"]).err.contains("unpack it first"));
}

#[test]
fn names_the_kind_of_tampering() {
    let all = lines(&sample());
    let kind = |lines: Vec<Vec<u8>>| verify(&lines.concat())["bad"]["kind"].as_str().unwrap().to_owned();
    let with = |edit: &dyn Fn(&mut Vec<Vec<u8>>)| {
        let mut lines = all.clone();
        edit(&mut lines);
        kind(lines)
    };
    assert_eq!(with(&|lines| lines[4][150] ^= 1), "modification");
    assert_eq!(with(&|lines| lines[4] = b"gone\n".to_vec()), "modification");
    assert_eq!(with(&|lines| drop(lines.remove(4))), "removal");
    assert_eq!(with(&|lines| drop(lines.drain(..4))), "removal");
    assert_eq!(with(&|lines| lines.swap(2, 7)), "reordering");
    assert_eq!(with(&|lines| lines.rotate_left(3)), "reordering");
    assert_eq!(with(&|lines| lines.insert(6, all[2].clone())), "insertion");
    assert_eq!(with(&|lines| lines.insert(10, all[9].clone())), "insertion");
    assert_eq!(with(&|lines| lines.insert(6, b"{}\n".to_vec())), "insertion");
    assert_eq!(with(&|lines| lines[9].truncate(50)), "truncation");
    // Added with a right hash of its own, before the record that had the number.
    let mut forged = Log::new();
    forged.bytes = all[..3].concat();
    (forged.seq, forged.prev) = (3, verify(&forged.bytes)["last_hash"].as_str().unwrap().to_owned());
    forged.add("served", "");
    assert_eq!(with(&|lines| lines.insert(3, split(&forged.bytes)[3].clone())), "insertion");
    // In its place.
    assert_eq!(with(&|lines| lines[3] = split(&forged.bytes)[3].clone()), "modification");
}

#[test]
fn a_missing_log_is_an_error() {
    let host = TestHost::new("");
    let ran = host.run(&["audit", "verify"]);
    assert_eq!(ran.exit, Exit::Failed);
    assert!(ran.err.contains("there is no audit log"), "{}", ran.err);
}
