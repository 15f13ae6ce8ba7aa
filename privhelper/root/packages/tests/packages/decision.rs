//! The order is decided again by root: before it runs, and under apt's lock.

use crate::support::{Bed, Job, id, install, step, transaction};
use postern_proto::v1::{Action, Status};

const GONE: &str = "VERSION 3\nA=b\n\nhello 2.10-3 amd64 none > - - none **REMOVE**\nother 1 all none > - - none **REMOVE**\n";

#[test]
fn rejects_an_order_that_the_policy_does_not_grant() {
    let bed = Bed::new();
    let outcome = bed.run(&Job { granted: vec!["nginx*".to_owned()], ..install(&["hello"]) });
    assert_eq!(outcome.code, "no_grant");
    assert!(bed.noted("apt-get", "argv").is_empty());
}

#[test]
fn rejects_an_ask_order_without_consent() {
    for (approvers, code) in [(vec![], "not_approved"), (vec![2001], "not_approved"), (vec![4000], "")] {
        let bed = Bed::new();
        let outcome = bed.run(&Job { ask: true, approvers: approvers.clone(), ..install(&["hello"]) });
        assert_eq!(outcome.code, code, "{approvers:?}");
        assert_eq!(bed.noted("apt-get", "argv").is_empty(), !code.is_empty());
    }
}

#[test]
fn rejects_an_order_of_another_policy() {
    let bed = Bed::new();
    bed.record(&install(&["hello"]));
    let order = std::fs::read(bed.file("order.pb")).unwrap();
    bed.record(&Job { allow_removals: true, ..install(&["hello"]) });
    std::fs::write(bed.file("order.pb"), order).unwrap();
    postern_packages::run(&bed.host, id()).unwrap();
    assert_eq!(bed.outcome().code, "plan_changed");
    assert!(bed.noted("apt-get", "argv").is_empty());
}

/// Puts another policy in force than the one that this order was decided under.
fn replace_policy(bed: &Bed, job: &Job) {
    let order = std::fs::read(bed.file("order.pb")).unwrap();
    bed.record(&Job { allow_removals: true, ..job.clone() });
    std::fs::write(bed.file("order.pb"), order).unwrap();
}

#[test]
fn a_policy_that_is_replaced_while_a_lock_is_waited_for_stops_the_job() {
    let verbs = ["package.update", "package.hold", "package.repair", "package.install"];
    for (verb, program) in verbs.into_iter().zip(["apt-get", "apt-mark", "apt-get", "apt-get"]) {
        let bed = Bed::new();
        let is_named = ["package.hold", "package.install"].contains(&verb);
        let names: &[&str] = if is_named { &["hello"] } else { &[] };
        let job = Job { expected: Vec::new(), ..transaction(verb, names) };
        bed.record(&job);
        let lock = if verb == "package.update" { &bed.host.apt.lists_lock } else { &bed.host.apt.dpkg_lock };
        let mut holder = bed.hold(lock);
        std::thread::scope(|scope| {
            let ran = scope.spawn(|| postern_packages::run(&bed.host, id()));
            // It says that it waits.
            while std::fs::read(bed.file("status")).map_or(true, |status| status.is_empty()) {
                assert!(!ran.is_finished(), "{verb} did not wait");
                std::thread::sleep(std::time::Duration::from_millis(5));
            }
            replace_policy(&bed, &job);
            holder.kill().unwrap();
            holder.wait().unwrap();
            ran.join().unwrap().unwrap();
        });
        assert_eq!(bed.outcome().code, "plan_changed", "{verb}");
        assert!(bed.noted(program, "argv").is_empty(), "{verb}");
        assert!(!bed.noted("dpkg", "argv").contains(&"--configure".to_owned()), "{verb}");
    }
}

#[test]
fn a_policy_that_is_replaced_before_dpkg_starts_stops_apt() {
    let bed = Bed::new();
    let job = install(&["hello"]);
    bed.record(&job);
    replace_policy(&bed, &job);
    let stopped = postern_packages::check(
        &bed.host,
        id(),
        &b"VERSION 3\nAPT::Architecture=amd64\n\nhello - - none < 2.10-3 amd64 none **CONFIGURE**\n"[..],
    );
    let why = stopped.unwrap_err().to_string();
    assert!(why.contains("the policy was replaced"), "{why}");
}

#[test]
fn decides_removals_that_come_along_under_the_lock() {
    let expected = || {
        vec![
            step(Action::Remove, "hello", "amd64", "2.10-3", ""),
            step(Action::Remove, "other", "all", "1", ""),
        ]
    };
    let remove = |allow_removals, denied: &[&str]| Job {
        allow_removals,
        denied: denied.iter().map(ToString::to_string).collect(),
        expected: expected(),
        ..transaction("package.remove", &["hello"])
    };
    let check = |job: &Job| {
        let bed = Bed::new();
        bed.record(job);
        postern_packages::check(&bed.host, id(), GONE.as_bytes()).map_err(|fault| fault.to_string())
    };
    assert_eq!(check(&remove(true, &[])), Ok(()));
    let refused = check(&remove(false, &[])).unwrap_err();
    assert!(refused.contains("allow_removals"), "{refused}");
    let denied = check(&remove(true, &["oth*"])).unwrap_err();
    assert!(denied.contains("other"), "{denied}");
}

#[test]
fn starts_nothing_where_the_plan_is_empty() {
    let bed = Bed::new();
    let outcome = bed.run(&Job { expected: Vec::new(), ..install(&["hello"]) });
    assert_eq!((outcome.code.as_str(), outcome.detail.as_str()), ("", "installed already"));
    assert_eq!(outcome.outcome.completed.unwrap().status(), Status::Unchanged);
    assert!(bed.noted("apt-get", "argv").is_empty());
}
