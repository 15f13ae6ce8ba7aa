//! Verifying a log takes memory that does not grow with it. On its own, so that nothing else that this process does
//! counts; `cargo bench --bench verify` does the same with ten million records, which takes an optimized build.

#![expect(clippy::disallowed_methods, reason = "tests make the files that they are about")]

use postern_admin::audit::{Extent, Proof, verify};
use postern_policy::types::Digest;
use postern_seal::Epoch;
use std::fs::File;
use std::io::{BufWriter, Write};
use std::path::Path;

const SEED: &str = "00112233445566778899aabbccddeeff00112233445566778899aabbccddeeff";

/// Writes so many sealed records, as short as they can be.
fn write(path: &Path, records: u64) {
    let mut file = BufWriter::new(File::create(path).unwrap());
    let (mut prev, mut key) = (Digest::ZERO, Epoch::new(0, SEED).unwrap().key());
    let own = "\"event\":\"start\",\"epoch\":0,\"since\":1";
    for seq in 1..=records {
        let event = if seq == 1 { own } else { "\"event\":\"served\"" };
        let time = "2026-11-21T04:13:14.000001Z";
        let signed = format!("{{\"v\":1,\"seq\":{seq},\"time\":\"{time}\",{event},\"prev\":\"{prev}\"");
        prev = Digest::of(&[signed.as_bytes()]);
        writeln!(file, "{signed},\"hash\":\"{prev}\",\"seal\":\"{}\"}}", key.seal(prev)).unwrap();
        key = key.next();
    }
    file.flush().unwrap();
}

/// The most memory that this process ever held, in KiB (proc(5)).
fn peak() -> u64 {
    let status = std::fs::read_to_string("/proc/self/status").unwrap();
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:")).unwrap();
    line.trim().trim_end_matches(" kB").parse().unwrap()
}

#[test]
fn memory_does_not_grow_while_verifying_a_million_records() {
    let directory = tempfile::tempdir().unwrap();
    let proof = Proof { epoch: Epoch::new(0, SEED), ..Proof::default() };
    let verified = |records: u64| {
        let path = directory.path().join("audit.jsonl");
        write(&path, records);
        let verdict = verify(&[path], Extent::Installed, &proof).unwrap();
        assert_eq!((verdict.records, verdict.bad, verdict.state.checked_from), (records, None, Some(1)));
    };
    verified(1_000);
    let before = peak();
    verified(1_000_000);
    assert!(peak() < before + 512, "{before} KiB grew to {} KiB", peak());
}
