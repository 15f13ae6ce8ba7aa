//! Clients are matched by users and groups, which are read at each decision.

use crate::common::{rule, strings};
use postern_policy::types::Digest;
use postern_policy::{Code, Identity, Object, Policy, VerbId};
use postern_proto::root::v1 as root;

const PASSWD: &str = "\
root:x:0:0:root:/root:/bin/bash
alice:x:1000:1000:Alice,,,:/home/alice:/bin/bash
also-alice:x:1000:900::/home/alice:/bin/sh
bob:x:1001:1001::/home/bob:/bin/bash
John.Doe:x:1002:1002::/home/j:/bin/bash
";
const GROUP: &str = "\
root:x:0:
alice:x:1000:
deploy:x:900:
operators:x:901:bob,alice
web:x:902:bobby,John.Doe
none:x:903:
";

fn identity(uid: u32) -> (Vec<String>, Vec<String>) {
    let Identity { users, groups, .. } = Identity::parse(uid, PASSWD, GROUP);
    (users, groups)
}

#[test]
fn finds_every_user_name_and_group_of_a_uid() {
    let alice = (strings(&["alice", "also-alice"]), strings(&["alice", "deploy", "operators"]));
    assert_eq!(identity(1000), alice);
    assert_eq!(identity(1001), (strings(&["bob"]), strings(&["operators"])), "bob is not bobby");
    assert_eq!(identity(1002), (strings(&["John.Doe"]), strings(&["web"])));
    assert_eq!(identity(0), (strings(&["root"]), strings(&["root"])));
    for nobody in [5, 100, 10_000, u32::MAX] {
        assert_eq!(identity(nobody), (Vec::new(), Vec::new()), "{nobody}");
    }
}

#[test]
fn ignores_malformed_lines_of_the_account_files() {
    for line in [
        "mallory:x:1000:0::/:/bin/sh:more",
        "mallory:x:+1000:0::/:/bin/sh",
        "mallory:x: 1000:0::/:/bin/sh",
        "mallory:x:0x3e8:0::/:/bin/sh",
        "mallory:x:4294968296:0::/:/bin/sh",
        "mallory:x::0::/:/bin/sh",
        ":x:1000:0::/:/bin/sh",
        "+mallory:x:1000:0::/:/bin/sh",
        "#mallory:x:1000:0::/:/bin/sh",
        "mal lory:x:1000:0::/:/bin/sh",
        "mallory",
        "",
    ] {
        assert!(Identity::parse(1000, line, GROUP).users.is_empty(), "{line:?}");
    }
    let alice = "alice:x:1000:1000::/:/bin/sh";
    for line in
        ["g:x:1000", "g:x:1000::", "g:x:-1:alice", "g:x::alice", "+g:x:1000:", "g:x:5: alice", "g:x:5:alice2"]
    {
        assert!(Identity::parse(1000, alice, line).groups.is_empty(), "{line:?}");
    }
}

fn policy(user: &str, group: &str) -> Result<Policy, String> {
    let client = root::Client { name: "agent".to_owned(), user: user.to_owned(), group: group.to_owned() };
    let rules = vec![rule("r", &["package.update"])];
    Policy::compile(
        &root::Rules { version: 1, clients: vec![client], rules, ..Default::default() },
        Digest::ZERO,
    )
}

fn decided(policy: &Policy, uid: u32, passwd: &str, group: &str) -> Result<(), Code> {
    let who = Identity::parse(uid, passwd, group);
    let update = [(VerbId::PackageUpdate, Object::Nothing)];
    policy.decide(&who, &update).map(drop).map_err(|denied| denied.code)
}

/// Row 13: the policy is loaded once, and the files are read at each decision.
#[test]
fn follows_group_membership_while_the_policy_stays_loaded() {
    let policy = policy("", "operators").unwrap();
    assert_eq!(decided(&policy, 1001, PASSWD, GROUP), Ok(()));
    assert_eq!(decided(&policy, 1002, PASSWD, GROUP), Err(Code::UnknownClient));
    let later = GROUP.replace("operators:x:901:bob,alice", "operators:x:901:John.Doe");
    assert_eq!(decided(&policy, 1001, PASSWD, &later), Err(Code::UnknownClient), "removed from the group");
    assert_eq!(decided(&policy, 1002, PASSWD, &later), Ok(()), "added to the group");
    let primary = PASSWD.replace("bob:x:1001:1001", "bob:x:1001:901");
    assert_eq!(decided(&policy, 1001, &primary, &later), Ok(()), "by the primary group");
}

#[test]
fn a_client_whose_name_does_not_exist_matches_nobody() {
    for policy in [policy("gone", "").unwrap(), policy("", "gone").unwrap()] {
        for uid in [0, 1000, 1001, 4_000_000, u32::MAX] {
            assert_eq!(decided(&policy, uid, PASSWD, GROUP), Err(Code::UnknownClient), "{uid}");
        }
    }
    // A name of a user is none of a group.
    assert_eq!(decided(&policy("", "bob").unwrap(), 1001, PASSWD, GROUP), Err(Code::UnknownClient));
    assert_eq!(decided(&policy("web", "").unwrap(), 1002, PASSWD, GROUP), Err(Code::UnknownClient));
    assert_eq!(decided(&policy("bob", "").unwrap(), 1001, "", ""), Err(Code::UnknownClient));
}

#[test]
fn refuses_a_client_that_is_not_exactly_one_name() {
    for (user, group) in [("", ""), ("a", "b"), ("4000001", ""), ("a;uid=0", ""), ("", "*"), ("A", "")] {
        assert!(policy(user, group).is_err(), "{user:?} {group:?}");
    }
}
