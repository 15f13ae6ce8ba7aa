//! Rates of rules and denials, across restarts.

use postern_broker::error::Error;
use postern_broker::history::{History, Question};
use postern_policy::types::{Digest, TargetPath};
use postern_policy::{Code, Grant, Identity, Object, Policy, VerbId};
use postern_proto::root::v1 as root;
use std::path::Path;

fn rule(id: &str, file: &str, rate: u32) -> root::Rule {
    root::Rule {
        id: id.to_owned(),
        client: "agent".to_owned(),
        verbs: vec!["file.remove".to_owned()],
        decision: root::Decision::Allow.into(),
        directories: vec!["/srv/x".to_owned()],
        files: vec![file.to_owned()],
        depth: 1,
        rate_count: rate,
        rate_window_s: 3600,
        ..root::Rule::default()
    }
}

fn grant(paths: &[&str]) -> Grant {
    let client = root::Client { name: "agent".to_owned(), user: "postern".to_owned(), group: String::new() };
    let rules = vec![rule("two", "*.a", 2), rule("any", "*.b", 0)];
    let rules = root::Rules { version: 1, clients: vec![client], rules, ..root::Rules::default() };
    let policy = Policy::compile(&rules, Digest::ZERO).unwrap();
    let identity = Identity { uid: 7, users: vec!["postern".to_owned()], ..Identity::default() };
    let wanted = |path: &&str| (VerbId::FileRemove, Object::read(TargetPath::new(path).unwrap()));
    policy.decide(&identity, &paths.iter().map(wanted).collect::<Vec<_>>()).unwrap()
}

fn open(directory: &Path) -> History {
    History::open(directory.join("history")).unwrap()
}

fn question(uid: u32, bytes: &str, paths: &[&str]) -> Question {
    Question::new(uid, Digest::of(&[bytes.as_bytes()]), grant(paths).elements())
}

#[test]
fn counts_a_rule_once_a_request_and_over_restarts() {
    let directory = tempfile::tempdir().unwrap();
    let history = open(directory.path());
    history.reserve(&grant(&["/srv/x/1.a", "/srv/x/2.a"]), None, 1_000_000).unwrap();
    for _ in 0..5 {
        history.reserve(&grant(&["/srv/x/1.b"]), None, 1_000_000).unwrap();
    }
    let history = open(directory.path());
    history.reserve(&grant(&["/srv/x/1.a"]), None, 2_000_000).unwrap();
    let Err(Error::Denied(denied)) = history.reserve(&grant(&["/srv/x/1.a"]), None, 2_500_500) else {
        panic!("a third within the hour")
    };
    assert_eq!((denied.code, denied.retry_after_s), (Code::RateLimited, 2100));
    assert_eq!(denied.message, "rate limit of rule two reached (2 in 3600 s)");
    history.reserve(&grant(&["/srv/x/1.a"]), None, 4_600_001).unwrap();
    history.reserve(&grant(&["/srv/x/1.a"]), None, 4_600_001).unwrap_err();
}

#[test]
fn a_request_that_did_not_begin_does_not_count_for_the_rate() {
    let directory = tempfile::tempdir().unwrap();
    let history = open(directory.path());
    let grant = grant(&["/srv/x/1.a"]);
    for _ in 0..4 {
        let reservation = history.reserve(&grant, None, 5000).unwrap();
        history.give_back(&reservation).unwrap();
    }
    history.reserve(&grant, None, 5000).unwrap();
    history.reserve(&grant, None, 5000).unwrap();
    open(directory.path()).reserve(&grant, None, 5000).unwrap_err();
}

#[test]
fn backs_off_longer_after_each_denial_of_a_target_whatever_the_bytes() {
    let directory = tempfile::tempdir().unwrap();
    let mut now = 1000;
    for (times, wait) in [60, 120, 240, 480, 960, 1920, 3600, 3600].into_iter().enumerate() {
        // A restart forgets nothing.
        let history = open(directory.path());
        let asked = question(7, &format!("bytes {times}"), &["/srv/x/1.a"]);
        history.may_ask(&asked, now).unwrap();
        history.denied(&asked, "not now", now).unwrap();
        let other = question(7, "other bytes", &["/srv/x/1.a"]);
        let denied = history.may_ask(&other, now).unwrap_err();
        assert_eq!((denied.code, denied.message.as_str()), (Code::DeniedRecently, "not now"));
        assert_eq!(u64::from(denied.retry_after_s), wait);
        history.may_ask(&question(8, "bytes", &["/srv/x/1.a"]), now).expect("another client");
        history.may_ask(&question(7, "bytes", &["/srv/x/2.a"]), now).expect("another target");
        let wider = question(7, "wider", &["/srv/x/2.a", "/srv/x/1.a"]);
        history.may_ask(&wider, now).expect_err("the target among others");
        now += wait;
    }
}

#[test]
fn does_not_ask_the_same_bytes_again_within_an_hour_unless_approved() {
    let directory = tempfile::tempdir().unwrap();
    let history = open(directory.path());
    let asked = question(7, "same", &["/srv/x/1.a"]);
    history.denied(&asked, "no", 1000).unwrap();
    history.may_ask(&question(7, "mended", &["/srv/x/1.a"]), 1060).expect("other bytes after a minute");
    assert_eq!(history.may_ask(&asked, 1060).unwrap_err().retry_after_s, 3540);
    history.approved(&asked).unwrap();
    open(directory.path()).may_ask(&asked, 1060).unwrap();
}

#[test]
fn forgets_how_often_it_was_denied_after_a_day() {
    let directory = tempfile::tempdir().unwrap();
    let history = open(directory.path());
    for time in [1000, 2000] {
        history.denied(&question(7, "x", &["/srv/x/1.a"]), "no", time).unwrap();
    }
    let later = 2000 + 3600 + 24 * 3600 + 1;
    history.denied(&question(7, "y", &["/srv/x/1.a"]), "no", later).unwrap();
    let denied = history.may_ask(&question(7, "z", &["/srv/x/1.a"]), later).unwrap_err();
    assert_eq!(denied.retry_after_s, 60);
}

#[test]
fn refuses_to_start_on_a_damaged_file() {
    let directory = tempfile::tempdir().unwrap();
    std::fs::write(directory.path().join("history"), b"\xff\xff\xff").unwrap();
    let fault = History::open(directory.path().join("history")).unwrap_err();
    assert!(fault.to_string().ends_with("history is damaged; remove it"), "{fault}");
}

#[test]
fn counts_each_person_for_itself() {
    let directory = tempfile::tempdir().unwrap();
    let client = root::Client { name: "agent".to_owned(), user: "postern".to_owned(), group: String::new() };
    let named = root::Rule { person_rate_count: 1, person_rate_window_s: 3600, ..rule("named", "*.a", 0) };
    let rules =
        root::Rules { version: 1, clients: vec![client], rules: vec![named], ..root::Rules::default() };
    let policy = Policy::compile(&rules, Digest::ZERO).unwrap();
    let identity = Identity { uid: 7, users: vec!["postern".to_owned()], ..Identity::default() };
    let wanted = (VerbId::FileRemove, Object::read(TargetPath::new("/srv/x/1.a").unwrap()));
    let grant = policy.decide(&identity, &[wanted]).unwrap();
    open(directory.path()).reserve(&grant, Some(1001), 5000).unwrap();
    let Err(Error::Denied(denied)) = open(directory.path()).reserve(&grant, Some(1001), 6000) else {
        panic!("not limited");
    };
    assert_eq!(denied.message, "rate limit of rule named reached (1 in 3600 s for uid 1001)");
    open(directory.path()).reserve(&grant, Some(1002), 6000).unwrap();
}
