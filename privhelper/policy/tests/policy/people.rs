//! Rules that name people, and rules under which the person who asks cannot agree.

use crate::common::{agent, rule, strings};
use crate::rules::{policy_with, unit};
use postern_policy::types::Digest;
use postern_policy::{Code, Identity, Policy, VerbId};
use postern_proto::root::v1 as root;

fn person(uid: u32, name: &str, groups: &[&str]) -> Identity {
    Identity { uid, users: strings(&[name]), groups: strings(groups), ..Identity::default() }
}

fn stop(id: &str, people: &[&str]) -> root::Rule {
    root::Rule { people: strings(people), units: strings(&["a.service"]), ..rule(id, &["unit.stop"]) }
}

fn policy(rules: Vec<root::Rule>) -> Policy {
    policy_with(root::Rules { rules, ..root::Rules::default() })
}

fn decided(policy: &Policy, asker: Option<Identity>) -> Result<String, Code> {
    let who = asker.map_or_else(agent, |asker| policy.asked_by(agent(), asker));
    let grant = policy.decide(&who, &[(VerbId::UnitStop, unit("a.service"))]);
    grant.map(|grant| grant.rule_id().to_owned()).map_err(|denied| denied.code)
}

#[test]
fn a_rule_with_people_matches_them_and_nobody_without_a_session() {
    let policy = policy(vec![stop("named", &["ann", "group:web"])]);
    assert!(policy.names_people());
    let users = "postern-users";
    for (asker, granted) in [
        (None, false),
        (Some(person(1001, "ann", &[users])), true),
        (Some(person(1002, "bob", &[users])), false),
        (Some(person(1002, "bob", &[users, "web"])), true),
        // Of these uids no session is a person's.
        (Some(person(1001, "ann", &["ann"])), false),
        (Some(person(0, "ann", &[users])), false),
        (Some(person(990, "postern", &[users, "web"])), false),
        // The name of a group is no user's.
        (Some(person(1003, "web", &[users])), false),
    ] {
        let wanted = if granted { Ok("named".to_owned()) } else { Err(Code::NoGrant) };
        assert_eq!(decided(&policy, asker.clone()), wanted, "{asker:?}");
    }
}

#[test]
fn a_client_who_would_be_a_person_gains_nothing_by_its_own_session() {
    let policy = policy(vec![stop("named", &["postern"])]);
    assert_eq!(decided(&policy, Some(person(990, "postern", &["postern-users"]))), Err(Code::NoGrant));
}

#[test]
fn where_the_asker_cannot_agree_somebody_must_have_asked() {
    let asks = root::Rule {
        decision: root::Decision::Ask.into(),
        approvers: 1,
        approvers_exclude_asker: true,
        ..stop("asks", &[])
    };
    // Another rule that asks does not step in for somebody without a session.
    let other = root::Rule { decision: root::Decision::Ask.into(), approvers: 1, ..stop("other", &[]) };
    for rules in [vec![asks.clone(), other.clone()], vec![other, asks.clone()]] {
        assert_eq!(decided(&policy(rules), None), Err(Code::LimitExceeded));
    }
    let policy = policy(vec![asks]);
    assert!(policy.names_people());
    assert_eq!(decided(&policy, None), Err(Code::LimitExceeded));
    let who = policy.asked_by(agent(), person(1001, "ann", &["postern-users"]));
    let grant = policy.decide(&who, &[(VerbId::UnitStop, unit("a.service"))]).unwrap();
    assert!(grant.excludes_asker());
}

#[test]
fn a_person_whose_session_has_ended_is_none_of_people_and_still_cannot_agree() {
    let named = policy(vec![stop("named", &["ann"])]);
    let left = |policy: &Policy| {
        let who = policy.asked_by(agent(), person(1001, "ann", &["postern-users"]));
        let who = Identity { has_asker_left: true, ..who };
        policy.decide(&who, &[(VerbId::UnitStop, unit("a.service"))])
    };
    assert_eq!(left(&named).unwrap_err().code, Code::NoGrant);
    let asks = root::Rule {
        decision: root::Decision::Ask.into(),
        approvers: 1,
        approvers_exclude_asker: true,
        ..stop("asks", &[])
    };
    assert!(left(&policy(vec![asks])).unwrap().excludes_asker());
}

#[test]
fn no_deny_rule_has_people_and_names_are_names() {
    let compile = |rule: root::Rule| {
        let clients = policy(Vec::new()).clients().to_vec();
        let rules = root::Rules { version: 1, clients, rules: vec![rule], ..root::Rules::default() };
        Policy::compile(&rules, Digest::ZERO).map(drop)
    };
    compile(stop("named", &["ann", "group:web"])).unwrap();
    let deny = root::Rule { decision: root::Decision::Deny.into(), ..stop("named", &["ann"]) };
    assert!(compile(deny).unwrap_err().contains("a deny rule has no `people`"));
    for name in ["", "group:", "a b", "group:group:x", "*"] {
        assert!(compile(stop("named", &[name])).is_err(), "{name:?}");
    }
}
