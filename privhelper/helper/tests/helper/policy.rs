//! Decisions, object by object (CONTRACTS 5).

use crate::common::{CLIENT_UID, peer, rule, strings};
use crate::policy_plans::{plan, step};
use postern_helper::error::{Code, Refusal};
use postern_helper::plan::Action;
use postern_helper::policy::{Accounts, Authorized, Decision, Object, Policy};
use postern_helper::types::{Arguments, CommandName, Digest, PackageName, TargetPath, UnitName};
use postern_helper::verb_id::VerbId;
use postern_proto::root::v1 as root;
use root::Decision::{Allow, Ask, Deny};

pub fn policy_with(rules: root::Rules) -> Policy {
    let client = |name: &str, user: &str, group: &str| root::Client {
        name: name.to_owned(),
        user: user.to_owned(),
        group: group.to_owned(),
    };
    let accounts = Accounts {
        user: |name| (name == "postern").then_some(CLIENT_UID),
        group: |name| (name == "helpers").then(|| (4_000_100, vec![CLIENT_UID])),
    };
    let clients =
        vec![client("agent", "postern", ""), client("group", "", "helpers"), client("nobody", "gone", "")];
    Policy::compile(&root::Rules { version: 1, clients, ..rules }, Digest::ZERO, accounts).unwrap()
}

pub fn policy(rules: Vec<root::Rule>) -> Policy {
    policy_with(root::Rules { rules, ..root::Rules::default() })
}

pub fn decide(policy: &Policy, wishes: &[(VerbId, Object)]) -> Result<Authorized<()>, Refusal> {
    policy.decide(peer(CLIENT_UID), wishes)
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
    Object::Unit(UnitName::new(name).unwrap())
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

pub fn command(name: &str, pairs: &[(&str, &str)]) -> Object {
    let pairs = pairs.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned())).collect();
    Object::Command { name: CommandName::new(name).unwrap(), arguments: Arguments::new(pairs).unwrap() }
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
    // Whatever the order of the rules is.
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
fn a_request_gets_the_strictest_of_its_objects() {
    let policy = policy(vec![
        units("allow", &["*.service"], Allow),
        units("ask", &["app-*.service"], Ask),
        units("deny", &["db*.service"], Deny),
    ]);
    let of = |names: &[&str]| {
        let wishes = names.iter().map(|name| (VerbId::UnitStop, unit(name))).collect::<Vec<_>>();
        decide(&policy, &wishes).map(|by| by.decision()).map_err(|refusal| refusal.code)
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
    let wish = |bytes: usize| written("/srv/x/a", &vec![b'a'; bytes]);
    // The ask rule is the stricter one: what breaks its limit is not simply allowed.
    let both = policy(vec![site("wide", 100, Allow), site("narrow", 10, Ask)]);
    assert_eq!(said(&both, VerbId::FileWrite, &wish(5)), Ok((Decision::Ask, "narrow".to_owned())));
    assert_eq!(said(&both, VerbId::FileWrite, &wish(50)), Err(Code::LimitExceeded));
    // Of rules with the same decision one that holds is enough, the first such is named.
    let same = policy(vec![site("small", 10, Allow), site("wide", 100, Allow), site("wider", 200, Allow)]);
    assert_eq!(said(&same, VerbId::FileWrite, &wish(5)), Ok((Decision::Allow, "small".to_owned())));
    assert_eq!(said(&same, VerbId::FileWrite, &wish(50)), Ok((Decision::Allow, "wide".to_owned())));
    assert_eq!(said(&same, VerbId::FileWrite, &wish(500)), Err(Code::LimitExceeded));
    let refusal = decide(&same, &[(VerbId::FileWrite, wish(500))]).unwrap_err();
    assert!(
        refusal.message.contains("rule small") && refusal.message.contains("max_bytes"),
        "{}",
        refusal.message
    );
}

#[test]
fn every_client_that_the_peer_is_counts_and_no_other() {
    let of = |client: &str, rule| root::Rule { client: client.to_owned(), ..rule };
    let rules = policy(vec![
        of("agent", units("a", &["*.service"], Allow)),
        of("group", units("g", &["db.service"], Deny)),
        of("nobody", units("n", &["*.timer"], Allow)),
    ]);
    assert_eq!(said(&rules, VerbId::UnitStop, &unit("db.service")), Err(Code::Denied));
    assert_eq!(said(&rules, VerbId::UnitStop, &unit("a.timer")), Err(Code::NoGrant));
    let stranger = rules.decide::<()>(peer(5), &[(VerbId::UnitStop, unit("a.service"))]);
    assert_eq!(stranger.unwrap_err().code, Code::UnknownClient);
}

pub fn site(id: &str, verbs: &[&str], depth: u32, files: &[&str]) -> root::Rule {
    root::Rule { directories: strings(&["/srv/x"]), depth, files: strings(files), ..rule(id, verbs) }
}

fn command_policy(rules: Vec<root::Rule>) -> Policy {
    let parameter = |name: &str, kind: root::ParameterKind| root::Parameter {
        name: name.to_owned(),
        kind: kind.into(),
        ..root::Parameter::default()
    };
    let command = |name: &str, parameters| root::Command {
        name: name.to_owned(),
        parameters,
        ..root::Command::default()
    };
    let grow =
        vec![parameter("name", root::ParameterKind::Name), parameter("size", root::ParameterKind::Size)];
    policy_with(root::Rules {
        rules,
        commands: vec![command("grow", grow), command("flush", Vec::new())],
        ..root::Rules::default()
    })
}

#[test]
fn a_command_is_selected_by_name_and_values_and_then_checked_by_its_types() {
    let run = |id, names: &[&str], params: &[(&str, &[&str])], decision| {
        let grant = |(name, patterns): &(&str, &[&str])| root::ParameterGrant {
            name: (*name).to_owned(),
            patterns: strings(patterns),
        };
        let parameters = params.iter().map(grant).collect();
        decided(root::Rule { commands: strings(names), parameters, ..rule(id, &["command.run"]) }, decision)
    };
    let policy = command_policy(vec![
        run("grow", &["grow", "gone"], &[("size", &["?G", "*M"])], Allow),
        run("never", &["*"], &[("name", &["root*"])], Deny),
    ]);
    let of = |object| said(&policy, VerbId::CommandRun, &object).map(|(_, rule)| rule);
    assert_eq!(of(command("grow", &[("name", "data"), ("size", "10M")])), Ok("grow".to_owned()));
    assert_eq!(of(command("grow", &[("name", "data"), ("size", "10G")])), Err(Code::NoGrant));
    assert_eq!(of(command("grow", &[("name", "rootfs"), ("size", "10M")])), Err(Code::Denied));
    assert_eq!(of(command("grow", &[("name", "da ta"), ("size", "10M")])), Err(Code::InvalidArgument));
    assert_eq!(of(command("grow", &[("size", "10M")])), Err(Code::InvalidArgument));
    assert_eq!(
        of(command("grow", &[("name", "data"), ("other", "x"), ("size", "10M")])),
        Err(Code::InvalidArgument)
    );
    assert_eq!(of(command("grow", &[("name", "data")])), Err(Code::NoGrant));
    // Outside the grant a command that exists is like one that does not.
    assert_eq!(of(command("flush", &[])), Err(Code::NoGrant));
    let text =
        |name| decide(&policy, &[(VerbId::CommandRun, command(name, &[("name", "x y")]))]).unwrap_err();
    let (there, missing) = (text("flush"), text("flusk"));
    assert_eq!(there.message, missing.message);
    assert_eq!(there.missing, "command.run flush");
    // A refusal names the parameter and never its value.
    let refusal =
        decide(&policy, &[(VerbId::CommandRun, command("grow", &[("name", "da ta"), ("size", "1M")]))]);
    let message = refusal.unwrap_err().message;
    assert!(message.contains("name must be name") && !message.contains("da ta"), "{message}");
}

#[test]
fn an_undo_is_granted_by_the_rule_that_decided_and_no_other() {
    let policy = policy(vec![
        decided(site("one", &["file.write", "request.undo"], 1, &["*"]), Allow),
        decided(
            root::Rule { units: strings(&["a.service"]), ..rule("two", &["unit.stop", "request.undo"]) },
            Ask,
        ),
        decided(root::Rule { packages: strings(&["*"]), ..rule("three", &["package.hold"]) }, Allow),
    ]);
    let undo = |rule: &str| said(&policy, VerbId::RequestUndo, &Object::Undo { rule: rule.to_owned() });
    assert_eq!(undo("one"), Ok((Decision::Allow, "one".to_owned())));
    assert_eq!(undo("two"), Ok((Decision::Ask, "two".to_owned())));
    assert_eq!(undo("three"), Err(Code::NoGrant));
    assert_eq!(undo("gone"), Err(Code::NoGrant));
    assert_eq!(undo(""), Err(Code::NoGrant));
    // The undo is decided as the inverse request too.
    let inverse = (VerbId::FileWrite, written("/srv/y/a", b""));
    let both = decide(&policy, &[(VerbId::RequestUndo, Object::Undo { rule: "one".to_owned() }), inverse]);
    assert_eq!(both.unwrap_err().code, Code::NoGrant);
    // Nor does one of the two open the other.
    assert_eq!(said(&policy, VerbId::RequestUndo, &file("/srv/x/a")), Err(Code::NoGrant));
    assert_eq!(
        said(&policy, VerbId::FileWrite, &Object::Undo { rule: "one".to_owned() }),
        Err(Code::NoGrant)
    );
}

#[test]
fn what_a_policy_protects_no_rule_of_it_grants() {
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
    // What comes along is protected as well as what is named.
    let steps = [step(Action::Upgrade, "nginx-common", false)];
    assert_eq!(
        plan(&with, VerbId::PackageInstall, &[package("a0")], &steps).unwrap_err().code,
        Code::Protected
    );
}

#[test]
fn refuses_an_accepted_form_with_broken_commands() {
    let accounts = Accounts { user: |_| None, group: |_| None };
    let compile = |commands| {
        let rules = root::Rules { version: 1, commands, ..root::Rules::default() };
        Policy::compile(&rules, Digest::ZERO, accounts).map(drop)
    };
    let command = |name: &str, parameters: &[&str]| root::Command {
        name: name.to_owned(),
        parameters: parameters
            .iter()
            .map(|name| root::Parameter {
                name: (*name).to_owned(),
                kind: root::ParameterKind::Name.into(),
                ..root::Parameter::default()
            })
            .collect(),
        ..root::Command::default()
    };
    assert_eq!(compile(vec![command("a", &["x", "y"]), command("b", &[])]), Ok(()));
    for broken in [
        vec![command("a", &[]), command("a", &[])],
        vec![command("A", &[])],
        vec![command("a", &["y", "x"])],
        vec![command("a", &["x", "x"])],
        vec![command("a", &["X"])],
        vec![root::Command {
            parameters: vec![root::Parameter { name: "x".to_owned(), ..root::Parameter::default() }],
            ..command("a", &[])
        }],
    ] {
        assert!(compile(broken.clone()).is_err(), "{broken:?}");
    }
}
