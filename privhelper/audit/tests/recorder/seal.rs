//! The seal: keys that move on, epochs, signatures, and a log that does not fit them.

use crate::reader::{Reader, SEED, epoch0, location, verified};
use postern_audit::log::{AuditLog, Event, Limits, Location, Record};
use postern_policy::types::Digest;
use postern_proto::root::v1::Claim;
use postern_seal::{Epoch, RunningKeys, Tip, hmac};
use std::io::Write;
use std::path::Path;
use tempfile::TempDir;

const OTHER_BOOT: &str = "11111111-0000-4000-8000-000000000000";

/// A directory with a log to be, sealed from its first record.
fn sealed() -> (TempDir, Location) {
    let directory = tempfile::tempdir_in(env!("CARGO_TARGET_TMPDIR")).unwrap();
    let location = location(directory.path());
    std::fs::write(&location.next, epoch0().encode()).unwrap();
    (directory, location)
}

fn start(location: &Location) -> AuditLog {
    let log = AuditLog::open(location).unwrap();
    log.durable(Event::Start, &Record::default()).unwrap();
    log.sign().unwrap();
    log
}

fn lines(directory: &Path) -> Vec<String> {
    let text = std::fs::read_to_string(directory.join("audit.jsonl")).unwrap();
    text.lines().map(str::to_owned).collect()
}

fn events(lines: &[String], event: &str) -> usize {
    lines.iter().filter(|line| line.contains(&format!("\"event\":\"{event}\""))).count()
}

#[test]
fn computes_hmac_of_rfc_4231() {
    let long = [0xaa; 131];
    let counted: Vec<u8> = (1..=25).collect();
    let cases: [(&[u8], &[u8], &str); 6] = [
        (&[0x0b; 20], b"Hi There", "b0344c61d8db38535ca8afceaf0bf12b881dc200c9833da726e9376c2e32cff7"),
        (
            b"Jefe",
            b"what do ya want for nothing?",
            "5bdcc146bf60754e6a042426089575c75a003f089d2739839dec58b964ec3843",
        ),
        (&[0xaa; 20], &[0xdd; 50], "773ea91e36800e46854db8ebd09181a72959098b3ef8c122d9635514ced565fe"),
        (&counted, &[0xcd; 50], "82558a389a443c0ea4cc819899f2083a85f0faa3e578f8077a2e3ff46729665b"),
        (
            &long,
            b"Test Using Larger Than Block-Size Key - Hash Key First",
            "60e431591ee0b67f0d8a26aacbf5b77f8e0bc6213728c5140546040f0ee37f54",
        ),
        (
            &long,
            b"This is a test using a larger than block-size key and a larger than block-size data. The key needs to be hashed before being used by the HMAC algorithm.",
            "9b09ffa71b942fcb27635fbcd5b0e944bfdc63644f0713938a7f51535c3a35e2",
        ),
    ];
    for (key, message, mac) in cases {
        assert_eq!(hmac(key, message).to_string(), mac);
    }
}

#[test]
fn derives_keys_as_audit_md_says() {
    let seed = Digest::from_hex(SEED).unwrap();
    let of = |label: &str, from: Digest| Digest::of(&[label.as_bytes(), from.as_bytes()]);
    let epoch1 = of("postern epoch 1\n", seed);
    assert_eq!(epoch0().next(), Epoch::new(1, &epoch1.to_string()).unwrap());
    let key = of("postern boot 1\n", seed);
    let hash = Digest::of(&[b"x"]);
    assert_eq!(epoch0().key().seal(hash), hmac(key.as_bytes(), hash.as_bytes()));
    let key = of("postern seal 1\n", key);
    assert_eq!(epoch0().key().next().seal(hash), hmac(key.as_bytes(), hash.as_bytes()));
    let pair = |seed: Digest| ed25519_compact::KeyPair::from_seed(ed25519_compact::Seed::new(seed.array()));
    let signer = of("postern sign 1\n", seed);
    assert_eq!(epoch0().signer().public().to_string(), hex(&*pair(signer).pk));
    assert_eq!(epoch0().signer().next().public().to_string(), hex(&*pair(of("postern sign 1\n", signer)).pk));
}

/// 32 bytes at a time, as digests are shown.
fn hex(bytes: &[u8]) -> String {
    bytes.chunks(32).map(|half| Digest::from_bytes(half).unwrap().to_string()).collect()
}

/// Something that is done to a log.
type Touch<'a> = &'a dyn Fn(&Location);

#[test]
fn signs_as_rfc_8032_says() {
    // Section 7.1, test 1: the library's own check, for it stands under every signature here.
    let seed = Digest::from_hex("9d61b19deffd5a60ba844af492ec2cc44449c5697b326919703bac031cae7f60").unwrap();
    let pair = ed25519_compact::KeyPair::from_seed(ed25519_compact::Seed::new(seed.array()));
    assert_eq!(hex(&*pair.pk), "d75a980182b10ab7d54bfed3c964073a0ee172f3daa62325af021a68f707511a");
    assert_eq!(
        hex(pair.sk.sign(b"", None).as_ref()),
        "e5564300c360ac729086e2cc806e828a84877f1eb8e5d974d873e065224901555fb8821590a33bacc61e39701cf9b46bd25bf5f0595bbe24655141438e7a100b"
    );
}

#[test]
fn rejects_seal_files_of_any_other_form() {
    let epoch = epoch0().next();
    assert_eq!(epoch.encode().len(), 94);
    assert_eq!(Epoch::decode(epoch.encode().as_bytes()), Some(epoch.clone()));
    let running = RunningKeys::begin(&epoch, OTHER_BOOT, 7, Digest::of(&[b"x"]));
    assert_eq!(RunningKeys::decode(running.encode().as_bytes()), Some(running.clone()));
    for (from, to) in [("1\n", "2\n"), ("\n0", "\n+"), ("\n", "\r\n"), ("a", "A")] {
        assert_eq!(Epoch::decode(epoch.encode().replacen(from, to, 1).as_bytes()), None, "{from:?}");
        assert_eq!(RunningKeys::decode(running.encode().replacen(from, to, 1).as_bytes()), None, "{from:?}");
    }
    for cut in 0..94 {
        assert_eq!(Epoch::decode(&epoch.encode().as_bytes()[..cut]), None);
    }
    assert!(!format!("{epoch:?}{running:?}").contains(&epoch.seed_hex()), "a secret is never shown");
}

#[test]
fn seals_every_record_across_restarts_and_boots() {
    let (directory, mut location) = sealed();
    for boot in 0..3_u64 {
        location.boot_id = format!("{boot}1111111-0000-4000-8000-000000000000");
        for _ in 0..2 {
            let log = start(&location);
            log.begin(&Record::default()).unwrap();
            log.stop().unwrap();
        }
        assert_eq!(std::fs::read(&location.next).unwrap().len(), 94);
        assert_eq!(Epoch::decode(&std::fs::read(&location.next).unwrap()).unwrap().number, boot + 1);
    }
    let lines = lines(directory.path());
    let reader = verified(&lines);
    assert_eq!((lines.len(), reader.signatures, reader.key.unwrap().0), (3 * 2 * 5, 12, 2));
    assert_eq!(events(&lines, "tampered"), 0);
}

#[test]
fn writes_unsealed_records_and_says_so_before_keygen() {
    let directory = tempfile::tempdir_in(env!("CARGO_TARGET_TMPDIR")).unwrap();
    let log = start(&location(directory.path()));
    assert!(log.notes()[0].contains("unsealed: see `postern-admin audit keygen`"), "{:?}", log.notes());
    assert_eq!((lines(directory.path()).len(), verified(&lines(directory.path())).signatures), (1, 0));
    assert!(!location(directory.path()).running.exists());
}

#[test]
fn begins_to_seal_when_keygen_runs_and_signs_the_log_so_far() {
    let directory = tempfile::tempdir_in(env!("CARGO_TARGET_TMPDIR")).unwrap();
    let location = location(directory.path());
    let log = start(&location);
    std::fs::write(&location.next, epoch0().encode()).unwrap();
    log.tick();
    log.begin(&Record::default()).unwrap();
    let lines = lines(directory.path());
    assert_eq!((lines.len(), verified(&lines).signatures), (3, 1));
    assert!(lines[1].contains("\"event\":\"sealed\",\"epoch\":0,\"since\":2,"), "{}", lines[1]);
    assert!(log.notes().is_empty(), "{:?}", log.notes());
}

#[test]
fn current_keys_cannot_forge_an_earlier_record() {
    let (directory, location) = sealed();
    let log = start(&location);
    log.begin(&Record { claim: Claim { rule: "web".to_owned(), ..Claim::default() }, ..Record::default() })
        .unwrap();
    // An attacker who becomes root now has these keys and the seed of the next boot.
    let running = RunningKeys::decode(&std::fs::read(&location.running).unwrap()).unwrap();
    let next = Epoch::decode(&std::fs::read(&location.next).unwrap()).unwrap();
    drop(log);
    let mut forged = lines(directory.path());
    let honest = forged.pop().unwrap();
    let signed = honest.replace("\"web\"", "\"xyz\"");
    let signed = signed.rsplit_once(",\"hash\":\"").unwrap().0;
    let hash = Digest::of(&[signed.as_bytes()]);
    let keys = [running.key.clone(), running.key.next(), next.key(), next.next().key()];
    for key in keys {
        let line = format!("{signed},\"hash\":\"{hash}\",\"seal\":\"{}\"}}", key.seal(hash));
        let mut reader = verified(&forged);
        assert_eq!(reader.line(&line), Err("3 has not its seal".to_owned()));
    }
    // Nor sign it as an outsider checks it: the key that signed record 1 is gone.
    let tip = Tip { epoch: 0, seq: 1, hash, next: running.signer.public(), boots: running.boots };
    for signer in [running.signer.clone(), running.signer.next(), next.signer()] {
        assert!(!epoch0().signer().public().verify(&tip, &signer.sign(&tip)));
    }
}

#[test]
fn a_kill_between_log_and_keys_is_not_taken_for_tampering() {
    for event in [Event::Served, Event::Sealed] {
        let (directory, location) = sealed();
        let log = start(&location);
        let before = std::fs::read(&location.running).unwrap();
        if event == Event::Sealed {
            log.note(Event::Served, &Record::default()).unwrap();
            let before = std::fs::read(&location.running).unwrap();
            log.sign().unwrap();
            std::fs::write(&location.running, before).unwrap();
        } else {
            log.note(event, &Record::default()).unwrap();
            std::fs::write(&location.running, before).unwrap();
        }
        start(&location).stop().unwrap();
        let lines = lines(directory.path());
        verified(&lines);
        assert_eq!(events(&lines, "tampered"), 0, "{event:?}");
    }
}

#[test]
fn a_kill_before_the_seed_moved_on_is_repaired() {
    let (directory, location) = sealed();
    drop(start(&location));
    std::fs::write(&location.next, epoch0().encode()).unwrap();
    drop(start(&location));
    assert_eq!(std::fs::read_to_string(&location.next).unwrap(), epoch0().next().encode());
    assert_eq!(events(&lines(directory.path()), "tampered"), 0);
}

/// Changes a log of one boot while no recorder runs, and returns what the next one says of it.
fn done_to(touch: impl FnOnce(&Location)) -> (Vec<String>, Vec<String>) {
    let (directory, location) = sealed();
    let log = start(&location);
    for _ in 0..3 {
        log.begin(&Record::default()).unwrap();
    }
    drop(log);
    touch(&location);
    let log = start(&location);
    let notes = log.notes();
    (lines(directory.path()), notes)
}

fn rewrite(location: &Location, change: impl FnOnce(Vec<&str>) -> Vec<String>) {
    let path = location.log.join("audit.jsonl");
    let text = std::fs::read_to_string(&path).unwrap();
    std::fs::write(path, change(text.lines().collect()).join("\n") + "\n").unwrap();
}

#[test]
fn records_that_the_log_does_not_match_its_keys_and_continues_the_chain() {
    let cut =
        |location: &Location| rewrite(location, |lines| lines[..3].iter().map(ToString::to_string).collect());
    let changed = |location: &Location| {
        rewrite(location, |mut lines| {
            let last = lines.pop().unwrap().replace("begin", "ended");
            lines.into_iter().map(str::to_owned).chain([last]).collect()
        });
    };
    let added = |location: &Location| {
        let forged = AuditLog::open(&Location {
            running: location.log.join("x"),
            next: location.log.join("y"),
            ..location.clone()
        });
        forged.unwrap().begin(&Record::default()).unwrap();
    };
    let removed = |location: &Location| std::fs::remove_file(location.log.join("audit.jsonl")).unwrap();
    let keys = |location: &Location| std::fs::remove_file(&location.running).unwrap();
    let seed = |location: &Location| std::fs::remove_file(&location.next).unwrap();
    let cases: [(Touch<'_>, &str); 6] = [
        (&cut, "records 4 to 5 are gone"),
        (&changed, "the last record was changed"),
        (&added, "records 6 to 7 are not the recorder's"),
        (&removed, "records 1 to 5 are gone"),
        (&keys, "the keys of this boot are gone"),
        (&seed, "seal/next is not the seed of the epoch after this one"),
    ];
    for (touch, what) in cases {
        let (lines, notes) = done_to(touch);
        let told = lines.iter().find(|line| line.contains(&format!("\"detail\":\"{what}"))).expect(what);
        assert!(told.contains("\"event\":\"tampered\""), "{told}");
        assert!(notes.iter().any(|note| note.contains(what)), "{notes:?}");
        // From there on every record is sealed, behind the last that the keys know of.
        let mut reader = Reader::new();
        let at = lines.iter().position(|line| line == told).unwrap();
        if !what.contains("keys") {
            let key = (0..5).fold(epoch0().key(), |key, _| key.next());
            reader.key = Some((0, 1, key));
        }
        assert!(told.contains("\"seq\":6,"), "{told}");
        reader.public = Vec::new();
        for line in lines[at..].iter().filter(|line| !line.contains("\"sealed\"")) {
            reader.line(line).unwrap();
        }
    }
}

#[test]
fn records_that_another_process_changed_the_log() {
    let path = |location: &Location| location.log.join("audit.jsonl");
    let removed = |location: &Location| std::fs::remove_file(path(location)).unwrap();
    let renamed =
        |location: &Location| std::fs::rename(path(location), location.log.join("audit.jsonl.1")).unwrap();
    let replaced = |location: &Location| {
        std::fs::copy(path(location), location.log.join("new")).unwrap();
        std::fs::rename(location.log.join("new"), path(location)).unwrap();
    };
    let cut = |location: &Location| {
        std::fs::OpenOptions::new().write(true).open(path(location)).unwrap().set_len(0).unwrap();
    };
    let grown = |location: &Location| {
        std::fs::OpenOptions::new().append(true).open(path(location)).unwrap().write_all(b"hello").unwrap();
    };
    let cases: [(Touch<'_>, &str); 5] = [
        (&removed, "was removed or renamed, behind record 3"),
        (&renamed, "was removed or renamed, behind record 3"),
        (&replaced, "was replaced by another, behind record 3"),
        (&cut, " to 0, behind record 3"),
        (&grown, "has 5 bytes that the recorder did not write, behind record 3"),
    ];
    for (touch, what) in cases {
        let (directory, location) = sealed();
        let log = start(&location);
        log.begin(&Record::default()).unwrap();
        let before = lines(directory.path());
        touch(&location);
        log.begin(&Record::default()).unwrap();
        let after = lines(directory.path());
        let at = after.iter().position(|line| line.contains("\"event\":\"tampered\"")).expect(what);
        assert!(after[at].contains(what), "{}", after[at]);
        assert_eq!(log.notes().len(), 1);
        // The chain itself is whole: what is missing is missing in the file alone.
        verified(&[before, after[at..].to_vec()].concat());
        drop(log);
        start(&location);
        assert_eq!(events(&lines(directory.path()), "tampered"), 1, "it is told once");
    }
}

#[test]
fn rotates_a_large_file_and_continues_chain_and_seal() {
    let (directory, location) = sealed();
    let log = start(&location);
    log.limit(Limits { max_bytes: 2000, ..Limits::default() });
    for _ in 0..20 {
        log.begin(&Record::default()).unwrap();
        log.tick();
    }
    drop(log);
    start(&location).stop().unwrap();
    let mut files: Vec<_> = std::fs::read_dir(directory.path()).unwrap().map(|e| e.unwrap().path()).collect();
    files.retain(|path| path.extension().is_some_and(|extension| extension == "jsonl"));
    files.sort_by_key(|path| (path.ends_with("audit.jsonl"), path.clone()));
    assert!(files.len() > 3, "{files:?}");
    let mut all = Vec::new();
    for path in &files {
        let text = std::fs::read_to_string(path).unwrap();
        let lines: Vec<String> = text.lines().map(str::to_owned).collect();
        let first: serde_json::Value = serde_json::from_str(&lines[0]).unwrap();
        if !all.is_empty() {
            assert_eq!(first["event"], "rotated");
            assert!(
                all.last().unwrap_or(&String::new()).contains("\"event\":\"sealed\""),
                "a file ends signed"
            );
        }
        if !path.ends_with("audit.jsonl") {
            assert!(
                path.to_str()
                    .unwrap()
                    .ends_with(&format!("audit-{:012}.jsonl", first["seq"].as_u64().unwrap()))
            );
        }
        all.extend(lines);
    }
    verified(&all);
    assert_eq!((events(&all, "rotated"), events(&all, "tampered")), (files.len() - 1, 0));
}

#[test]
fn retention_removes_the_oldest_files_after_their_days_and_names_the_first_kept() {
    let (directory, mut location) = sealed();
    let log = start(&location);
    log.limit(Limits { max_bytes: 1, keep_files: 2, ..Limits::default() });
    for _ in 0..6 {
        log.begin(&Record::default()).unwrap();
        log.tick();
    }
    let count = || {
        std::fs::read_dir(directory.path())
            .unwrap()
            .filter(|entry| entry.as_ref().unwrap().file_name().to_str().unwrap().starts_with("audit-"))
            .count()
    };
    assert_eq!(count(), 6, "nothing goes within its days, whatever the number");
    drop(log);
    location.now = || std::time::SystemTime::now() + std::time::Duration::from_secs(40 * 24 * 60 * 60);
    let log = start(&location);
    log.limit(Limits { max_bytes: 1, keep_files: 2, ..Limits::default() });
    log.tick();
    assert_eq!(count(), 2);
    let first = std::fs::read_dir(directory.path())
        .unwrap()
        .map(|entry| entry.unwrap().file_name())
        .filter(|name| name.to_str().unwrap().starts_with("audit-"))
        .min()
        .unwrap();
    let kept: u64 = first.to_str().unwrap()[6..18].parse().unwrap();
    assert!(
        lines(directory.path())[0].contains(&format!("\"kept\":{kept}")),
        "{}",
        lines(directory.path())[0]
    );
}

#[test]
fn continues_after_a_rotation_that_was_cut_short() {
    let (directory, location) = sealed();
    drop(start(&location));
    let away = directory.path().join("audit-000000000001.jsonl");
    std::fs::rename(directory.path().join("audit.jsonl"), &away).unwrap();
    drop(start(&location));
    let new = lines(directory.path());
    assert!(
        new[0]
            .contains("\"event\":\"rotated\",\"epoch\":0,\"since\":1,\"file\":\"audit-000000000001.jsonl\"")
    );
    let old = std::fs::read_to_string(away).unwrap();
    verified(&[old.lines().map(str::to_owned).collect(), new.clone()].concat());
    assert_eq!(events(&new, "tampered"), 0);
}
