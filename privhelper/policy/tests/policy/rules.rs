//! Decisions, object by object.

use crate::common::{agent, rule, stranger, strings};
use crate::plans::{plan, step};
use postern_policy::facts::Action;
use postern_policy::types::{Digest, PackageName, TargetPath, UnitName};
use postern_policy::{Code, Decision, Denied, Grant, Object, Policy, VerbId};
use postern_proto::root::v1 as root;
use prost::Message;
use root::Decision::{Allow, Ask, Deny};

pub fn policy_with(rules: root::Rules) -> Policy {
    let client = |name: &str, user: &str, group: &str| root::Client {
        name: name.to_owned(),
        user: user.to_owned(),
        group: group.to_owned(),
    };
    let clients =
        vec![client("agent", "postern", ""), client("group", "", "helpers"), client("nobody", "gone", "")];
    Policy::compile(&root::Rules { version: 1, clients, ..rules }, Digest::ZERO).unwrap()
}

pub fn policy(rules: Vec<root::Rule>) -> Policy {
    policy_with(root::Rules { rules, ..root::Rules::default() })
}

pub fn decide(policy: &Policy, required_grants: &[(VerbId, Object)]) -> Result<Grant, Denied> {
    policy.decide(&agent(), required_grants)
}

/// Decision and rule, or the code.
pub fn said(policy: &Policy, verb: VerbId, object: &Object) -> Result<(Decision, String), Code> {
    match decide(policy, &[(verb, object.clone())]) {
        Ok(by) => Ok((by.decision(), by.rule_id().to_owned())),
        Err(refusal) => Err(refusal.code),
    }
}

pub fn decided(rule: root::Rule, decision: root::Decision) -> root::Rule {
    root::Rule { decision: decision.into(), ..rule }
}

pub fn unit(name: &str) -> Object {
    Object::unit(UnitName::new(name).unwrap())
}

pub fn package(name: &str) -> Object {
    Object::Package { name: PackageName::new(name).unwrap(), version: None }
}

pub fn file(path: &str) -> Object {
    Object::read(TargetPath::new(path).unwrap())
}

pub fn written(path: &str, content: &[u8]) -> Object {
    let path = TargetPath::new(path).unwrap();
    let bytes = content.len() as u64;
    Object::File { path, bytes, content: Some(content.into()), mode: None, owner: None, group: None }
}

pub fn units(id: &str, patterns: &[&str], decision: root::Decision) -> root::Rule {
    decided(root::Rule { units: strings(patterns), ..rule(id, &["unit.stop", "unit.start"]) }, decision)
}

#[test]
fn the_strictest_of_the_rules_that_select_an_object_decides() {
    let all = [
        units("allow", &["*.service"], Allow),
        units("ask", &["app-*.service"], Ask),
        units("deny", &["app-db*.service"], Deny),
    ];
    // The order of the rules does not matter.
    for order in [[0, 1, 2], [0, 2, 1], [1, 0, 2], [1, 2, 0], [2, 0, 1], [2, 1, 0]] {
        let policy = policy(order.iter().map(|place| all[*place].clone()).collect());
        let said = |name| said(&policy, VerbId::UnitStop, &unit(name));
        assert_eq!(said("x.service"), Ok((Decision::Allow, "allow".to_owned())));
        assert_eq!(said("app-web.service"), Ok((Decision::Ask, "ask".to_owned())));
        assert_eq!(said("app-db1.service"), Err(Code::Denied));
        assert_eq!(said("x.timer"), Err(Code::NoGrant));
    }
}

#[test]
fn a_request_gets_the_strictest_decision_of_its_objects() {
    let policy = policy(vec![
        units("allow", &["*.service"], Allow),
        units("ask", &["app-*.service"], Ask),
        units("deny", &["db*.service"], Deny),
    ]);
    let of = |names: &[&str]| {
        let required_grants = names.iter().map(|name| (VerbId::UnitStop, unit(name))).collect::<Vec<_>>();
        decide(&policy, &required_grants).map(|by| by.decision()).map_err(|refusal| refusal.code)
    };
    assert_eq!(of(&["x.service", "y.service"]), Ok(Decision::Allow));
    assert_eq!(of(&["x.service", "app-1.service"]), Ok(Decision::Ask));
    assert_eq!(of(&["x.service", "app-1.service", "db.service"]), Err(Code::Denied));
    assert_eq!(of(&["x.service", "x.timer"]), Err(Code::NoGrant));
    assert_eq!(of(&[]), Err(Code::NoGrant));
}

#[test]
fn a_broken_limit_never_falls_through_to_another_decision() {
    let site = |id, max_bytes, decision| {
        let verbs = ["file.write"];
        let (directories, files) = (strings(&["/srv/x"]), strings(&["*"]));
        decided(root::Rule { directories, files, max_bytes, ..rule(id, &verbs) }, decision)
    };
    let required_grant = |bytes: usize| written("/srv/x/a", &vec![b'a'; bytes]);
    // The ask rule is the stricter one: what breaks its limit is not simply allowed.
    let both = policy(vec![site("wide", 100, Allow), site("narrow", 10, Ask)]);
    assert_eq!(said(&both, VerbId::FileWrite, &required_grant(5)), Ok((Decision::Ask, "narrow".to_owned())));
    assert_eq!(said(&both, VerbId::FileWrite, &required_grant(50)), Err(Code::LimitExceeded));
    // Of rules with the same decision one that holds is enough, the first such is named.
    let same = policy(vec![site("small", 10, Allow), site("wide", 100, Allow), site("wider", 200, Allow)]);
    assert_eq!(said(&same, VerbId::FileWrite, &required_grant(5)), Ok((Decision::Allow, "small".to_owned())));
    assert_eq!(said(&same, VerbId::FileWrite, &required_grant(50)), Ok((Decision::Allow, "wide".to_owned())));
    assert_eq!(said(&same, VerbId::FileWrite, &required_grant(500)), Err(Code::LimitExceeded));
    let refusal = decide(&same, &[(VerbId::FileWrite, required_grant(500))]).unwrap_err();
    assert!(
        refusal.message.contains("rule small") && refusal.message.contains("max_bytes"),
        "{}",
        refusal.message
    );
}

#[test]
fn rules_of_every_client_that_matches_the_peer_apply() {
    let of = |client: &str, rule| root::Rule { client: client.to_owned(), ..rule };
    let rules = policy(vec![
        of("agent", units("a", &["*.service"], Allow)),
        of("group", units("g", &["db.service"], Deny)),
        of("nobody", units("n", &["*.timer"], Allow)),
    ]);
    assert_eq!(said(&rules, VerbId::UnitStop, &unit("db.service")), Err(Code::Denied));
    assert_eq!(said(&rules, VerbId::UnitStop, &unit("a.timer")), Err(Code::NoGrant));
    let stranger = rules.decide(&stranger(), &[(VerbId::UnitStop, unit("a.service"))]);
    assert_eq!(stranger.unwrap_err().code, Code::UnknownClient);
}

pub fn site(id: &str, verbs: &[&str], depth: u32, files: &[&str]) -> root::Rule {
    root::Rule { directories: strings(&["/srv/x"]), depth, files: strings(files), ..rule(id, verbs) }
}

#[test]
fn no_rule_grants_a_name_that_the_policy_protects() {
    let protect = root::Protect {
        packages: strings(&["nginx*"]),
        units: strings(&["ssh.service", "getty@*.service"]),
        paths: strings(&["/srv/x/keep", "/srv/x/one.txt"]),
    };
    let rules = vec![
        units("units", &["*.service", "*@*.service"], Allow),
        root::Rule { units: strings(&["*.service"]), ..rule("look", &["unit.status"]) },
        root::Rule {
            packages: strings(&["*"]),
            ..rule("packages", &["package.install", "package.show", "package.hold"])
        },
        site("files", &["file.read", "file.write"], 3, &["*"]),
    ];
    let with =
        policy_with(root::Rules { rules: rules.clone(), protect: Some(protect), ..root::Rules::default() });
    let without = policy(rules);
    for (verb, object) in [
        (VerbId::UnitStop, unit("ssh.service")),
        (VerbId::UnitStart, unit("getty@tty1.service")),
        (VerbId::PackageInstall, package("nginx-light")),
        (VerbId::PackageHold, package("nginx")),
        (VerbId::FileRead, file("/srv/x/one.txt")),
        (VerbId::FileWrite, file("/srv/x/keep/a/b")),
    ] {
        assert_eq!(said(&with, verb, &object), Err(Code::Protected), "{object:?}");
        assert!(said(&without, verb, &object).is_ok(), "{object:?}");
    }
    for (verb, object) in [
        (VerbId::UnitStatus, unit("ssh.service")),
        (VerbId::PackageShow, package("nginx")),
        (VerbId::FileRead, file("/srv/x/keeper")),
        (VerbId::UnitStop, unit("sshd.service")),
    ] {
        assert!(said(&with, verb, &object).is_ok(), "{object:?}");
    }
    // Packages that the plan adds are protected like named ones.
    let steps = [step(Action::Upgrade, "nginx-common", false)];
    assert_eq!(
        plan(&with, VerbId::PackageInstall, &[package("a0")], &steps).unwrap_err().code,
        Code::Protected
    );
}

#[test]
fn refuses_changes_to_directories_above_protected_paths() {
    let of = |id: &str, directory: &str| root::Rule {
        directories: strings(&[directory]),
        files: strings(&["*"]),
        modes: strings(&["0777"]),
        ..rule(id, &["file.set-mode", "file.set-owner", "file.remove", "file.list", "file.read"])
    };
    let protect = root::Protect { paths: strings(&["/srv/x/y/keep"]), ..root::Protect::default() };
    let rules = vec![of("etc", "/etc"), of("var", "/var"), of("srv", "/srv/x")];
    let policy = policy_with(root::Rules { rules, protect: Some(protect), ..root::Rules::default() });
    // The owner of /var/lib can replace the helper's directory.
    for path in
        ["/var/lib", "/etc/systemd", "/etc/apt", "/srv/x/y", "/etc/sudoers", "/etc/cron.d", "/etc/passwd-"]
    {
        for verb in [VerbId::FileSetOwner, VerbId::FileSetMode, VerbId::FileRemove] {
            assert_eq!(said(&policy, verb, &file(path)), Err(Code::Protected), "{path}");
        }
    }
    assert_eq!(said(&policy, VerbId::FileList, &file("/etc/systemd")), Err(Code::Protected));
    for path in ["/var/libx", "/var/log.d", "/etc/system", "/srv/x/yy", "/etc/motd"] {
        assert!(said(&policy, VerbId::FileSetOwner, &file(path)).is_ok(), "{path}");
    }
    // Looking at what holds it is no harm.
    assert!(said(&policy, VerbId::FileList, &file("/var")).is_ok());
}

#[test]
fn a_rule_with_a_limit_that_this_version_does_not_know_is_refused_and_not_loosened() {
    let client = root::Client { name: "agent".to_owned(), user: "postern".to_owned(), group: String::new() };
    let rules = |rule: &[u8]| {
        let rules = root::Rules { version: 1, clients: vec![client.clone()], ..root::Rules::default() };
        // Field 3, a rule: its key, its length, its bytes.
        let (mut bytes, len) = (rules.encode_to_vec(), u8::try_from(rule.len()).unwrap());
        bytes.extend([&[0x1a, len], rule].concat());
        let digest = Digest::of(&[&bytes]).as_bytes().to_vec();
        let accepted = root::AcceptedPolicy { rules: bytes, digest, ..root::AcceptedPolicy::default() };
        Policy::load(&accepted.encode_to_vec())
    };
    let known = root::Rule {
        id: "r".to_owned(),
        client: "agent".to_owned(),
        verbs: strings(&["unit.start"]),
        decision: Allow.into(),
        units: strings(&["x.service"]),
        ..root::Rule::default()
    };
    let known = known.encode_to_vec();
    assert!(rules(&known).is_ok(), "{:?}", rules(&known).err());
    // Field 2000 with the value 1.
    let newer = [known.as_slice(), &[0x80, 0x7d, 0x01]].concat();
    assert!(rules(&newer).unwrap_err().contains("another version"));
}
