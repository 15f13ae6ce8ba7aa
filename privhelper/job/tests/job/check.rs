//! The comparison under apt's lock. The transactions are those of a real apt 2.6.

use std::fs;

use crate::support::{Bed, id, install, step};
use postern_proto::root::v1::Job;
use postern_proto::v1::{Action, PackageStep};

const HELLO: &str = "hello - - none < 2.10-3 amd64 none /var/cache/apt/archives/hello_2.10-3_amd64.deb
hello - - none < 2.10-3 amd64 none **CONFIGURE**
";

fn said(packages: &str) -> String {
    format!("VERSION 3\nAPT::Architecture=amd64\nCommandLine::AsString=apt-get%20install\n\n{packages}")
}

fn hello() -> PackageStep {
    PackageStep { asked: true, ..step(Action::Install, "hello", "amd64", "", "2.10-3") }
}

/// What the check answered, and the line it left.
fn check(expected: &[PackageStep], input: &str) -> Result<(), String> {
    let bed = Bed::new();
    bed.record(&Job { expected: expected.to_vec(), ..install(&["hello"]) });
    let answer = postern_job::check(&bed.host, &id(), input.as_bytes());
    let line = fs::read_to_string(bed.file("plan_changed"));
    assert_eq!(bed.file("checked").exists(), answer.is_ok());
    assert_eq!(line.is_err(), answer.is_ok());
    answer.map_err(|_| line.unwrap())
}

#[test]
fn lets_the_decided_transaction_through() {
    assert_eq!(check(&[hello()], &said(HELLO)), Ok(()));
}

#[test]
fn lets_every_kind_of_step_through() {
    let expected = [
        step(Action::Upgrade, "base-files", "amd64", "12.4+deb12u11", "12.4+deb12u15"),
        step(Action::Downgrade, "curl", "amd64", "7.88.1-10+deb12u15", "7.88.1-10+deb12u5"),
        step(Action::Reinstall, "tzdata", "all", "1", "1"),
        step(Action::Purge, "gone", "all", "1.0", ""),
        step(Action::Configure, "pjtest-bad", "all", "1.0", "1.0"),
    ];
    let packages = "gone 1.0 all none > - - none **REMOVE**
base-files 12.4+deb12u11 amd64 foreign < 12.4+deb12u15 amd64 foreign /var/cache/apt/archives/b.deb
base-files 12.4+deb12u11 amd64 foreign < 12.4+deb12u15 amd64 foreign **CONFIGURE**
curl 7.88.1-10+deb12u15 amd64 foreign > 7.88.1-10+deb12u5 amd64 foreign /a directory/c.deb
tzdata 1 all foreign = 1 all foreign /var/cache/apt/archives/t.deb
curl 7.88.1-10+deb12u15 amd64 foreign > 7.88.1-10+deb12u5 amd64 foreign **CONFIGURE**
tzdata 1 all foreign = 1 all foreign **CONFIGURE**
pjtest-bad 1.0 all none = 1.0 all none **CONFIGURE**
";
    assert_eq!(check(&expected, &said(packages)), Ok(()));
}

#[test]
fn stops_apt_when_the_transaction_differs() {
    let more = format!("{HELLO}evil - - none < 1 amd64 none /var/cache/apt/archives/e.deb\n");
    let removes = format!("{HELLO}sudo 1 amd64 none > - - none **REMOVE**\n");
    let repairs = format!("{HELLO}left 1 all none = 1 all none **CONFIGURE**\n");
    let twice = format!("{HELLO}{HELLO}");
    for (packages, words) in [
        (more.as_str(), "install of evil (amd64, none to 1) is not in the plan"),
        (&removes, "remove of sudo (amd64, 1 to none) is not in the plan"),
        (&repairs, "configure of left (all, 1 to 1) is not in the plan"),
        (&twice, "install of hello (amd64, none to 2.10-3) is not in the plan"),
        (&HELLO.replace("2.10-3 ", "2.10-4 "), "install of hello (amd64, none to 2.10-4) is not in the plan"),
        (&HELLO.replace(" amd64", " arm64"), "install of hello (arm64, none to 2.10-3) is not in the plan"),
        (
            &HELLO.replace("- - none <", "2.9 amd64 none <"),
            "upgrade of hello (amd64, 2.9 to 2.10-3) is not in",
        ),
        ("other 1 all none > - - none **REMOVE**\n", "remove of other (all, 1 to none) is not in the plan"),
    ] {
        let line = check(&[hello()], &said(packages)).unwrap_err();
        assert!(line.starts_with(words), "{line}");
        assert!(!line.contains('\n'));
    }
    let two = [hello(), step(Action::Install, "more", "all", "", "1")];
    let line = check(&two, &said(HELLO)).unwrap_err();
    assert_eq!(line, "install of more (all, none to 1) is in the plan, but would not happen");
}

#[test]
fn stops_apt_when_it_is_not_understood() {
    let whole = said(HELLO);
    for input in [
        "",
        "VERSION 2\n\nhello - < 2.10-3 **CONFIGURE**\n",
        "VERSION 3\n",
        "/var/cache/apt/archives/hello_2.10-3_amd64.deb\n",
        whole.trim_end(),
        &said(""),
        &said("hello\n"),
        &said("hello - - none < 2.10-3 amd64 none **ERROR**\n"),
        &said("hello - - none ? 2.10-3 amd64 none /x.deb\n"),
        &said("hello 1 amd64 none < - - none **WHAT**\n"),
        &said(&format!("{HELLO}\n")),
    ] {
        assert!(check(&[hello()], input).is_err(), "{input:?}");
    }
}

#[test]
fn stops_apt_when_the_record_is_not_of_an_install() {
    let bed = Bed::new();
    assert!(postern_job::check(&bed.host, &id(), said(HELLO).as_bytes()).is_err());
    let bed = Bed::new();
    bed.record(&crate::support::plan_install(&["hello"]));
    assert!(postern_job::check(&bed.host, &id(), said(HELLO).as_bytes()).is_err());
    let bed = Bed::new();
    let unknown = PackageStep { action: 0, ..hello() };
    bed.record(&Job { expected: vec![unknown], ..install(&["hello"]) });
    assert!(postern_job::check(&bed.host, &id(), said(HELLO).as_bytes()).is_err());
}
