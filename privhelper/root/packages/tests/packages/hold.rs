//! Holding packages at their version.

use crate::support::{Bed, Job, has, transaction};

fn mark(verb: &'static str, names: &[&str]) -> Job {
    Job { expected: Vec::new(), ..transaction(verb, names) }
}

/// A dpkg-query that has the first rows until apt-mark has run, then the others.
fn bed(before: &[&str], after: &[&str]) -> Bed {
    let bed = Bed::new();
    let done = bed.beside("done");
    let (before, after) = (has(before), has(after));
    bed.script("dpkg-query", &format!("if [ -e {0} ]; then :\n{after}else :\n{before}fi", done.display()));
    bed.script("apt-mark", &format!(": >{}; echo 'what apt-mark says'", done.display()));
    bed
}

#[test]
fn hold_names_packages_exactly_and_reports_the_changed_ones() {
    let kept = "g++ amd64 installed 1 optional hold";
    let bed = bed(&["x-y all installed 2", kept], &["x-y all installed 2 optional hold", kept]);
    let outcome = bed.run(&mark("package.hold", &["x-y", "g++"]));
    assert_eq!((outcome.code.as_str(), outcome.detail.as_str()), ("", ""));
    let changed: Vec<_> = outcome.packages.iter().map(|info| (info.name.as_str(), info.held)).collect();
    assert_eq!(changed, [("x-y", true)]);
    let argv = bed.noted("apt-mark", "argv");
    assert_eq!(argv, ["-o", "APT::Cmd::Pattern-Only=true", "hold", "--", "x-y:native"]);
    assert!(bed.noted("apt-mark", "env").contains(&"NEEDRESTART_SUSPEND=1".to_owned()));
}

#[test]
fn unhold_releases_packages() {
    let bed = bed(&["x-y all installed 2 optional hold"], &["x-y all installed 2"]);
    let outcome = bed.run(&mark("package.unhold", &["x-y"]));
    assert_eq!((outcome.code.as_str(), outcome.packages.len()), ("", 1));
    assert_eq!(bed.noted("apt-mark", "argv").get(2).unwrap(), "unhold");
}

#[test]
fn nothing_starts_if_already_held_or_not_held() {
    for (kind, row, words) in [
        ("package.hold", "x-y all installed 2 optional hold", "held already"),
        ("package.unhold", "x-y all installed 2", "not held"),
    ] {
        let bed = bed(&[row], &[]);
        let outcome = bed.run(&mark(kind, &["x-y"]));
        assert_eq!((outcome.code.as_str(), outcome.detail.as_str()), ("", words));
        assert!(outcome.packages.is_empty());
        assert!(bed.noted("apt-mark", "argv").is_empty());
    }
}

#[test]
fn rejects_packages_that_are_not_installed() {
    for row in ["other all installed 1", "x-y all config-files 1"] {
        let bed = bed(&[row], &[]);
        assert_eq!(bed.run(&mark("package.hold", &["x-y"])).code, "not_found");
        assert!(bed.noted("apt-mark", "argv").is_empty());
    }
}

#[test]
fn a_hold_that_apt_mark_did_not_apply_is_a_failure() {
    let bed = bed(&["x-y all installed 2"], &["x-y all installed 2"]);
    let outcome = bed.run(&mark("package.hold", &["x-y"]));
    assert_eq!(outcome.code, "package_failed");
    assert!(outcome.detail.starts_with("x-y is not held: what apt-mark says"), "{}", outcome.detail);
    assert_eq!(outcome.output, b"what apt-mark says\n");
}

#[test]
fn refuses_while_dpkg_is_interrupted() {
    let bed = bed(&["x-y all installed 2"], &[]);
    std::fs::create_dir(&bed.host.apt.dpkg_updates).unwrap();
    std::fs::write(bed.host.apt.dpkg_updates.join("0001"), "").unwrap();
    assert_eq!(bed.run(&mark("package.hold", &["x-y"])).code, "needs_repair");
    assert!(bed.noted("apt-mark", "argv").is_empty());
}
