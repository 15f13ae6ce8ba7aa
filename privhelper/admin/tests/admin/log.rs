//! A writer of logs after CONTRACTS 7, independent of the helper's.

use sha2::{Digest, Sha256};
use std::fmt::Write as _;

/// A log under construction.
#[derive(Clone)]
pub struct Log {
    pub bytes: Vec<u8>,
    pub seq: u64,
    prev: String,
}

pub fn sha256(bytes: &[u8]) -> String {
    Sha256::digest(bytes).iter().fold(String::new(), |mut hex, byte| {
        write!(hex, "{byte:02x}").unwrap();
        hex
    })
}

impl Log {
    pub fn new() -> Self {
        Self { bytes: Vec::new(), seq: 0, prev: "0".repeat(64) }
    }

    /// The next record's line without LF, and its hash.
    pub fn line(&self, event: &str, members: &str) -> (String, String) {
        let seq = self.seq + 1;
        let head = format!("{{\"v\":1,\"seq\":{seq},\"time\":\"2026-11-21T04:13:14.00000{}Z\"", seq % 10);
        let boot = "\"boot_id\":\"6b2f8a0e-0000-4000-8000-000000000000\"";
        let signed = format!("{head},{boot},\"event\":\"{event}\"{members},\"prev\":\"{}\"", self.prev);
        let hash = sha256(signed.as_bytes());
        (format!("{signed},\"hash\":\"{hash}\"}}"), hash)
    }

    /// Appends a record; `members` begin with a comma or are empty.
    pub fn add(&mut self, event: &str, members: &str) -> &mut Self {
        let (line, hash) = self.line(event, members);
        self.bytes.extend_from_slice(line.as_bytes());
        self.bytes.push(b'\n');
        (self.seq, self.prev) = (self.seq + 1, hash);
        self
    }

    /// A crash cut the next record short; the helper names at its start what it found.
    pub fn add_torn(&mut self, fragment: &[u8]) -> &mut Self {
        self.bytes.extend_from_slice(fragment);
        self.bytes.push(b'\n');
        let members = format!(",\"size\":{},\"sha256\":\"{}\"", fragment.len(), sha256(fragment));
        self.add("torn", &members)
    }
}

/// Records of a short life.
pub fn sample() -> Log {
    let mut log = Log::new();
    let id = "0199a0b0-0000-7000-8000-00000000000";
    log.add("start", ",\"policy\":\"00\"");
    for n in 1..=4 {
        let who = ",\"client\":{\"name\":\"agent\",\"uid\":990,\"gid\":990,\"pid\":7},\"claimed_by\":{\"uid\":1000}";
        let verb = ",\"verb\":\"package.install\",\"args\":{\"packages\":[{\"name\":\"nginx-light\",\"version\":\"1.22\"},{\"name\":\"hello\"}]}";
        let rule = ",\"rule\":\"web\",\"decision\":\"allow\"";
        log.add("begin", &format!(",\"request_id\":\"{id}{n}\"{who}{verb}{rule}"));
        let outcome = ",\"outcome\":{\"status\":\"done\"},\"duration_us\":1500000";
        log.add("end", &format!(",\"request_id\":\"{id}{n}\"{who}{verb}{rule}{outcome}"));
    }
    log.add("stop", "");
    log
}
