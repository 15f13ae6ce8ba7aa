//! Every random alteration of a log is found, or reported as not provable from the file alone.

use crate::log::{KEY, Log, lines, sample, sealed};
use crate::support::TestHost;
use serde_json::Value;
use std::fs;

/// Numbers that are the same at every run (xorshift, Marsaglia 2003).
struct Random(u64);

impl Random {
    fn below(&mut self, most: usize) -> usize {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        usize::try_from(self.0 % most as u64).unwrap()
    }
}

/// An altered log, and the kinds of fault that may be reported for it; empty if any may.
struct Altered {
    bytes: Vec<u8>,
    what: String,
    kinds: &'static [&'static str],
}

fn alter(log: &[u8], random: &mut Random) -> Altered {
    let mut all = lines(log);
    let (at, to) = (random.below(all.len()), random.below(all.len()));
    let (what, kinds): (String, &[&str]) = match random.below(7) {
        0 => {
            let byte = random.below(log.len());
            let mut bytes = log.to_vec();
            bytes[byte] ^= u8::try_from(1 + random.below(255)).unwrap();
            return Altered { bytes, what: format!("byte {byte} changed"), kinds: &[] };
        }
        1 => {
            let (from, len) = (random.below(log.len()), 1 + random.below(700));
            let bytes = [&log[..from], log.get(from + len..).unwrap_or_default()].concat();
            return Altered { bytes, what: format!("{len} bytes cut out at {from}"), kinds: &[] };
        }
        2 => {
            let end = random.below(log.len());
            return Altered {
                bytes: log[..end].to_vec(),
                what: format!("cut off at {end}"),
                kinds: &["truncation"],
            };
        }
        3 => {
            all.remove(at);
            (format!("line {at} dropped"), &["removal", "truncation"])
        }
        4 => {
            all.insert(to, all[at].clone());
            (format!("line {at} repeated at {to}"), &["insertion", "reordering"])
        }
        5 => {
            let to = if at == to { (at + 1) % all.len() } else { to };
            all.swap(at, to);
            (format!("lines {at} and {to} swapped"), &["reordering"])
        }
        _ => {
            let strange = [&b"\n"[..], b"{}\n", b"{\"v\":1,\"seq\":3}\n", b"\0\xff\n"];
            all.insert(to, strange[random.below(strange.len())].to_vec());
            (format!("a strange line inserted at {to}"), &["insertion", "truncation"])
        }
    };
    Altered { bytes: all.concat(), what, kinds }
}

fn verify(host: &TestHost, bytes: &[u8], options: &[&str]) -> Value {
    fs::write(host.host.log.join("audit.jsonl"), bytes).unwrap();
    serde_json::from_str(&host.run(&[&["audit", "verify", "--json"], options].concat()).out).unwrap()
}

fn every_alteration_is_found(log: &Log, options: &[&str], seed: u64) {
    let host = TestHost::new("");
    let key = host.host.state.join("key");
    fs::write(&key, KEY).unwrap();
    let options = options.iter().map(|option| if *option == "KEY" { key.to_str().unwrap() } else { option });
    let options = options.collect::<Vec<_>>();
    let tip = format!("{}:{}", log.seq, log.prev);
    let mut random = Random(seed);
    // A torn line that was moved can be told in several ways.
    let is_torn = String::from_utf8_lossy(&log.bytes).contains("\"event\":\"torn\"");
    for number in 0..400 {
        let Altered { bytes, what, kinds } = alter(&log.bytes, &mut random);
        let found = verify(&host, &bytes, &options);
        let is_prefix = log.bytes.starts_with(&bytes) && (bytes.is_empty() || bytes.ends_with(b"\n"));
        if is_prefix {
            // No file shows that its end was cut off between two records. It is said how far it goes.
            assert_ne!(found["last_seq"], log.seq, "{number}: {what}");
            assert_eq!(found["tail"], "not_proven", "{number}: {what}: {found}");
        } else {
            assert_eq!(found["valid"], false, "{number}: {what}");
        }
        // With a tip it is found in any case.
        let found = verify(&host, &bytes, &[&options[..], &["--tip", &tip]].concat());
        assert_eq!(found["valid"], false, "{number}: {what}");
        let kind = found["bad"]["kind"].as_str().unwrap();
        assert!(
            is_torn || kinds.is_empty() || kinds.contains(&kind),
            "{number}: {what} is told as {kind}: {found}"
        );
    }
    assert_eq!(verify(&host, &log.bytes, &[&options[..], &["--tip", &tip]].concat())["valid"], true);
}

#[test]
fn detects_every_alteration_of_an_unsealed_log() {
    every_alteration_is_found(&sample(), &[], 0x2545_f491_4f6c_dd1d);
}

#[test]
fn detects_every_alteration_of_a_log_with_a_torn_line() {
    let mut log = sample();
    log.add_torn(b"{\"v\":1,\"seq\":11,\"ti").add("start", "").add("stop", "");
    every_alteration_is_found(&log, &[], 0xbf58_476d_1ce4_e5b9);
}

#[test]
fn detects_every_alteration_of_a_sealed_log() {
    every_alteration_is_found(&sealed(), &["--key", "KEY"], 0x9e37_79b9_7f4a_7c15);
}

/// Root, who can make all hashes anew, writes one record otherwise and all that follow to fit.
#[test]
fn detects_a_log_rewritten_by_root_with_a_key_or_a_tip() {
    let log = sealed();
    let host = TestHost::new("");
    let key = host.host.state.join("key");
    fs::write(&key, KEY).unwrap();
    let tip = format!("{}:{}", log.seq, log.prev);
    for at in 0..lines(&log.bytes).len() {
        let mut forged = Log::new();
        for (number, line) in String::from_utf8(log.bytes.clone()).unwrap().lines().enumerate() {
            let (event, members) = line.split_once("\"event\":\"").unwrap().1.split_once('"').unwrap();
            let members = members.split_once(",\"prev\"").unwrap().0;
            let seal = line.rsplit_once(",\"seal\"").unwrap().1;
            let members =
                if number == at { format!("{members},\"task\":\"other\"") } else { members.to_owned() };
            let (line, hash) = forged.line(event, &members);
            forged
                .bytes
                .extend_from_slice(format!("{},\"seal\"{seal}\n", line.trim_end_matches('}')).as_bytes());
            (forged.seq, forged.prev) = (forged.seq + 1, hash);
        }
        assert_eq!(verify(&host, &forged.bytes, &[])["valid"], true, "hashes alone show nothing");
        let found = verify(&host, &forged.bytes, &["--key", key.to_str().unwrap()]);
        assert_eq!(found["bad"]["line"], at + 1, "{found}");
        assert_eq!(found["bad"]["kind"], "modification");
        assert_eq!(verify(&host, &forged.bytes, &["--tip", &tip])["valid"], false);
    }
}
