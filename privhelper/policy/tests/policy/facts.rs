//! Facts that another program wrote: what is read, and what is refused.

use postern_policy::Facts;
use postern_policy::facts::{Origin, PackageStep};
use postern_proto::root::v1 as root;
use postern_proto::v1 as wire;

fn read(facts: &root::Facts) -> Result<Facts, &'static str> {
    Facts::from_wire(facts).map_err(|invalid| invalid.field)
}

fn step() -> wire::PackageStep {
    wire::PackageStep {
        action: wire::Action::Upgrade.into(),
        name: "hello".to_owned(),
        arch: "amd64".to_owned(),
        old: "2.10-3".to_owned(),
        new: "1:2.10-3+b1~bpo12".to_owned(),
        sources: vec![
            "/etc/apt/sources.list:1 http://deb.example.org/debian /usr/share/keyrings/d.gpg".to_owned(),
        ],
        asked: true,
    }
}

fn packages(step: wire::PackageStep) -> root::Facts {
    let packages = root::PackageFacts {
        steps: vec![step],
        kept_back: vec!["base-files".to_owned()],
        ..Default::default()
    };
    root::Facts { packages: Some(packages), ..root::Facts::default() }
}

fn unit() -> root::UnitState {
    root::UnitState {
        id: "ssh.service".to_owned(),
        names: vec!["ssh.service".to_owned(), "sshd.service".to_owned()],
        load: "loaded".to_owned(),
        active: "active".to_owned(),
        sub: "auto-restart".to_owned(),
        enabled: "enabled-runtime".to_owned(),
        result: "start-limit-hit".to_owned(),
        main_pid: 7,
        since_unix_us: 8,
        memory_bytes: 9,
        exit_status: -1,
        invocation: "0123456789abcdef".repeat(2),
    }
}

fn units(unit: root::UnitState) -> root::Facts {
    let affected = vec![root::AffectedUnit {
        unit: Some(unit.clone()),
        effect: "stop".to_owned(),
        cause: String::new(),
    }];
    root::Facts { unit: Some(root::UnitFacts { unit: Some(unit), affected }), ..root::Facts::default() }
}

fn file() -> root::FileFacts {
    root::FileFacts {
        path: "/etc/motd".to_owned(),
        exists: true,
        directory: false,
        size: 5,
        sha256: vec![7; 32],
        mode: 0o644,
        uid: 0,
        gid: 3,
        attributes: vec!["security.selinux".to_owned(), "user.a".to_owned()],
    }
}

fn files(file: root::FileFacts) -> root::Facts {
    root::Facts { files: vec![file], ..root::Facts::default() }
}

#[test]
fn reads_back_what_it_writes() {
    let missing = root::FileFacts { path: "/etc/motd".to_owned(), ..root::FileFacts::default() };
    let directory = root::FileFacts { directory: true, size: 0, sha256: Vec::new(), ..file() };
    let unread = root::FileFacts { sha256: Vec::new(), ..file() };
    for facts in [
        root::Facts::default(),
        packages(step()),
        units(unit()),
        files(file()),
        files(missing),
        files(directory),
        files(unread),
    ] {
        assert_eq!(read(&facts).unwrap().to_wire(), facts);
    }
}

#[test]
fn refuses_facts_of_two_kinds() {
    let two = root::Facts { packages: packages(step()).packages, ..units(unit()) };
    let also = root::Facts { files: vec![file()], ..packages(step()) };
    let many = root::Facts { files: vec![file(); 65], ..root::Facts::default() };
    for facts in [two, also, many] {
        assert_eq!(read(&facts), Err("facts"));
    }
    assert!(read(&root::Facts { files: vec![file(); 64], ..root::Facts::default() }).is_ok());
}

/// Row 9: a line feed in a version would put lines into the text that a person approves.
#[test]
fn accepts_versions_of_dpkg_alone() {
    for version in ["", "1", "1:2.3-4+deb13u1~bpo12+1", "0~git20240101.abcdef-1", "A", &"1".repeat(256)] {
        let new = wire::PackageStep { new: version.to_owned(), ..step() };
        let old = wire::PackageStep { old: version.to_owned(), ..step() };
        assert!(read(&packages(new)).is_ok() && read(&packages(old)).is_ok(), "{version:?}");
    }
    for version in
        ["1\n2", "1 2", "1\t", "1_2", "1/2", "1\u{202e}2", "é", "1\0", "1\u{7f}", "*", &"1".repeat(257)]
    {
        let new = wire::PackageStep { new: version.to_owned(), ..step() };
        let old = wire::PackageStep { old: version.to_owned(), ..step() };
        assert_eq!(
            (read(&packages(new)), read(&packages(old))),
            (Err("version"), Err("version")),
            "{version:?}"
        );
    }
}

#[test]
fn accepts_architectures_of_dpkg_alone() {
    for (arch, fine) in [
        ("amd64", true),
        ("all", true),
        ("kfreebsd-amd64", true),
        ("", false),
        ("amd64\n", false),
        ("AMD64", false),
        ("amd 64", false),
        ("a_b", false),
        (&"a".repeat(32), true),
        (&"a".repeat(33), false),
    ] {
        let found = read(&packages(wire::PackageStep { arch: arch.to_owned(), ..step() }));
        assert_eq!(found.is_ok(), fine, "{arch:?}");
    }
}

/// Row 9: a repository whose entry looks like another one must not be shown as that.
#[test]
fn accepts_origins_of_three_printable_words() {
    for text in [
        "/etc/apt/sources.list:1 http://deb.example.org/debian -",
        "/etc/apt/sources.list.d/x.sources:2 https://u@h:8/d?x=%20 /usr/share/keyrings/a.gpg,/etc/apt/b.asc",
        "/e:1 file:/srv AB12!",
    ] {
        assert_eq!(Origin::new(text).unwrap().to_string(), text);
    }
    for text in [
        "",
        "/e:1",
        "/e:1 http://h",
        "/e:1 http://h - -",
        "/e:1  -",
        " http://h -",
        "/e:1 http://h ",
        "/e:1\thttp://h -",
        "/e:1 http://h\n -",
        "/e:1 http://h\u{202e} -",
        "/e:1 http://é -",
        "/e:1 http://h \u{7f}",
        &format!("/e:1 http://{} -", "h".repeat(2048)),
    ] {
        assert_eq!(Origin::new(text), None, "{text:?}");
        let sources = vec![text.to_owned()];
        assert_eq!(read(&packages(wire::PackageStep { sources, ..step() })), Err("sources"), "{text:?}");
    }
    let many = |count| wire::PackageStep { sources: vec![step().sources[0].clone(); count], ..step() };
    assert!(read(&packages(many(100))).is_ok());
    assert_eq!(read(&packages(many(101))), Err("sources"));
}

#[test]
fn refuses_other_malformed_steps() {
    for (bad, field) in [
        (wire::PackageStep { action: 0, ..step() }, "action"),
        (wire::PackageStep { action: 99, ..step() }, "action"),
        (wire::PackageStep { name: "Hello".to_owned(), ..step() }, "packages"),
        (wire::PackageStep { name: "hel\nlo".to_owned(), ..step() }, "packages"),
    ] {
        assert_eq!(PackageStep::from_wire(&bad).unwrap_err().field, field);
    }
    let with = |steps, kept_back| {
        let packages = root::PackageFacts { steps, kept_back, ..root::PackageFacts::default() };
        read(&root::Facts { packages: Some(packages), ..root::Facts::default() })
    };
    assert_eq!(with(vec![step(); 10_001], Vec::new()), Err("steps"));
    assert_eq!(with(Vec::new(), vec!["a b".to_owned()]), Err("packages"));
    assert!(with(vec![step(); 10_000], vec!["ab".to_owned()]).is_ok());
}

#[test]
fn accepts_units_with_names_and_states_of_systemd_alone() {
    let text = |text: &str| text.to_owned();
    for fine in [
        root::UnitState { sub: text("stop-sigterm"), ..unit() },
        root::UnitState { enabled: String::new(), result: String::new(), ..unit() },
        root::UnitState { invocation: String::new(), ..unit() },
        root::UnitState { names: vec![text("ssh.service"); 64], ..unit() },
    ] {
        assert!(read(&units(fine.clone())).is_ok(), "{fine:?}");
    }
    for bad in [
        root::UnitState { id: text("ssh"), ..unit() },
        root::UnitState { id: text("ssh.service\n"), ..unit() },
        root::UnitState { id: text("*.service"), ..unit() },
        root::UnitState { names: vec![text("ssh.service"), text("a b.service")], ..unit() },
        root::UnitState { names: vec![text("ssh.service"); 65], ..unit() },
        root::UnitState { load: text("loaded\n"), ..unit() },
        root::UnitState { active: text("Active"), ..unit() },
        root::UnitState { sub: text("running 1"), ..unit() },
        root::UnitState { enabled: text("enabled\u{202e}"), ..unit() },
        root::UnitState { result: "a".repeat(33), ..unit() },
        root::UnitState { invocation: text("0123"), ..unit() },
        root::UnitState { invocation: "g".repeat(32), ..unit() },
        root::UnitState { invocation: "A".repeat(32), ..unit() },
    ] {
        assert_eq!(read(&units(bad.clone())), Err("unit"), "{bad:?}");
    }
    let with = |affected| {
        let facts = root::UnitFacts { unit: Some(unit()), affected };
        read(&root::Facts { unit: Some(facts), ..root::Facts::default() })
    };
    let other = |effect: &str| root::AffectedUnit {
        unit: Some(unit()),
        effect: effect.to_owned(),
        cause: String::new(),
    };
    for effect in ["start", "stop", "restart", "reload", "enable", "disable"] {
        assert!(with(vec![other(effect)]).is_ok(), "{effect}");
    }
    for effect in ["", "Stop", "mask", "unit.stop"] {
        assert_eq!(with(vec![other(effect)]), Err("effect"), "{effect}");
    }
    assert_eq!(with(vec![other("stop"); 257]), Err("affected"));
    assert_eq!(with(vec![root::AffectedUnit { unit: None, ..other("stop") }]), Err("unit"));
    let template = root::UnitState { id: "ssh@.service".to_owned(), ..root::UnitState::default() };
    assert!(with(vec![root::AffectedUnit { unit: Some(template), ..other("enable") }]).is_ok());
    let none = root::Facts { unit: Some(root::UnitFacts::default()), ..root::Facts::default() };
    assert_eq!(read(&none), Err("unit"));
}

#[test]
fn refuses_malformed_facts_of_files() {
    let text = |text: &str| text.to_owned();
    for (bad, field) in [
        (root::FileFacts { path: text("etc/motd"), ..file() }, "path"),
        (root::FileFacts { path: text("/etc/../motd"), ..file() }, "path"),
        (root::FileFacts { mode: 0o4755, ..file() }, "mode"),
        (root::FileFacts { mode: 0o100_644, ..file() }, "mode"),
        (root::FileFacts { sha256: vec![7; 31], ..file() }, "sha256"),
        (root::FileFacts { exists: false, ..file() }, "exists"),
        (root::FileFacts { attributes: vec![text("user.b"), text("user.a")], ..file() }, "attributes"),
        (root::FileFacts { attributes: vec![text("user.a b")], ..file() }, "attributes"),
        (root::FileFacts { attributes: vec![text("user.a\n")], ..file() }, "attributes"),
        (root::FileFacts { attributes: vec![String::new()], ..file() }, "attributes"),
        (root::FileFacts { attributes: vec!["a".repeat(256)], ..file() }, "attributes"),
        (root::FileFacts { attributes: vec![text("user.a"); 257], ..file() }, "attributes"),
    ] {
        assert_eq!(read(&files(bad.clone())), Err(field), "{bad:?}");
    }
}
