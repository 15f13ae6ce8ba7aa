//! Measures the verification of a log of a gigabyte: `cargo bench -p postern-admin --bench verify`.
//!
//! Times are one core's with the log in the page cache; memory is the process's peak, for logs of one and of ten
//! million records side by side.

#![expect(clippy::disallowed_methods, reason = "benches make the files that they are about")]

use postern_admin::audit::{Extent, Proof, verify};
use postern_policy::types::Digest;
use postern_seal::{Epoch, Key};
use std::fs::File;
use std::io::{BufWriter, Write};
use std::path::{Path, PathBuf};
use std::time::Instant;

const SEED: &str = "00112233445566778899aabbccddeeff00112233445566778899aabbccddeeff";
const MIB: u64 = 1 << 20;

/// Writes so many records as the helper does, sealed if there is an epoch.
fn write(path: &Path, records: u64, epoch: Option<&Epoch>) {
    let mut file = BufWriter::new(File::create(path).expect("a file"));
    let mut prev = Digest::ZERO;
    let mut key: Option<Key> = epoch.map(Epoch::key);
    for seq in 1..=records {
        let own = if seq == 1 && key.is_some() { ",\"epoch\":0,\"since\":1" } else { "" };
        let event = if seq == 1 { "start" } else { "served" };
        let signed = format!(
            "{{\"v\":1,\"seq\":{seq},\"time\":\"2026-11-21T04:13:14.000001Z\",\"boot_id\":\"6b2f8a0e-0000-4000-8000-000000000000\",\"event\":\"{event}\"{own},\"request_id\":\"0199a0b0-0000-7000-8000-{seq:012}\",\"client\":{{\"name\":\"agent\",\"uid\":990,\"gid\":990,\"pid\":7}},\"verb\":\"unit.status\",\"args\":{{\"unit\":\"nginx.service\"}},\"rule\":\"web-unit\",\"decision\":\"allow\",\"prev\":\"{prev}\""
        );
        prev = Digest::of(&[signed.as_bytes()]);
        write!(file, "{signed},\"hash\":\"{prev}\"").expect("room");
        if let Some(with) = key.take() {
            write!(file, ",\"seal\":\"{}\"", with.seal(prev)).expect("room");
            key = Some(with.next());
        }
        writeln!(file, "}}").expect("room");
    }
    file.flush().expect("room");
}

/// The most memory that this process ever held, in KiB (proc(5)).
fn peak() -> u64 {
    let status = std::fs::read_to_string("/proc/self/status").expect("Linux");
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:")).expect("a peak");
    line.trim().trim_end_matches(" kB").parse().expect("a number")
}

fn measure(name: &str, file: PathBuf, proof: &Proof) {
    let size = file.metadata().expect("a log").len();
    let files = [file];
    let micros = (0..5).map(|_| {
        let start = Instant::now();
        let verdict = verify(&files, Extent::Installed, proof).expect("a log");
        assert!(verdict.bad.is_none(), "{:?}", verdict.bad);
        start.elapsed().as_micros()
    });
    let micros = micros.collect::<Vec<_>>();
    // Bytes in a microsecond are MB in a second.
    let rate = |micros: Option<&u128>| u128::from(size) / micros.copied().unwrap_or(1).max(1);
    let (slow, fast) = (rate(micros.iter().max()), rate(micros.iter().min()));
    println!("{name}: {} MiB, {slow} to {fast} MB/s in 5 runs, peak {} KiB", size / MIB, peak());
}

fn main() {
    let directory = tempfile::tempdir().expect("a directory");
    let at = |name: &str| directory.path().join(name);
    let epoch = Epoch::new(0, SEED);
    let sealed = Proof { epoch: epoch.clone(), ..Proof::default() };
    for (name, records, epoch, proof) in [
        ("1 million records, unsealed", 1_000_000, None, &Proof::default()),
        ("1 million records, seals checked", 1_000_000, epoch.as_ref(), &sealed),
        ("1 GiB, unsealed", 2_200_000, None, &Proof::default()),
        ("10 million records, seals checked", 10_000_000, epoch.as_ref(), &sealed),
    ] {
        let path = at("audit.jsonl");
        write(&path, records, epoch);
        measure(name, path, proof);
    }
}
