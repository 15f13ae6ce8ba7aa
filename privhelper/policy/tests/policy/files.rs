//! Which files a rule reaches, and the limits of what is made of them.

use crate::common::strings;
use crate::rules::{decide, file, policy, said, site, written};
use postern_policy::types::{FileMode, TargetPath, UserName};
use postern_policy::{Code, Object, VerbId};
use postern_proto::root::v1 as root;

#[test]
fn depth_counts_levels_and_no_star_goes_into_hidden_directories() {
    let reach = |depth, path: &str| {
        let policy = policy(vec![site("r", &["file.read"], depth, &["*", ".named"])]);
        said(&policy, VerbId::FileRead, &file(path)).is_ok()
    };
    assert!(
        reach(1, "/srv/x/a")
            && reach(1, "/srv/x/.named")
            && reach(2, "/srv/x/a/b")
            && reach(3, "/srv/x/a/b/c")
    );
    assert!(!reach(1, "/srv/x/a/b") && !reach(2, "/srv/x/a/b/c"));
    assert!(!reach(3, "/srv/x") && !reach(3, "/srv/xa/b") && !reach(3, "/srv/y"));
    assert!(!reach(3, "/srv/x/.git/b") && !reach(3, "/srv/x/a/.git/b") && !reach(1, "/srv/x/.hidden"));
}

#[test]
fn a_directory_is_listed_whatever_its_name_if_its_children_are_within_reach() {
    let lists = |depth, path: &str| {
        let policy = policy(vec![site("r", &["file.list"], depth, &["*.txt"])]);
        said(&policy, VerbId::FileList, &file(path)).is_ok()
    };
    assert!(lists(1, "/srv/x") && lists(2, "/srv/x/a") && lists(3, "/srv/x/a/b"));
    assert!(!lists(1, "/srv/x/a") && !lists(2, "/srv/x/a/b") && !lists(9, "/srv"));
    assert!(!lists(3, "/srv/x/.git") && !lists(3, "/srv/x/.git/b"));
    // Another verb looks at the name, and never at the directory itself.
    let both = policy(vec![site("r", &["file.list", "file.read"], 2, &["*.txt"])]);
    assert_eq!(said(&both, VerbId::FileRead, &file("/srv/x/a")), Err(Code::NoGrant));
    assert_eq!(said(&both, VerbId::FileRead, &file("/srv/x")), Err(Code::NoGrant));
}

#[test]
fn modes_owners_and_groups_are_limits_of_every_verb_that_sets_them() {
    let rules = root::Rule {
        modes: strings(&["0755"]),
        owners: strings(&["www-data"]),
        groups: Vec::new(),
        ..site("r", &["file.mkdir", "file.set-mode", "file.set-owner"], 1, &["*"])
    };
    let policy = policy(vec![rules]);
    let object = |mode: Option<&str>, owner: Option<&str>, group: Option<&str>| {
        let user = |name| UserName::new("owner", name).unwrap();
        let mode = mode.map(|mode| FileMode::new(mode).unwrap());
        let path = TargetPath::new("/srv/x/a").unwrap();
        Object::File { path, bytes: 0, content: None, mode, owner: owner.map(user), group: group.map(user) }
    };
    for verb in [VerbId::FileMkdir, VerbId::FileSetMode, VerbId::FileSetOwner] {
        assert!(said(&policy, verb, &object(Some("0755"), Some("www-data"), None)).is_ok());
        assert_eq!(said(&policy, verb, &object(Some("0777"), None, None)), Err(Code::LimitExceeded));
        assert_eq!(said(&policy, verb, &object(None, Some("root"), None)), Err(Code::LimitExceeded));
        assert_eq!(said(&policy, verb, &object(None, None, Some("root"))), Err(Code::LimitExceeded));
    }
}

/// Content, and the number of the first line that is refused.
const LINES: &[(&[u8], Option<u32>)] = &[
    (b"", None),
    (b"vm.swappiness = 10", None),
    (b"vm.swappiness = 10\n", None),
    (b"\n  \n\t\nvm.swappiness = \n\n", None),
    (b"# set by us\nvm.swappiness = 1 # \"x\" /y\n", None),
    (b"#not listed\n", Some(1)),
    (b"vm.swappiness = 10\nkernel.core_pattern = |/x\n", Some(2)),
    (b"vm.swappiness = 10\n vm.swappiness = 10\n", Some(2)),
    (b"vm.swappiness = 10\\\nkernel.core_pattern = |/x\n", Some(1)),
    (b"\\\n", Some(1)),
    (b"vm.swappiness = 10\r\n", Some(1)),
    (b"vm.swappiness = 10\rkernel.core_pattern = |/x\n", Some(1)),
    (b"vm.swappiness = \x00\n", Some(1)),
    (b"vm.swappiness = \t\n", Some(1)),
    (b"\x00", Some(1)),
    (b"vm.swappiness = \xff\n", Some(1)),
    ("\nvm.swappiness = é\n".as_bytes(), Some(2)),
    ("vm.swappiness = \u{2028}x\n".as_bytes(), Some(1)),
];

#[test]
fn a_file_of_listed_lines_consists_of_nothing_else() {
    let lines = strings(&["vm.swappiness = *", "# set by *"]);
    let policy =
        policy(vec![root::Rule { lines, ..site("tuning", &["file.write", "file.read"], 1, &["*"]) }]);
    for (content, bad) in LINES {
        let said = decide(&policy, &[(VerbId::FileWrite, written("/srv/x/a", content))]);
        match bad {
            None => assert!(said.is_ok(), "{content:?} {said:?}"),
            Some(line) => {
                let refusal = said.unwrap_err();
                assert_eq!(refusal.code, Code::LimitExceeded, "{content:?}");
                let whole = format!("line {line} is none of those that rule tuning grants (`lines`)");
                assert_eq!(refusal.message, whole, "{content:?}");
            }
        }
    }
    let long = [b"vm.swappiness = ".as_slice(), &[b'1'; 4096]].concat();
    assert!(decide(&policy, &[(VerbId::FileWrite, written("/srv/x/a", &long))]).is_err());
    // Reading writes nothing.
    assert!(decide(&policy, &[(VerbId::FileRead, file("/srv/x/a"))]).is_ok());
}

#[test]
fn comments_pass_where_the_rule_says_so_but_none_that_programs_obey() {
    let policy_of = |comments| {
        let lines = strings(&["Port *"]);
        policy(vec![root::Rule { lines, comments, ..site("ssh", &["file.write"], 1, &["*"]) }])
    };
    let writes = |comments, content: &str| {
        decide(&policy_of(comments), &[(VerbId::FileWrite, written("/srv/x/a", content.as_bytes()))]).is_ok()
    };
    for comment in ["# a note", "## Port 22", "  # indented", "#", "Port 22\n\n# end"] {
        assert!(writes(true, comment), "{comment:?}");
    }
    assert!(!writes(false, "# a note") && writes(false, "Port 22"));
    for other in [
        "#1001 ALL=(ALL:ALL) NOPASSWD: ALL",
        "#clear x",
        "#Port 22",
        "#!/bin/sh",
        "#include x",
        " #includedir /x",
        "# joins the next \\",
        "x # y",
        "# \u{202e}",
        "#\r",
    ] {
        assert!(!writes(true, other), "{other:?}");
    }
}

#[test]
fn a_patch_counts_its_files_and_judges_each() {
    let rules = vec![root::Rule {
        max_files: 2,
        lines: strings(&["a"]),
        ..site("r", &["file.patch"], 1, &["*.txt"])
    }];
    let policy = policy(rules);
    let patch = |paths: &[(&str, &[u8])]| {
        let required_grants = paths.iter().map(|(path, content)| (VerbId::FilePatch, written(path, content)));
        decide(&policy, &required_grants.collect::<Vec<_>>()).map(drop).map_err(|refusal| refusal.code)
    };
    assert_eq!(patch(&[("/srv/x/1.txt", b"a"), ("/srv/x/2.txt", b"a\n")]), Ok(()));
    assert_eq!(patch(&[("/srv/x/1.txt", b"a"), ("/srv/x/2.txt", b"b")]), Err(Code::LimitExceeded));
    assert_eq!(patch(&[("/srv/x/1.txt", b"a"), ("/srv/x/2.sh", b"a")]), Err(Code::NoGrant));
    let three: [(&str, &[u8]); 3] = [("/srv/x/1.txt", b"a"), ("/srv/x/2.txt", b"a"), ("/srv/x/3.txt", b"a")];
    assert_eq!(patch(&three), Err(Code::LimitExceeded));
}
