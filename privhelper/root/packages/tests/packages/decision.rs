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
