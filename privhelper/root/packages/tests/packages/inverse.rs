//! Inverses: issued by root, exactly the recorded steps.

use crate::support::{Bed, Job, has, id, install, step, transaction};
use postern_policy::VerbId;
use postern_policy::request::Request;
use postern_proto::root::v1::Inverse;
use postern_proto::v1::{Action, PackageStep};
use postern_root::Key;

/// Runs the job with a check that passed, and returns its inverse.
fn inverse_of(bed: &Bed, job: &Job, row: &str) -> Option<Inverse> {
    bed.script("dpkg-query", &has(&[row]));
    bed.script("apt-get", &format!(": >{}", bed.file("checked").display()));
    bed.run(job).outcome.inverse
}

fn installed() -> Job {
    Job { expected: vec![step(Action::Install, "hello", "amd64", "", "2.10-3")], ..install(&["hello"]) }
}

#[test]
fn an_installation_is_undone_by_the_removal_of_the_new_packages() {
    let bed = Bed::new();
    let inverse = inverse_of(&bed, &installed(), "hello amd64 installed 2.10-3").unwrap();
    assert_eq!(inverse.verb, "package.remove");
    let request = Request::decode(VerbId::PackageRemove, &inverse.body).unwrap().1.unwrap();
    assert_eq!(request.required_grants().len(), 1);
    let undone = PackageStep { asked: true, ..step(Action::Remove, "hello", "amd64", "2.10-3", "") };
    assert_eq!(inverse.steps.as_ref().unwrap().steps, [undone]);
    assert!(!inverse.needs_person);
    assert!(Key::open(&bed.host.root.state.join("key")).unwrap().verifies(&inverse));
}

#[test]
fn an_upgrade_is_undone_by_a_downgrade_that_needs_a_person() {
    let job = Job {
        expected: vec![step(Action::Upgrade, "hello", "amd64", "1", "2")],
        ..transaction("package.upgrade", &["hello"])
    };
    let inverse = inverse_of(&Bed::new(), &job, "hello amd64 installed 2").unwrap();
    assert_eq!((inverse.verb.as_str(), inverse.needs_person), ("package.install", true));
    assert_eq!(inverse.steps.unwrap().steps[0].new, "1");
}

#[test]
fn nothing_is_issued_where_no_request_names_the_packages() {
    let both = vec![
        step(Action::Install, "hello", "amd64", "", "1"),
        step(Action::Install, "hello", "i386", "", "1"),
    ];
    let job = Job { expected: both, ..install(&["hello"]) };
    assert_eq!(inverse_of(&Bed::new(), &job, "hello amd64 installed 1"), None);
    // A failed transaction has no inverse either.
    assert_eq!(inverse_of(&Bed::new(), &installed(), "hello amd64 half-configured 2.10-3"), None);
}

#[test]
fn an_undo_takes_exactly_the_recorded_steps() {
    let bed = Bed::new();
    let inverse = inverse_of(&bed, &installed(), "hello amd64 installed 2.10-3").unwrap();
    let undo = |inverse: Inverse| Job { inverse: Some(inverse), ..installed() };
    let run = |job: &Job, input: &str| {
        let other = Bed::new();
        std::fs::copy(bed.host.root.state.join("key"), other.host.root.state.join("key")).unwrap();
        other.record(job);
        postern_packages::check(&other.host, id(), input.as_bytes()).map_err(|fault| fault.to_string())
    };
    let gone = "VERSION 3\nA=b\n\nhello 2.10-3 amd64 none > - - none **REMOVE**\n";
    assert_eq!(run(&undo(inverse.clone()), gone), Ok(()));
    let more = format!("{gone}other 1 all none > - - none **REMOVE**\n");
    assert!(run(&undo(inverse.clone()), &more).unwrap_err().contains("not in the plan"));
    // Another version is installed by now.
    assert!(run(&undo(inverse.clone()), &gone.replace("2.10-3", "2.10-4")).is_err());
    let forged = Inverse { rules: vec!["other".to_owned()], ..inverse };
    assert!(run(&undo(forged), gone).unwrap_err().contains("did not issue"));
}
