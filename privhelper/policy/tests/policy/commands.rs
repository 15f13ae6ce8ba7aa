//! Commands with their parameters, and what may be undone.

use crate::common::{rule, strings};
use crate::rules::{decide, decided, file, policy, policy_with, said, site, written};
use postern_policy::types::{Arguments, CommandName, Digest};
use postern_policy::{Code, Decision, Object, Policy, VerbId};
use postern_proto::root::v1 as root;
use root::Decision::{Allow, Ask, Deny};

fn command(name: &str, pairs: &[(&str, &str)]) -> Object {
    let pairs = pairs.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned())).collect();
    Object::Command { name: CommandName::new(name).unwrap(), arguments: Arguments::new(pairs).unwrap() }
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

fn undo_of(rule: &str) -> Object {
    Object::Undo { rule: rule.to_owned(), least: Decision::Allow }
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
    let undo = |rule: &str| said(&policy, VerbId::RequestUndo, &undo_of(rule));
    assert_eq!(undo("one"), Ok((Decision::Allow, "one".to_owned())));
    assert_eq!(undo("two"), Ok((Decision::Ask, "two".to_owned())));
    assert_eq!(undo("three"), Err(Code::NoGrant));
    assert_eq!(undo("gone"), Err(Code::NoGrant));
    assert_eq!(undo(""), Err(Code::NoGrant));
    // The undo is decided as the inverse request too.
    let inverse = (VerbId::FileWrite, written("/srv/y/a", b""));
    let both = decide(&policy, &[(VerbId::RequestUndo, undo_of("one")), inverse]);
    assert_eq!(both.unwrap_err().code, Code::NoGrant);
    // Nor does one of the two open the other.
    assert_eq!(said(&policy, VerbId::RequestUndo, &file("/srv/x/a")), Err(Code::NoGrant));
    assert_eq!(said(&policy, VerbId::FileWrite, &undo_of("one")), Err(Code::NoGrant));
}

#[test]
fn refuses_an_accepted_form_with_broken_commands() {
    let compile = |commands| {
        let rules = root::Rules { version: 1, commands, ..root::Rules::default() };
        Policy::compile(&rules, Digest::ZERO).map(drop)
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
