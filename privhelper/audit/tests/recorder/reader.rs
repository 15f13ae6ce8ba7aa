//! Reads a log as `AUDIT.md` says, with a parser of JSON's: another way than the writer's.

use postern_audit::log::Location;
use postern_policy::types::Digest;
use postern_seal::{Epoch, Key, Public, Tip};
use std::path::Path;
use std::time::{SystemTime, UNIX_EPOCH};

pub const SEED: &str = "00112233445566778899aabbccddeeff00112233445566778899aabbccddeeff";

pub fn epoch0() -> Epoch {
    Epoch::new(0, SEED).unwrap()
}

/// A place for a log, its seal's files included, all in one directory.
pub fn location(directory: &Path) -> Location {
    Location {
        log: directory.to_owned(),
        next: directory.join("next"),
        running: directory.join("running"),
        journal: directory.join("journal"),
        boot_id: "00000000-0000-4000-8000-000000000000".to_owned(),
        now: SystemTime::now,
        since_boot: || SystemTime::now().duration_since(UNIX_EPOCH).unwrap(),
    }
}

/// Independent verifier of a log, from the first seed and the first public key on.
pub struct Reader {
    pub key: Option<(u64, u64, Key)>,
    pub public: Vec<Public>,
    next: Option<(u64, Digest)>,
    pub signatures: usize,
}

impl Reader {
    pub fn new() -> Self {
        Self { key: None, public: vec![epoch0().signer().public()], next: None, signatures: 0 }
    }

    pub fn line(&mut self, line: &str) -> Result<(), String> {
        let json: serde_json::Value = serde_json::from_str(line).map_err(|_| "no record")?;
        let hex = |name: &str| json[name].as_str().and_then(Digest::from_hex);
        let (seq, prev, hash) = (json["seq"].as_u64().unwrap(), hex("prev").unwrap(), hex("hash").unwrap());
        if self.next.is_some_and(|next| next != (seq, prev)) {
            return Err(format!("{seq} does not follow"));
        }
        let signed = line.rsplit_once(",\"hash\":\"").unwrap().0;
        if Digest::of(&[signed.as_bytes()]) != hash {
            return Err(format!("{seq} was changed"));
        }
        if let (Some(epoch), Some(since)) = (json["epoch"].as_u64(), json["since"].as_u64()) {
            let seed = (0..epoch).fold(epoch0(), |epoch, _| epoch.next());
            let key = (since..seq).fold(seed.key(), |key, _| key.next());
            if self.key.as_ref().is_none_or(|(known, ..)| *known != epoch) {
                assert_eq!(since, seq, "an epoch begins where it says");
                self.key = Some((epoch, since, key));
            }
        }
        match &mut self.key {
            Some((_, _, key)) => {
                if hex("seal") != Some(key.seal(hash)) {
                    return Err(format!("{seq} has not its seal"));
                }
                *key = key.next();
            }
            None => assert!(json["seal"].is_null()),
        }
        if json["event"] == "sealed" {
            let key = |value: &serde_json::Value| value.as_str().and_then(Public::from_hex).unwrap();
            let (public, next) = (key(&json["public"]), key(&json["next"]));
            let boots = [key(&json["boots"][0]), key(&json["boots"][1])];
            let tip = Tip { epoch: json["epoch"].as_u64().unwrap(), seq: seq - 1, hash: prev, next, boots };
            if !self.public.contains(&public) || !public.verify(&tip, json["signature"].as_str().unwrap()) {
                return Err(format!("{seq} is not signed"));
            }
            self.public = vec![next, boots[0], boots[1]];
            self.signatures += 1;
        }
        self.next = Some((seq + 1, hash));
        Ok(())
    }
}

pub fn verified(lines: &[String]) -> Reader {
    let mut reader = Reader::new();
    for line in lines {
        reader.line(line).unwrap();
    }
    reader
}
