//! Root's own decision: consent, policy digest, and undo.

use crate::support::{AGENT, ANN, BOB, MEMBER, OPERATOR, SECOND, World, rule};
use postern_policy::types::UnitName;
use postern_policy::{Grant, Object, RequiredGrant, VerbId};
use postern_proto::link::approval_digest;
use postern_proto::root::v1::{Decision, Envelope, Inverse};
use postern_root::{Authority, Ordered};
use prost::Message;

fn start() -> Vec<RequiredGrant> {
    unit(VerbId::UnitStart, "nginx.service")
}

fn unit(verb: VerbId, name: &str) -> Vec<RequiredGrant> {
    vec![(verb, Object::unit(UnitName::new(name).unwrap()))]
}

/// What root is asked for: to act under an envelope, or for the facts of a change that this person asks for.
#[derive(Clone, Copy)]
enum Purpose<'a> {
    Act(Option<&'a Envelope>),
    Facts(u32),
}

fn decide(
    world: &World,
    ordered: &Ordered,
    purpose: Purpose<'_>,
    required: &[RequiredGrant],
) -> Result<Grant, &'static str> {
    let World { host, active, accounts, key, .. } = world;
    let (envelope, is_execute) = match purpose {
        Purpose::Act(envelope) => (envelope.cloned(), true),
        Purpose::Facts(person_uid) => (Some(Envelope { person_uid, ..Envelope::default() }), false),
    };
    let ordered = Ordered::new(ordered.order.encode_to_vec(), envelope, is_execute).unwrap();
    Authority::new(host, active, accounts, key, &ordered)
        .and_then(|authority| authority.decide(required))
        .map_err(|denied| denied.code.as_str())
}

fn consent(world: &World, ordered: &Ordered, approvers: &[u32]) -> Envelope {
    let policy = world.active.policy.digest();
    Envelope {
        approvers: approvers.to_vec(),
        approved: approval_digest(&world.host.boot_id, policy.as_bytes(), &ordered.bytes).to_vec(),
        ..Envelope::default()
    }
}

#[test]
fn decides_for_the_uid_of_the_order_and_no_other() {
    let world = World::new(vec![rule("start", Decision::Allow, &["unit.start"])]);
    let act = Purpose::Act(None);
    assert!(decide(&world, &world.order(AGENT, "unit.start", None), act, &start()).is_ok());
    for (uid, code) in [(MEMBER, "no_grant"), (OPERATOR, "unknown_client"), (0, "unknown_client")] {
        assert_eq!(decide(&world, &world.order(uid, "unit.start", None), act, &start()).unwrap_err(), code);
    }
    let mut ordered = world.order(AGENT, "unit.start", None);
    ordered.order.policy_digest = vec![0; 32];
    assert_eq!(decide(&world, &ordered, act, &start()).unwrap_err(), "plan_changed");
}

#[test]
fn an_ask_rule_needs_distinct_approvers_who_are_no_clients() {
    let asks =
        postern_proto::root::v1::Rule { approvers: 2, ..rule("start", Decision::Ask, &["unit.start"]) };
    let world = World::new(vec![asks]);
    let ordered = world.order(AGENT, "unit.start", None);
    let act = |envelope: &Envelope| decide(&world, &ordered, Purpose::Act(Some(envelope)), &start());
    assert!(act(&consent(&world, &ordered, &[OPERATOR, SECOND])).is_ok());
    for approvers in
        [&[][..], &[OPERATOR], &[OPERATOR, OPERATOR], &[OPERATOR, AGENT], &[OPERATOR, MEMBER, SECOND]]
    {
        assert_eq!(act(&consent(&world, &ordered, approvers)).unwrap_err(), "not_approved", "{approvers:?}");
    }
    let other = world.order(MEMBER, "unit.start", None);
    let replayed = consent(&world, &other, &[OPERATOR, SECOND]);
    assert_eq!(act(&replayed).unwrap_err(), "not_approved", "an approval of another order");
    let mut elsewhere = world.host.clone();
    elsewhere.boot_id = "the boot before".to_owned();
    let earlier = Envelope {
        approved: approval_digest(
            &elsewhere.boot_id,
            world.active.policy.digest().as_bytes(),
            &ordered.bytes,
        )
        .to_vec(),
        ..consent(&world, &ordered, &[OPERATOR, SECOND])
    };
    assert_eq!(act(&earlier).unwrap_err(), "not_approved", "an approval of another boot");
    assert_eq!(decide(&world, &ordered, Purpose::Act(None), &start()).unwrap_err(), "not_approved");
    assert!(decide(&world, &ordered, Purpose::Facts(0), &start()).is_ok(), "facts need no consent");
}

fn inverse(world: &World, uid: u32) -> Inverse {
    let inverse = Inverse {
        family: "files".to_owned(),
        order_id: vec![3; 32],
        uid,
        rules: vec!["start".to_owned()],
        verb: "unit.stop".to_owned(),
        ..Inverse::default()
    };
    world.key.sign(inverse)
}

#[test]
fn an_undo_needs_our_inverse_for_this_client_and_both_grants() {
    let both = || {
        vec![
            rule("start", Decision::Allow, &["unit.start", "request.undo"]),
            rule("stop", Decision::Allow, &["unit.stop"]),
        ]
    };
    let world = World::new(both());
    let stop = unit(VerbId::UnitStop, "nginx.service");
    let act = Purpose::Act(None);
    let undo =
        |inverse: Inverse| decide(&world, &world.order(AGENT, "request.undo", Some(inverse)), act, &stop);
    let grant = undo(inverse(&world, AGENT)).unwrap();
    assert_eq!(Authority::rules(&grant), ["start", "stop"]);
    assert_eq!(undo(inverse(&world, MEMBER)).unwrap_err(), "unknown_request");
    assert_eq!(
        undo(Inverse { uid: AGENT, ..inverse(&world, MEMBER) }).unwrap_err(),
        "undo_gone",
        "a forged uid"
    );
    let units = world.key.sign(Inverse { family: "units".to_owned(), ..inverse(&world, AGENT) });
    assert_eq!(undo(units).unwrap_err(), "undo_gone", "another family's");
    let person = world.key.sign(Inverse { needs_person: true, ..inverse(&world, AGENT) });
    assert_eq!(undo(person).unwrap_err(), "not_approved");
    let plain = world.order(AGENT, "unit.stop", Some(inverse(&world, AGENT)));
    assert_eq!(decide(&world, &plain, act, &stop).unwrap_err(), "invalid_argument");
    let none = world.order(AGENT, "request.undo", None);
    assert_eq!(decide(&world, &none, act, &stop).unwrap_err(), "invalid_argument");
    for taken in 0..2 {
        let mut rules = both();
        rules[taken].verbs.pop();
        rules[taken].verbs.push("unit.reload".to_owned());
        let world = World::new(rules);
        let ordered = world.order(AGENT, "request.undo", Some(inverse(&world, AGENT)));
        assert_eq!(decide(&world, &ordered, act, &stop).unwrap_err(), "no_grant", "without rule {taken}");
    }
}

#[test]
fn an_operator_undoes_without_a_rule_but_nothing_protected() {
    let world = World::new(Vec::new());
    let ordered = world.order(OPERATOR, "request.undo", Some(inverse(&world, AGENT)));
    let by = |operator_uid| Envelope { by_operator: true, operator_uid, ..Envelope::default() };
    let undo = |envelope: &Envelope, name| {
        decide(&world, &ordered, Purpose::Act(Some(envelope)), &unit(VerbId::UnitStop, name)).map(drop)
    };
    assert_eq!(undo(&by(OPERATOR), "nginx.service"), Ok(()));
    assert_eq!(undo(&by(OPERATOR), "dbus.service"), Err("protected"));
    assert_eq!(undo(&by(AGENT), "nginx.service"), Err("not_approved"));
    assert_eq!(undo(&Envelope::default(), "nginx.service"), Err("unknown_request"));
    let plain = world.order(OPERATOR, "unit.stop", None);
    let denied =
        decide(&world, &plain, Purpose::Act(Some(&by(OPERATOR))), &unit(VerbId::UnitStop, "nginx.service"));
    assert_eq!(denied.unwrap_err(), "no_grant", "an operator's envelope is good for undo alone");
}

#[test]
fn the_person_who_asked_is_one_now_and_cannot_agree_where_the_rule_says_so() {
    use postern_proto::root::v1::Rule;
    let named = Rule { people: vec!["ann".to_owned()], ..rule("start", Decision::Allow, &["unit.start"]) };
    let world = World::new(vec![named]);
    let ordered = world.order(AGENT, "unit.start", None);
    let by = |person_uid: u32| Envelope { person_uid, ..Envelope::default() };
    let act = |envelope: &Envelope| decide(&world, &ordered, Purpose::Act(Some(envelope)), &start());
    assert!(act(&by(ANN)).is_ok());
    assert!(decide(&world, &ordered, Purpose::Facts(ANN), &start()).is_ok());
    // Nobody, root, the client itself, somebody who is not in postern-users, and somebody else who is.
    for uid in [0, AGENT, OPERATOR, BOB, 4_294_967_295] {
        assert_eq!(act(&by(uid)).unwrap_err(), "no_grant", "{uid}");
        assert_eq!(decide(&world, &ordered, Purpose::Facts(uid), &start()).unwrap_err(), "no_grant", "{uid}");
    }
    let asks = Rule { approvers_exclude_asker: true, ..rule("start", Decision::Ask, &["unit.start"]) };
    let world = World::new(vec![asks]);
    let ordered = world.order(AGENT, "unit.start", None);
    let act = |person_uid: u32, approvers: &[u32]| {
        let envelope = Envelope { person_uid, ..consent(&world, &ordered, approvers) };
        decide(&world, &ordered, Purpose::Act(Some(&envelope)), &start()).map(drop)
    };
    assert_eq!(act(ANN, &[OPERATOR]), Ok(()));
    assert_eq!(act(ANN, &[OPERATOR, ANN]), Ok(()), "with enough others the asker's agreement is no harm");
    assert_eq!(act(ANN, &[ANN]), Err("not_approved"));
    assert_eq!(act(0, &[OPERATOR]), Err("limit_exceeded"), "nobody is known to have asked");
}
