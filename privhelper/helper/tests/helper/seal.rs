//! The seal: keys that move on, epochs, signatures, and a log that does not fit them.

use crate::reader::{Reader, SEED, epoch0, place, verified};
use postern_helper::audit::seal::{Epoch, Running, Tip, hmac};
use postern_helper::audit::{Audit, Event, Limits, Place, Record};
use postern_policy::types::Digest;
use std::io::Write;
use std::path::Path;
use tempfile::TempDir;

const OTHER_BOOT: &str = "11111111-0000-4000-8000-000000000000";

/// A directory with a log to be, sealed from its first record.
fn sealed() -> (TempDir, Place) {
    let directory = tempfile::tempdir_in(env!("CARGO_TARGET_TMPDIR")).unwrap();
    let place = place(directory.path());
    std::fs::write(&place.next, epoch0().encode()).unwrap();
    (directory, place)
}

fn start(place: &Place) -> Audit {
    let audit = Audit::open(place).unwrap();
    audit.durable(Event::Start, &Record::default()).unwrap();
    audit.sign().unwrap();
    audit
}

fn lines(directory: &Path) -> Vec<String> {
    let text = std::fs::read_to_string(directory.join("audit.jsonl")).unwrap();
    text.lines().map(str::to_owned).collect()
}

fn events(lines: &[String], event: &str) -> usize {
    lines.iter().filter(|line| line.contains(&format!("\"event\":\"{event}\""))).count()
}

#[test]
fn hmac_is_that_of_rfc_4231() {
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
fn keys_are_those_that_audit_md_says() {
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
type Touch<'a> = &'a dyn Fn(&Place);

#[test]
fn signatures_are_those_of_rfc_8032() {
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
fn files_of_the_seal_are_read_in_their_one_form_only() {
    let epoch = epoch0().next();
    assert_eq!(epoch.encode().len(), 94);
    assert_eq!(Epoch::decode(epoch.encode().as_bytes()), Some(epoch.clone()));
    let running = Running::begin(&epoch, OTHER_BOOT, 7, Digest::of(&[b"x"]));
    assert_eq!(Running::decode(running.encode().as_bytes()), Some(running.clone()));
    for (from, to) in [("1\n", "2\n"), ("\n0", "\n+"), ("\n", "\r\n"), ("a", "A")] {
        assert_eq!(Epoch::decode(epoch.encode().replacen(from, to, 1).as_bytes()), None, "{from:?}");
        assert_eq!(Running::decode(running.encode().replacen(from, to, 1).as_bytes()), None, "{from:?}");
    }
    for cut in 0..94 {
        assert_eq!(Epoch::decode(&epoch.encode().as_bytes()[..cut]), None);
    }
    assert!(!format!("{epoch:?}{running:?}").contains(&epoch.seed_hex()), "a secret is never shown");
}

#[test]
fn every_record_is_sealed_over_restarts_and_boots() {
    let (directory, mut place) = sealed();
    for boot in 0..3_u64 {
        place.boot_id = format!("{boot}1111111-0000-4000-8000-000000000000");
        for _ in 0..2 {
            let audit = start(&place);
            audit.begin(&Record::default()).unwrap();
            audit.stop().unwrap();
        }
        assert_eq!(std::fs::read(&place.next).unwrap().len(), 94);
        assert_eq!(Epoch::decode(&std::fs::read(&place.next).unwrap()).unwrap().number, boot + 1);
    }
    let lines = lines(directory.path());
    let reader = verified(&lines);
    assert_eq!((lines.len(), reader.signatures, reader.key.unwrap().0), (3 * 2 * 5, 12, 2));
    assert_eq!(events(&lines, "tampered"), 0);
}

#[test]
fn a_log_without_a_seal_goes_on_unsealed_and_says_so() {
    let directory = tempfile::tempdir_in(env!("CARGO_TARGET_TMPDIR")).unwrap();
    let audit = start(&place(directory.path()));
    assert!(audit.notes()[0].contains("unsealed: see `postern-admin audit keygen`"), "{:?}", audit.notes());
    assert_eq!((lines(directory.path()).len(), verified(&lines(directory.path())).signatures), (1, 0));
    assert!(!place(directory.path()).running.exists());
}

#[test]
fn a_seal_made_while_the_helper_runs_is_taken_up_and_anchors_what_stands() {
    let directory = tempfile::tempdir_in(env!("CARGO_TARGET_TMPDIR")).unwrap();
    let place = place(directory.path());
    let audit = start(&place);
    std::fs::write(&place.next, epoch0().encode()).unwrap();
    audit.tick();
    audit.begin(&Record::default()).unwrap();
    let lines = lines(directory.path());
    assert_eq!((lines.len(), verified(&lines).signatures), (3, 1));
    assert!(lines[1].contains("\"event\":\"sealed\",\"epoch\":0,\"since\":2,"), "{}", lines[1]);
    assert!(audit.notes().is_empty(), "{:?}", audit.notes());
}

#[test]
fn root_with_the_keys_of_now_cannot_rewrite_a_record_of_before() {
    let (directory, place) = sealed();
    let audit = start(&place);
    audit.begin(&Record { rule: "web".to_owned(), ..Record::default() }).unwrap();
    // Whoever is root now has all of this, and the seed of the next boot.
    let running = Running::decode(&std::fs::read(&place.running).unwrap()).unwrap();
    let next = Epoch::decode(&std::fs::read(&place.next).unwrap()).unwrap();
    drop(audit);
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
fn a_helper_killed_between_log_and_keys_goes_on_without_a_word() {
    for event in [Event::Served, Event::Sealed] {
        let (directory, place) = sealed();
        let audit = start(&place);
        let before = std::fs::read(&place.running).unwrap();
        if event == Event::Sealed {
            audit.note(Event::Served, &Record::default()).unwrap();
            let before = std::fs::read(&place.running).unwrap();
            audit.sign().unwrap();
            std::fs::write(&place.running, before).unwrap();
        } else {
            audit.note(event, &Record::default()).unwrap();
            std::fs::write(&place.running, before).unwrap();
        }
        start(&place).stop().unwrap();
        let lines = lines(directory.path());
        verified(&lines);
        assert_eq!(events(&lines, "tampered"), 0, "{event:?}");
    }
}

#[test]
fn a_helper_killed_before_the_seed_moved_on_moves_it_on() {
    let (directory, place) = sealed();
    drop(start(&place));
    std::fs::write(&place.next, epoch0().encode()).unwrap();
    drop(start(&place));
    assert_eq!(std::fs::read_to_string(&place.next).unwrap(), epoch0().next().encode());
    assert_eq!(events(&lines(directory.path()), "tampered"), 0);
}

/// What is done to a log of one boot while no helper runs, and what the next one says of it.
fn done_to(touch: impl FnOnce(&Place)) -> (Vec<String>, Vec<String>) {
    let (directory, place) = sealed();
    let audit = start(&place);
    for _ in 0..3 {
        audit.begin(&Record::default()).unwrap();
    }
    drop(audit);
    touch(&place);
    let audit = start(&place);
    let notes = audit.notes();
    (lines(directory.path()), notes)
}

fn rewrite(place: &Place, change: impl FnOnce(Vec<&str>) -> Vec<String>) {
    let path = place.log.join("audit.jsonl");
    let text = std::fs::read_to_string(&path).unwrap();
    std::fs::write(path, change(text.lines().collect()).join("\n") + "\n").unwrap();
}

#[test]
fn a_log_that_does_not_fit_its_keys_is_told_of_and_the_chain_goes_on() {
    let cut = |place: &Place| rewrite(place, |lines| lines[..3].iter().map(ToString::to_string).collect());
    let changed = |place: &Place| {
        rewrite(place, |mut lines| {
            let last = lines.pop().unwrap().replace("begin", "ended");
            lines.into_iter().map(str::to_owned).chain([last]).collect()
        });
    };
    let added = |place: &Place| {
        let forged =
            Audit::open(&Place { running: place.log.join("x"), next: place.log.join("y"), ..place.clone() });
        forged.unwrap().begin(&Record::default()).unwrap();
    };
    let removed = |place: &Place| std::fs::remove_file(place.log.join("audit.jsonl")).unwrap();
    let keys = |place: &Place| std::fs::remove_file(&place.running).unwrap();
    let seed = |place: &Place| std::fs::remove_file(&place.next).unwrap();
    let cases: [(Touch<'_>, &str); 6] = [
        (&cut, "records 4 to 5 are gone"),
        (&changed, "the last record was changed"),
        (&added, "records 6 to 7 are not the helper's"),
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
fn a_log_that_is_touched_while_the_helper_runs_is_told_of() {
    let path = |place: &Place| place.log.join("audit.jsonl");
    let removed = |place: &Place| std::fs::remove_file(path(place)).unwrap();
    let renamed = |place: &Place| std::fs::rename(path(place), place.log.join("audit.jsonl.1")).unwrap();
    let replaced = |place: &Place| {
        std::fs::copy(path(place), place.log.join("new")).unwrap();
        std::fs::rename(place.log.join("new"), path(place)).unwrap();
    };
    let cut = |place: &Place| {
        std::fs::OpenOptions::new().write(true).open(path(place)).unwrap().set_len(0).unwrap();
    };
    let grown = |place: &Place| {
        std::fs::OpenOptions::new().append(true).open(path(place)).unwrap().write_all(b"hello").unwrap();
    };
    let cases: [(Touch<'_>, &str); 5] = [
        (&removed, "was removed or renamed, behind record 3"),
        (&renamed, "was removed or renamed, behind record 3"),
        (&replaced, "was replaced by another, behind record 3"),
        (&cut, " to 0, behind record 3"),
        (&grown, "has 5 bytes that the helper did not write, behind record 3"),
    ];
    for (touch, what) in cases {
        let (directory, place) = sealed();
        let audit = start(&place);
        audit.begin(&Record::default()).unwrap();
        let before = lines(directory.path());
        touch(&place);
        audit.begin(&Record::default()).unwrap();
        let after = lines(directory.path());
        let at = after.iter().position(|line| line.contains("\"event\":\"tampered\"")).expect(what);
        assert!(after[at].contains(what), "{}", after[at]);
        assert_eq!(audit.notes().len(), 1);
        // The chain itself is whole: what is missing is missing in the file alone.
        verified(&[before, after[at..].to_vec()].concat());
        drop(audit);
        start(&place);
        assert_eq!(events(&lines(directory.path()), "tampered"), 1, "it is told once");
    }
}

#[test]
fn a_large_file_is_put_away_and_chain_and_seal_go_on() {
    let (directory, place) = sealed();
    let audit = start(&place);
    audit.limit(Limits { max_bytes: 2000, ..Limits::default() });
    for _ in 0..20 {
        audit.begin(&Record::default()).unwrap();
        audit.tick();
    }
    drop(audit);
    start(&place).stop().unwrap();
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
fn retention_removes_the_oldest_only_behind_its_days_and_says_from_where_it_kept() {
    let (directory, mut place) = sealed();
    let audit = start(&place);
    audit.limit(Limits { max_bytes: 1, keep_files: 2, ..Limits::default() });
    for _ in 0..6 {
        audit.begin(&Record::default()).unwrap();
        audit.tick();
    }
    let count = || {
        std::fs::read_dir(directory.path())
            .unwrap()
            .filter(|entry| entry.as_ref().unwrap().file_name().to_str().unwrap().starts_with("audit-"))
            .count()
    };
    assert_eq!(count(), 6, "nothing goes within its days, whatever the number");
    drop(audit);
    place.now = || std::time::SystemTime::now() + std::time::Duration::from_secs(40 * 24 * 60 * 60);
    let audit = start(&place);
    audit.limit(Limits { max_bytes: 1, keep_files: 2, ..Limits::default() });
    audit.tick();
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
fn a_rotation_that_was_cut_short_goes_on_with_the_file_that_was_put_away() {
    let (directory, place) = sealed();
    drop(start(&place));
    let away = directory.path().join("audit-000000000001.jsonl");
    std::fs::rename(directory.path().join("audit.jsonl"), &away).unwrap();
    drop(start(&place));
    let new = lines(directory.path());
    assert!(
        new[0]
            .contains("\"event\":\"rotated\",\"epoch\":0,\"since\":1,\"file\":\"audit-000000000001.jsonl\"")
    );
    let old = std::fs::read_to_string(away).unwrap();
    verified(&[old.lines().map(str::to_owned).collect(), new.clone()].concat());
    assert_eq!(events(&new, "tampered"), 0);
}
