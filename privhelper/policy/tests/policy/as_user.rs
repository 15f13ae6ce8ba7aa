//! Rules with `as`: what such a rule can say, and as whom nothing is done.

use crate::common::{agent, rule, strings};
use crate::rules::{decide, policy, written};
use postern_policy::types::TargetPath;
use postern_policy::{AS_USER_MAX, Grant, Identity, Rule, VerbId};
use postern_proto::root::v1 as root;

fn granted(user: &str) -> root::Rule {
    root::Rule {
        directories: strings(&["/srv/app"]),
        files: strings(&["*.conf"]),
        as_user: user.to_owned(),
        allow_create: false,
        modes: Vec::new(),
        owners: Vec::new(),
        groups: Vec::new(),
        ..rule("conf", &["file.read", "file.write", "request.undo"])
    }
}

fn path(text: &str) -> TargetPath {
    TargetPath::new(text).unwrap()
}

/// A limit of a rule, changed.
type Change = fn(root::Rule) -> root::Rule;

#[test]
fn a_rule_with_as_gives_existing_files_new_content_and_nothing_more() {
    assert!(Rule::new(&granted("app")).is_ok());
    let wrong: [(&str, Change); 12] = [
        ("list", |rule| root::Rule { verbs: strings(&["file.list"]), ..rule }),
        ("patch", |rule| root::Rule { verbs: strings(&["file.write", "file.patch"]), ..rule }),
        ("remove", |rule| root::Rule { verbs: strings(&["file.remove"]), ..rule }),
        ("deny", |rule| root::Rule { decision: root::Decision::Deny.into(), ..rule }),
        ("create", |rule| root::Rule { allow_create: true, ..rule }),
        ("modes", |rule| root::Rule { modes: strings(&["0644"]), ..rule }),
        ("owners", |rule| root::Rule { owners: strings(&["root"]), ..rule }),
        ("groups", |rule| root::Rule { groups: strings(&["root"]), ..rule }),
        ("validate", |rule| root::Rule { validate: "test".to_owned(), ..rule }),
        ("keep_within", |rule| root::Rule { keep_within_s: 60, ..rule }),
        ("max_bytes", |rule| root::Rule { max_bytes: AS_USER_MAX + 1, ..rule }),
        ("user", |rule| root::Rule { as_user: "a\nUser=root".to_owned(), ..rule }),
    ];
    for (limit, change) in wrong {
        assert!(Rule::new(&change(granted("app"))).is_err(), "{limit}");
    }
    // Not of units either.
    let unit = root::Rule {
        as_user: "app".to_owned(),
        units: strings(&["a.service"]),
        ..rule("u", &["unit.start"])
    };
    assert!(Rule::new(&unit).is_err());
}

#[test]
fn each_user_and_directory_has_a_socket_of_its_own() {
    let unit = |user: &str, directory: &str| Rule::new(&granted(user)).unwrap().as_unit(&path(directory));
    let one = unit("app", "/srv/app");
    assert_eq!(one, unit("app", "/srv/app"));
    assert!(one.starts_with("postern-as-") && one.len() == "postern-as-".len() + 16, "{one}");
    assert_ne!(one, unit("app2", "/srv/app"));
    assert_ne!(one, unit("app", "/srv/app2"));
}

#[test]
fn a_file_is_reached_as_the_user_of_the_rule_that_grants_it_and_an_undo_as_no_other() {
    let plain = root::Rule {
        directories: strings(&["/srv/plain"]),
        files: strings(&["*"]),
        ..rule("plain", &["file.write"])
    };
    let policy = policy(vec![granted("app"), plain]);
    let file = path("/srv/app/a.conf");
    let grant = decide(&policy, &[(VerbId::FileWrite, written("/srv/app/a.conf", b"x"))]).unwrap();
    let reached = |grant: &Grant, undone, path: &TargetPath| {
        policy.as_user(grant, undone, path).map(|(rule, at)| (rule.as_user.clone(), at.to_string()))
    };
    let app = Some(("app".to_owned(), "/srv/app".to_owned()));
    assert_eq!(reached(&grant, None, &file), app);
    assert_eq!(reached(&grant, Some("app"), &file), app);
    // What was done as somebody else, or by postern-files.
    assert_eq!(reached(&grant, Some("other"), &file), None);
    assert_eq!(reached(&grant, Some(""), &file), None);
    // Another file than the granted one, and one of a rule without `as`.
    assert_eq!(reached(&grant, None, &path("/srv/app/b.conf")), None);
    let other = decide(&policy, &[(VerbId::FileWrite, written("/srv/plain/a", b"x"))]).unwrap();
    assert_eq!(reached(&other, None, &path("/srv/plain/a")), None);
    // An operator needs a rule that reaches the file as that user.
    let operator = Grant::of_operator();
    assert_eq!(reached(&operator, Some("app"), &file), app);
    for (user, file) in [("other", "/srv/app/a.conf"), ("app", "/srv/app/a.txt"), ("app", "/srv/plain/a")] {
        assert_eq!(reached(&operator, Some(user), &path(file)), None, "{user} {file}");
    }
}

#[test]
fn nothing_is_done_as_root_a_user_of_the_system_a_member_of_a_strong_group_or_a_client() {
    let policy = policy(vec![granted("app")]);
    let who = |uid, user: &str, groups: &[&str]| Identity {
        uid,
        users: strings(&[user]),
        groups: strings(groups),
        ..Identity::default()
    };
    assert_eq!(policy.too_strong(&who(700, "app", &["app", "ssl-cert"])), None);
    for strong in [
        who(0, "app", &["app"]),
        who(700, "root", &[]),
        who(700, "systemd-network", &[]),
        who(700, "postern-units", &[]),
        who(700, "sshd", &[]),
        who(700, "app", &["app", "sudo"]),
        who(700, "app", &["docker"]),
        who(700, "app", &["shadow"]),
        who(700, "app", &["disk"]),
        who(700, "app", &["postern-operators"]),
        // The client `group` of the test's policy.
        who(700, "app", &["helpers"]),
        agent(),
        Identity::default(),
    ] {
        assert!(policy.too_strong(&strong).is_some(), "{strong:?}");
    }
}
