//! A writer of logs after `privhelper/audit/AUDIT.md`, independent of the recorder's.

use postern_policy::types::Digest;
use postern_seal::{Epoch, Key, Signer, Tip};
use sha2::{Digest as _, Sha256};
use std::fmt::Write as _;

/// The key that `audit keygen` made of the logs here.
pub const KEY: &str = "00112233445566778899aabbccddeeff00112233445566778899aabbccddeeff";

/// A log under construction.
#[derive(Clone)]
pub struct Log {
    pub bytes: Vec<u8>,
    pub seq: u64,
    pub prev: String,
    pub seal: Option<Seal>,
    /// The time of the next records, if it is not the usual one.
    pub time: Option<String>,
}

/// The keys of a log that is sealed.
#[derive(Clone)]
pub struct Seal {
    pub epoch: Epoch,
    pub since: u64,
    pub key: Key,
    pub signer: Signer,
}

pub fn sha256(bytes: &[u8]) -> String {
    Sha256::digest(bytes).iter().fold(String::new(), |mut hex, byte| {
        write!(hex, "{byte:02x}").unwrap();
        hex
    })
}

impl Log {
    pub fn new() -> Self {
        Self { bytes: Vec::new(), seq: 0, prev: "0".repeat(64), seal: None, time: None }
    }

    /// The next records are of this time of the usual day, `HH:MM:SS`.
    pub fn at(&mut self, time: &str) -> &mut Self {
        self.time = Some(format!("2026-11-21T{time}.000000Z"));
        self
    }

    /// The next record's line without LF, and its hash.
    pub fn line(&self, event: &str, members: &str) -> (String, String) {
        let seq = self.seq + 1;
        let time = match &self.time {
            Some(time) => time.clone(),
            None => format!("2026-11-21T04:13:14.00000{}Z", seq % 10),
        };
        let head = format!("{{\"v\":1,\"seq\":{seq},\"time\":\"{time}\"");
        let boot = "\"boot_id\":\"6b2f8a0e-0000-4000-8000-000000000000\"";
        let signed = format!("{head},{boot},\"event\":\"{event}\"{members},\"prev\":\"{}\"", self.prev);
        let hash = sha256(signed.as_bytes());
        let seal = self.seal.as_ref().map_or_else(String::new, |seal| {
            format!(",\"seal\":\"{}\"", seal.key.seal(Digest::from_hex(&hash).unwrap()))
        });
        (format!("{signed},\"hash\":\"{hash}\"{seal}}}"), hash)
    }

    /// Appends a record; `members` begin with a comma or are empty.
    pub fn add(&mut self, event: &str, members: &str) -> &mut Self {
        let (line, hash) = self.line(event, members);
        self.bytes.extend_from_slice(line.as_bytes());
        self.bytes.push(b'\n');
        (self.seq, self.prev) = (self.seq + 1, hash);
        if let Some(seal) = &mut self.seal {
            seal.key = seal.key.next();
        }
        self
    }

    /// A crash cut the next record short; the helper names at its start what it found.
    pub fn add_torn(&mut self, fragment: &[u8]) -> &mut Self {
        self.bytes.extend_from_slice(fragment);
        self.bytes.push(b'\n');
        let members =
            format!("{},\"size\":{},\"sha256\":\"{}\"", self.own(), fragment.len(), sha256(fragment));
        self.add("torn", &members)
    }

    /// The epoch of this number begins with the next record.
    pub fn enter(&mut self, number: u64) -> &mut Self {
        let epoch = (0..number).fold(Epoch::new(0, KEY).unwrap(), |epoch, _| epoch.next());
        let (key, signer) = (epoch.key(), epoch.signer());
        self.seal = Some(Seal { epoch, since: self.seq + 1, key, signer });
        self
    }

    /// The members that name the epoch.
    pub fn own(&self) -> String {
        let seal = self.seal.as_ref();
        seal.map_or_else(String::new, |seal| {
            format!(",\"epoch\":{},\"since\":{}", seal.epoch.number, seal.since)
        })
    }

    /// Signs the last record.
    pub fn sign(&mut self) -> &mut Self {
        let own = self.own();
        let Some(Seal { epoch, signer, .. }) = &mut self.seal else { panic!("there are no keys") };
        let (public, hash) = (signer.public(), Digest::from_hex(&self.prev).unwrap());
        let boots = [epoch.next().signer().public(), epoch.next().next().signer().public()];
        let tip = Tip { epoch: epoch.number, seq: self.seq, hash, next: signer.next().public(), boots };
        let (next, signature, [first, second]) = (tip.next, signer.sign(&tip), boots);
        *signer = signer.next();
        let keys =
            format!(",\"public\":\"{public}\",\"next\":\"{next}\",\"boots\":[\"{first}\",\"{second}\"]");
        self.add("sealed", &format!("{own}{keys},\"signature\":\"{signature}\""))
    }

    /// A boot's records: it starts, works, and stops if it comes to that.
    pub fn boot(&mut self, number: u64, stops: bool) -> &mut Self {
        self.enter(number);
        self.add("start", &self.own()).sign();
        for name in ["a", "b", "c"] {
            self.add(
                "served",
                &format!(",\"verb\":\"unit.status\",\"args\":{{\"unit\":\"{name}.service\"}}"),
            );
        }
        if stops {
            self.add("stop", "").sign();
        }
        self
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

/// Three boots, all sealed, one of which left no record and one of which ended without `stop`.
pub fn sealed() -> Log {
    let mut log = Log::new();
    log.boot(0, true).boot(2, false).boot(3, true);
    log
}

/// The lines of a log, each with its LF.
pub fn lines(bytes: &[u8]) -> Vec<Vec<u8>> {
    bytes.split_inclusive(|byte| *byte == b'\n').map(<[u8]>::to_vec).collect()
}
