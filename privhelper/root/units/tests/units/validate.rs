//! Validators: only over stages that postern-files made, and only their exit status counts.

use crate::support::{AGENT, World, rule};
use postern_proto::root::v1::{Command, Decision, Envelope, Order, RequiredValidator, Sandbox, Staged, Step};
use postern_proto::v1::event::Kind as EventKind;
use postern_proto::v1::{Phase, Progress};
use postern_root::Key;

fn world() -> (World, Key, Order) {
    let row = Command {
        name: "check".to_owned(),
        argv: vec!["/usr/bin/true".to_owned()],
        user: "nobody".to_owned(),
        sandbox: Sandbox::Validator.into(),
        cwd: "/".to_owned(),
        timeout_s: 30,
        ..Command::default()
    };
    let world = World::new(vec![rule("x", Decision::Allow, &["unit.start"], &["x.service"])], vec![row]);
    let key = Key::open(&world.host.root.validator_key).unwrap();
    let order = world.order(AGENT, "file.write", Vec::new(), None);
    (world, key, order)
}

fn staged() -> Staged {
    Staged {
        stage_id: vec![5; 32],
        digest: vec![6; 32],
        lives: vec!["/etc/nginx".to_owned()],
        validators: vec![RequiredValidator { name: "check".to_owned(), live: "/etc/nginx".to_owned() }],
        ..Staged::default()
    }
}

fn envelope(staged: Staged) -> Envelope {
    let (validator, live) = ("check".to_owned(), "/etc/nginx".to_owned());
    Envelope { step: Step::Validate.into(), staged: Some(staged), validator, live, ..Envelope::default() }
}

#[test]
fn signs_the_agreement_of_a_validator_that_accepts() {
    let (world, key, order) = world();
    let reply = world.execute_as(envelope(key.sign(staged())), &order, None);
    let agreement = reply.outcome().agreement.clone().unwrap();
    assert!(key.verifies(&agreement));
    assert_eq!((agreement.stage_id, agreement.stage_digest), (vec![5; 32], vec![6; 32]));
    assert_eq!((agreement.validator.as_str(), agreement.policy_digest), ("check", world.policy.clone()));
    let acts = world.acts();
    let instance = format!("@{}.service", "05".repeat(32));
    assert!(acts[0].contains("postern-command-check-") && acts[0].ends_with(&instance), "{acts:?}");
}

#[test]
fn a_validator_that_rejects_tells_nothing_but_that() {
    let (world, key, order) = world();
    world.act("echo secret of root; exit 1");
    let reply = world.execute_as(envelope(key.sign(staged())), &order, None);
    let begins = Progress { phase: Phase::Validate.into(), item: "check".to_owned(), ..Progress::default() };
    assert_eq!(reply.events, [EventKind::Progress(begins)], "that it runs is all");
    let close = reply.close.unwrap();
    assert_eq!(close.code, "validation_failed");
    assert_eq!(close.message, "validator check rejects the change; nothing was changed");
}

#[test]
fn rejects_a_stage_that_files_did_not_sign_and_validators_that_it_does_not_name() {
    let (world, key, order) = world();
    let signed = key.sign(staged());
    let forged = Staged { digest: vec![9; 32], ..signed.clone() };
    assert_eq!(world.execute_as(envelope(forged), &order, None).code(), "invalid_argument");
    let other = Envelope { validator: "other".to_owned(), ..envelope(signed.clone()) };
    assert_eq!(world.execute_as(other, &order, None).code(), "invalid_argument");
    let elsewhere = Envelope { live: "/etc/other".to_owned(), ..envelope(signed.clone()) };
    assert_eq!(world.execute_as(elsewhere, &order, None).code(), "invalid_argument");
    let old = Order { policy_digest: vec![0; 32], ..order };
    assert_eq!(world.execute_as(envelope(signed), &old, None).code(), "plan_changed");
    assert!(world.acts().is_empty());
}
