//! `audit keygen` shows the key once, to a person, and overwrites nothing.

use crate::approvals_support::PLAIN;
use crate::log::Log;
use crate::support::{Ran, TestHost};
use postern_admin::approvals::{Console, Screen};
use postern_admin::audit;
use postern_admin::io::{Exit, Io};
use postern_seal::Epoch;
use std::fs;
use std::io;
use std::os::unix::fs::PermissionsExt;

/// Somebody who reads what is shown and answers so; `yes` types the end of the key back.
struct Reader {
    answer: &'static str,
    shown: String,
}

impl Console for Reader {
    fn screen(&self) -> Screen {
        PLAIN
    }

    fn show(&mut self, text: &str) -> io::Result<()> {
        self.shown.push_str(text);
        Ok(())
    }

    fn ask(&mut self, question: &str) -> io::Result<String> {
        let key =
            self.shown.lines().find_map(|line| line.strip_prefix("    ")).unwrap_or_default().to_owned();
        self.shown.push_str(question);
        let typed = if self.answer == "yes" { key.get(key.len() - 8..).unwrap() } else { self.answer };
        Ok(typed.to_owned())
    }
}

fn keygen(host: &TestHost, answer: &'static str) -> (Ran, String) {
    let mut person = Reader { answer, shown: String::new() };
    let (mut out, mut err) = (Vec::new(), Vec::new());
    let mut io = Io { out: &mut out, err: &mut err, answers: None };
    let exit = audit::keygen(&host.host, Some(&mut person), &mut io).unwrap();
    let ran = Ran { exit, out: String::from_utf8(out).unwrap(), err: String::from_utf8(err).unwrap() };
    (ran, person.shown)
}

#[test]
fn keygen_shows_the_key_only_on_the_terminal_and_writes_its_seed() {
    let host = TestHost::new("");
    let (ran, shown) = keygen(&host, "yes");
    assert_eq!(ran.exit, Exit::Done, "{}", ran.err);
    let epoch = Epoch::decode(&fs::read(host.host.seed()).unwrap()).unwrap();
    assert_eq!(epoch.number, 0);
    assert!(shown.contains(&format!("    {}\n", epoch.seed_hex())), "{shown}");
    for text in [&ran.out, &ran.err] {
        assert!(!text.contains(&epoch.seed_hex()));
    }
    assert_eq!(ran.out, format!("public key: {}\n", epoch.signer().public()));
    let mode = |path: &std::path::Path| fs::metadata(path).unwrap().permissions().mode() & 0o777;
    assert_eq!((mode(&host.host.seed()), mode(host.host.seed().parent().unwrap())), (0o600, 0o700));
}

#[test]
fn keygen_makes_a_new_key_each_time_and_never_overwrites_one() {
    let (host, other) = (TestHost::new(""), TestHost::new(""));
    keygen(&host, "yes");
    keygen(&other, "yes");
    let seed = fs::read(host.host.seed()).unwrap();
    assert_ne!(seed, fs::read(other.host.seed()).unwrap());
    let (ran, shown) = keygen(&host, "yes");
    assert_eq!((ran.exit, shown.as_str()), (Exit::Failed, ""));
    assert!(ran.err.contains("never overwritten"), "{}", ran.err);
    assert_eq!(fs::read(host.host.seed()).unwrap(), seed);
}

#[test]
fn keygen_writes_nothing_unless_the_key_is_confirmed_as_kept() {
    for answer in ["", "no", "y"] {
        let host = TestHost::new("");
        let (ran, _) = keygen(&host, answer);
        assert_eq!(ran.exit, Exit::NotApproved);
        assert!(!host.host.seed().exists());
    }
}

#[test]
fn keygen_refuses_to_run_without_a_terminal() {
    let host = TestHost::new("");
    let ran = host.run(&["audit", "keygen"]);
    assert_eq!(ran.exit, Exit::Usage);
    assert!(ran.err.contains("on a terminal only"), "{}", ran.err);
    assert!(host.state().is_empty());
}

#[test]
fn a_new_key_continues_after_the_last_epoch_of_a_lost_key() {
    let host = TestHost::new("");
    let mut log = Log::new();
    log.boot(0, true).boot(1, true);
    fs::write(host.host.log.join("audit.jsonl"), &log.bytes).unwrap();
    let (_, shown) = keygen(&host, "yes");
    let epoch = Epoch::decode(&fs::read(host.host.seed()).unwrap()).unwrap();
    assert_eq!(epoch.number, 2);
    assert!(shown.contains(&format!("    2:{}\n", epoch.seed_hex())), "{shown}");
}
