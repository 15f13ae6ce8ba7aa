//! Packages that stay at their version.

use crate::support::{Bed, has, install};
use postern_proto::root::v1::{Job, JobKind};

fn mark(kind: JobKind, names: &[&str]) -> Job {
    Job { kind: kind.into(), transaction: 0, ..install(names) }
}

/// A dpkg-query that has the first rows until apt-mark has run, then the others.
fn bed(before: &[&str], after: &[&str]) -> Bed {
    let bed = Bed::new();
    let done = bed.host.jobs.join("done");
    let (before, after) = (has(before), has(after));
    bed.script("dpkg-query", &format!("if [ -e {0} ]; then :\n{after}else :\n{before}fi", done.display()));
    bed.script("apt-mark", &format!(": >{}; echo 'what apt-mark says'", done.display()));
    bed
}

#[test]
fn a_hold_names_each_package_exactly_and_says_which_were_not_held_before() {
    let kept = "g++ amd64 installed 1 optional hold";
    let bed = bed(&["x-y all installed 2", kept], &["x-y all installed 2 optional hold", kept]);
    let outcome = bed.run(&mark(JobKind::Hold, &["x-y", "g++"]));
    assert_eq!((outcome.code.as_str(), outcome.detail.as_str()), ("", ""));
    let changed: Vec<_> = outcome.packages.iter().map(|info| (info.name.as_str(), info.held)).collect();
    assert_eq!(changed, [("x-y", true)]);
    let argv = bed.noted("apt-mark", "argv");
    assert_eq!(argv, ["-o", "APT::Cmd::Pattern-Only=true", "hold", "--", "x-y:native"]);
    assert!(bed.noted("apt-mark", "env").contains(&"NEEDRESTART_SUSPEND=1".to_owned()));
}

#[test]
fn an_unhold_is_the_other_way_round() {
    let bed = bed(&["x-y all installed 2 optional hold"], &["x-y all installed 2"]);
    let outcome = bed.run(&mark(JobKind::Unhold, &["x-y"]));
    assert_eq!((outcome.code.as_str(), outcome.packages.len()), ("", 1));
    assert_eq!(bed.noted("apt-mark", "argv").get(2).unwrap(), "unhold");
}

#[test]
fn what_is_so_already_is_told_and_nothing_is_started() {
    for (kind, row, words) in [
        (JobKind::Hold, "x-y all installed 2 optional hold", "held already"),
        (JobKind::Unhold, "x-y all installed 2", "not held"),
    ] {
        let bed = bed(&[row], &[]);
        let outcome = bed.run(&mark(kind, &["x-y"]));
        assert_eq!((outcome.code.as_str(), outcome.detail.as_str()), ("", words));
        assert!(outcome.packages.is_empty());
        assert!(bed.noted("apt-mark", "argv").is_empty());
    }
}

#[test]
fn what_is_not_installed_is_not_marked() {
    for row in ["other all installed 1", "x-y all config-files 1"] {
        let bed = bed(&[row], &[]);
        assert_eq!(bed.run(&mark(JobKind::Hold, &["x-y"])).code, "not_found");
        assert!(bed.noted("apt-mark", "argv").is_empty());
    }
}

#[test]
fn a_mark_that_dpkg_has_not_taken_is_a_failure_whatever_apt_mark_ends_with() {
    let bed = bed(&["x-y all installed 2"], &["x-y all installed 2"]);
    let outcome = bed.run(&mark(JobKind::Hold, &["x-y"]));
    assert_eq!(outcome.code, "package_failed");
    assert!(outcome.detail.starts_with("x-y is not held: what apt-mark says"), "{}", outcome.detail);
    assert_eq!(outcome.output, b"what apt-mark says\n");
}

#[test]
fn an_interrupted_dpkg_is_not_repaired_along_the_way() {
    let bed = bed(&["x-y all installed 2"], &[]);
    std::fs::create_dir(&bed.host.dpkg_updates).unwrap();
    std::fs::write(bed.host.dpkg_updates.join("0001"), "").unwrap();
    assert_eq!(bed.run(&mark(JobKind::Hold, &["x-y"])).code, "needs_repair");
    assert!(bed.noted("apt-mark", "argv").is_empty());
}
