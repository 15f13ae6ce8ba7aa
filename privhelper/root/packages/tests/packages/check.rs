//! The comparison under apt's lock. The transactions are those of a real apt 2.6.

use std::fs;

use crate::support::{Bed, Job, has, id, install, step, transaction};
use postern_proto::v1::{Action, PackageStep};

const HELLO: &str = "hello - - none < 2.10-3 amd64 none /var/cache/apt/archives/hello_2.10-3_amd64.deb
hello - - none < 2.10-3 amd64 none **CONFIGURE**
";

fn apt_input(packages: &str) -> String {
    format!("VERSION 3\nAPT::Architecture=amd64\nCommandLine::AsString=apt-get%20install\n\n{packages}")
}

fn hello() -> PackageStep {
    PackageStep { asked: true, ..step(Action::Install, "hello", "amd64", "", "2.10-3") }
}

/// Runs the check: its answer, which must equal the line in `plan_changed`.
fn check(expected: &[PackageStep], input: &str) -> Result<(), String> {
    let bed = Bed::new();
    let flags = Job { allow_downgrades: true, allow_removals: true, ..install(&["hello"]) };
    bed.record(&Job { expected: expected.to_vec(), ..flags });
    let answer = postern_packages::check(&bed.host, id(), input.as_bytes());
    let line = fs::read_to_string(bed.file("plan_changed"));
    assert_eq!(bed.file("checked").exists(), answer.is_ok());
    assert_eq!(line.is_err(), answer.is_ok());
    answer.map_err(|_| line.unwrap())
}

#[test]
fn accepts_the_decided_transaction() {
    assert_eq!(check(&[hello()], &apt_input(HELLO)), Ok(()));
}

#[test]
fn accepts_every_kind_of_step() {
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
    assert_eq!(check(&expected, &apt_input(packages)), Ok(()));
}

#[test]
fn stops_apt_if_the_transaction_differs() {
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
        let line = check(&[hello()], &apt_input(packages)).unwrap_err();
        assert!(line.starts_with(words), "{line}");
        assert!(!line.contains('\n'));
    }
    let two = [hello(), step(Action::Install, "more", "all", "", "1")];
    let line = check(&two, &apt_input(HELLO)).unwrap_err();
    assert_eq!(line, "install of more (all, none to 1) is in the plan, but would not happen");
}

#[test]
fn stops_apt_on_input_it_cannot_parse() {
    let whole = apt_input(HELLO);
    for input in [
        "",
        "VERSION 2\n\nhello - < 2.10-3 **CONFIGURE**\n",
        "VERSION 3\n",
        "/var/cache/apt/archives/hello_2.10-3_amd64.deb\n",
        whole.trim_end(),
        &apt_input(""),
        &apt_input("hello\n"),
        &apt_input("hello - - none < 2.10-3 amd64 none **ERROR**\n"),
        &apt_input("hello - - none ? 2.10-3 amd64 none /x.deb\n"),
        &apt_input("hello 1 amd64 none < - - none **WHAT**\n"),
        &apt_input(&format!("{HELLO}\n")),
    ] {
        assert!(check(&[hello()], input).is_err(), "{input:?}");
    }
}

#[test]
fn stops_apt_if_the_order_is_no_transaction() {
    for verb in ["package.hold", "package.update"] {
        let bed = Bed::new();
        let names: &[&str] = if verb == "package.hold" { &["hello"] } else { &[] };
        bed.record(&transaction(verb, names));
        let error = postern_packages::check(&bed.host, id(), apt_input(HELLO).as_bytes()).unwrap_err();
        assert_eq!(error.to_string(), "this order is no transaction");
    }
    assert!(
        postern_packages::check(&Bed::new().host, id(), apt_input(HELLO).as_bytes()).is_err(),
        "no order"
    );
}

/// A removal alone, as apt tells it; a purge looks the same.
const GONE: &str = "hello 2.10-3 amd64 none > - - none **REMOVE**\n";

#[test]
fn compares_removals() {
    for (of, action) in [
        ("package.remove", Action::Remove),
        ("package.purge", Action::Purge),
        ("package.autoremove", Action::Remove),
    ] {
        let names: &[&str] = if of == "package.autoremove" { &[] } else { &["hello"] };
        let expected = vec![step(action, "hello", "amd64", "2.10-3", "")];
        let bed = Bed::new();
        bed.record(&Job { expected: expected.clone(), ..transaction(of, names) });
        postern_packages::check(&bed.host, id(), apt_input(GONE).as_bytes()).unwrap();
        let more = format!("{GONE}other 1 all none > - - none **REMOVE**\n");
        for input in [&more, &GONE.replace("2.10-3", "2.10-4"), &GONE.replace("hello", "hullo"), HELLO] {
            let bed = Bed::new();
            bed.record(&Job { expected: expected.clone(), ..transaction(of, names) });
            assert!(
                postern_packages::check(&bed.host, id(), apt_input(input).as_bytes()).is_err(),
                "{input}"
            );
        }
    }
}

#[test]
fn stops_apt_before_a_vital_package_is_removed() {
    // The plan, made without privilege, has let it through.
    let kernel = nix::sys::utsname::uname().unwrap().release().to_str().unwrap().to_owned();
    for (row, stops) in [
        ("hello amd64 installed 2.10-3 required".to_owned(), true),
        ("hello amd64 config-files 2.10-3 required".to_owned(), false),
        ("hello i386 installed 2.10-3 required".to_owned(), false),
        ("hello amd64 installed 2.10-3".to_owned(), false),
        (format!("linux-image-{kernel} amd64 installed 2.10-3"), true),
    ] {
        let name = row.split(' ').next().unwrap();
        let bed = Bed::new();
        bed.script("dpkg-query", &has(&[&row]));
        let expected = vec![step(Action::Remove, name, "amd64", "2.10-3", "")];
        bed.record(&Job { expected, ..transaction("package.remove", &["hello"]) });
        let input = apt_input(&GONE.replace("hello", name));
        assert_eq!(postern_packages::check(&bed.host, id(), input.as_bytes()).is_err(), stops, "{row}");
    }
}

#[test]
fn stops_apt_if_a_version_has_another_source() {
    let source = "/etc/apt/none.list:1 http://a.example.org/ -";
    let table = "hello:\n  Version table:\n     2.10-3 500\n        500 http://a.example.org/ ./ Packages\n";
    let more = format!("{table}        500 http://b.example.org/ ./ Packages\n");
    for (table, stops) in [(table, false), (more.as_str(), true), ("", true)] {
        let bed = Bed::new();
        bed.script(
            "apt-get",
            "printf '%s\\t%s\\t%s\\n' /etc/apt/none.list:1 http://a.example.org/ 'http://a.example.org/ ./ Packages' \
             /etc/apt/none.list:2 http://b.example.org/ 'http://b.example.org/ ./ Packages'",
        );
        bed.script("apt-cache", &format!("cat <<'END'\n{table}END\n"));
        let expected = vec![PackageStep { sources: vec![source.to_owned()], ..hello() }];
        bed.record(&Job { expected, ..install(&["hello"]) });
        let answer = postern_packages::check(&bed.host, id(), apt_input(HELLO).as_bytes());
        assert_eq!(answer.is_err(), stops, "{table}");
        if stops {
            let line = fs::read_to_string(bed.file("plan_changed")).unwrap();
            assert!(line.starts_with("hello 2.10-3 now comes from "), "{line}");
        }
    }
}

#[test]
fn repair_may_skip_configured_packages() {
    let half = |name| step(Action::Configure, name, "all", "1", "1");
    let lib = step(Action::Install, "lib", "all", "", "1");
    let lib_line = "lib - - none < 1 all none /var/cache/apt/archives/lib.deb\n";
    let app_line = "app 1 all none = 1 all none **CONFIGURE**\n";
    for (lines, stops) in [
        (format!("{lib_line}{app_line}"), false),
        (lib_line.to_owned(), false),
        (app_line.to_owned(), true),
        (format!("{lib_line}{GONE}"), true),
        (format!("{lib_line}{}", lib_line.replace("lib -", "more -")), true),
    ] {
        let bed = Bed::new();
        let expected = vec![half("app"), half("other"), lib.clone()];
        bed.record(&Job { expected, ..transaction("package.repair", &[]) });
        assert_eq!(
            postern_packages::check(&bed.host, id(), apt_input(&lines).as_bytes()).is_err(),
            stops,
            "{lines}"
        );
    }
}
