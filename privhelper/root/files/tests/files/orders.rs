//! An order runs only under the policy that decided it, on the files that it was decided for, and once.

use crate::support::{
    CLIENT, OPERATOR, OTHER, World, all_verbs, execute_frames, names, patch, read, remove, send, strings, to,
    whole, write,
};
use postern_proto::link::approval_digest;
use postern_proto::root::v1 as root;
use postern_proto::v1::Status;
use prost::Message;
use std::fs;
use std::os::unix::fs::PermissionsExt;

fn world() -> World {
    World::new(|at| vec![all_verbs(at)])
}

/// An order with the facts of now.
fn ready(world: &World, name: &str, content: &[u8]) -> (root::Order, Vec<Vec<u8>>) {
    let (mut order, contents) = world.order(CLIENT, &write(&world.text(name), content));
    order.facts = world.inspect(&order, None).facts;
    (order, contents)
}

#[test]
fn acts_only_on_the_facts_that_were_decided() {
    let world = world();
    let path = world.path("site/a");
    let (order, contents) = ready(&world, "site/a", b"new");
    fs::write(&path, "another's").unwrap();
    let refused = |order: &root::Order, why: &str| {
        assert_eq!(world.execute(order, &contents, whole()).code(), "precondition_failed", "{why}");
        assert_eq!(fs::read(&path).unwrap(), b"another's");
    };
    refused(&order, "a file where there was none");
    refused(&root::Order { facts: None, ..order.clone() }, "no facts");
    let (order, _) = ready(&world, "site/a", b"new");
    fs::set_permissions(&path, fs::Permissions::from_mode(0o600)).unwrap();
    refused(&order, "another mode");
    let (order, _) = ready(&world, "site/a", b"new");
    fs::write(&path, "somebodys").unwrap();
    fs::write(&path, "another's").unwrap();
    assert_eq!(
        world.execute(&order, &contents, whole()).status(),
        Status::Done,
        "the same again is the same"
    );
}

#[test]
fn an_order_acts_once_until_its_outcome_is_acknowledged() {
    let world = world();
    let (order, contents) = ready(&world, "site/a", b"new");
    assert_eq!(world.outcomes(&order.order_id), ("unknown".to_owned(), None));
    let answer = world.execute(&order, &contents, whole());
    assert_eq!(world.outcomes(&order.order_id), ("ended".to_owned(), answer.outcome.clone()));
    fs::remove_file(world.path("site/a")).unwrap();
    assert_eq!(world.execute(&order, &contents, whole()).code(), "request_id_conflict");
    assert!(!world.path("site/a").exists());
    world.acknowledge(&order.order_id);
    assert_eq!(world.outcomes(&order.order_id), ("unknown".to_owned(), None));
}

#[test]
fn content_must_be_what_the_order_announces() {
    let world = world();
    let (order, _) = ready(&world, "site/a", b"new");
    let answer = world.execute(&order, &[b"NEW".to_vec()], whole());
    assert_eq!(answer.refused().reason(), root::CloseReason::Malformed);
    let two = root::Order { contents: vec![order.contents[0].clone(); 2], ..order.clone() };
    let answer = world.execute(&two, &[b"new".to_vec(), b"new".to_vec()], whole());
    assert_eq!(answer.code(), "invalid_argument");
    let none = root::Order { contents: Vec::new(), ..order.clone() };
    assert_eq!(world.execute(&none, &[], whole()).code(), "invalid_argument");
    // Content in the body is in a log: an order that has some there is not one of the broker's.
    let body = write(&world.text("site/a"), b"new").encode_to_vec();
    let inside = root::Order { body, ..order };
    assert_eq!(world.execute(&inside, &[b"new".to_vec()], whole()).code(), "invalid_argument");
    assert!(names(&world.path("site")).is_empty());
}

#[test]
fn decides_for_the_orders_uid_under_the_current_policy() {
    let mut world = world();
    let (order, contents) = ready(&world, "site/a", b"new");
    for uid in [OTHER, OPERATOR, 0] {
        let other = root::Order { uid, ..order.clone() };
        let code = world.execute(&other, &contents, whole()).code().to_owned();
        assert!(["no_grant", "unknown_client"].contains(&code.as_str()), "{uid}: {code}");
    }
    let digest = root::Order { policy_digest: vec![1; 32], ..order.clone() };
    assert_eq!(world.execute(&digest, &contents, whole()).code(), "plan_changed");
    // The grant is revoked between the decision of the broker and the effect.
    world.apply(vec![root::Rule { verbs: strings(&["file.read"]), ..all_verbs(&world.path("")) }]);
    assert_eq!(world.execute(&order, &contents, whole()).code(), "plan_changed");
    let now = world.state().active.policy.digest().as_bytes().to_vec();
    let forged = root::Order { policy_digest: now, ..order };
    assert_eq!(world.execute(&forged, &contents, whole()).code(), "no_grant");
    assert!(names(&world.path("site")).is_empty());
}

#[test]
fn a_change_of_the_policy_ends_the_process_before_it_accepts_and_during_an_order() {
    let world = world();
    let (order, contents) = ready(&world, "site/a", b"new");
    assert!(world.state().is_current());
    // The same rules again: a new file, and so a new process.
    let copy = world.path("copy");
    fs::copy(&world.host.accepted, &copy).unwrap();
    fs::rename(&copy, &world.host.accepted).unwrap();
    assert!(!world.state().is_current());
    let stale = root::Order { policy_digest: vec![1; 32], ..order.clone() };
    assert_eq!(world.execute(&stale, &contents, whole()).refused().reason(), root::CloseReason::NotStarted);
    assert_eq!(world.execute(&order, &contents, whole()).refused().reason(), root::CloseReason::NotStarted);
    assert!(names(&world.path("site")).is_empty());
}

#[test]
fn a_policy_that_is_replaced_while_an_order_waits_for_another_is_not_acted_under() {
    let world = world();
    let (order, contents) = ready(&world, "site/a", b"new");
    let other = world.state().effect.lock().unwrap();
    std::thread::scope(|scope| {
        let waits = scope.spawn(|| world.execute(&order, &contents, whole()));
        // Long enough that it was decided and waits: if it was not, the test is only weaker.
        std::thread::sleep(std::time::Duration::from_millis(200));
        let copy = world.path("copy");
        fs::copy(&world.host.accepted, &copy).unwrap();
        fs::rename(&copy, &world.host.accepted).unwrap();
        drop(other);
        assert_eq!(waits.join().unwrap().refused().reason(), root::CloseReason::NotStarted);
    });
    assert!(names(&world.path("site")).is_empty());
}

#[test]
fn new_accounts_and_replaced_directories_end_the_process() {
    let world = world();
    let replaced = |name: &str| {
        let copy = world.path("copy");
        fs::copy(world.path(name), &copy).unwrap();
        fs::rename(&copy, world.path(name)).unwrap();
        !world.state().is_current()
    };
    assert!(replaced("passwd"));
    let world = self::world();
    fs::rename(world.path("site"), world.path("before")).unwrap();
    assert!(!world.state().is_current());
    fs::create_dir(world.path("site")).unwrap();
    assert!(!world.state().is_current());
    fs::remove_dir(world.path("site")).unwrap();
    fs::rename(world.path("before"), world.path("site")).unwrap();
    assert!(world.state().is_current());
}

#[test]
fn an_ask_rule_needs_approval_of_exactly_this_order() {
    let ask = root::Decision::Ask.into();
    let world = World::new(|at| vec![root::Rule { decision: ask, ..all_verbs(at) }]);
    let (order, contents) = ready(&world, "site/a", b"new");
    assert_eq!(world.execute(&order, &contents, whole()).code(), "not_approved");
    let digest = world.state().active.policy.digest();
    let consent = |order: &root::Order| root::Envelope {
        approvers: vec![OPERATOR],
        approved: approval_digest(&world.host.boot_id, digest.as_bytes(), &order.encode_to_vec()).to_vec(),
        ..whole()
    };
    let (other, others) = ready(&world, "site/a", b"evil");
    assert_eq!(world.execute(&other, &others, consent(&order)).code(), "not_approved");
    assert!(names(&world.path("site")).is_empty());
    let answer = world.execute(&order, &contents, consent(&order));
    assert_eq!((answer.status(), answer.outcome.unwrap().decision), (Status::Done, ask));
}

#[test]
fn an_order_that_ends_in_the_middle_of_its_content_changes_nothing() {
    let world = world();
    let (order, contents) = ready(&world, "site/a", &vec![5; 600_000]);
    let frames = execute_frames(&order, &contents, whole());
    for cut in [frames.len() - 1, frames.len() / 2, 10, 0] {
        let answer = send(world.state(), &frames[..cut]);
        assert!(answer.outcome.is_none(), "cut at {cut}");
    }
    assert!(names(&world.path("site")).is_empty() && names(&world.path("state/outcomes")).is_empty());
}

/// Tests that need root: mounts.
mod as_root {
    use super::*;

    #[test]
    #[ignore = "needs root: nobody else can mount"]
    fn a_full_disk_leaves_everything_as_it_was() {
        let test = "orders::as_root::a_full_disk_leaves_everything_as_it_was";
        let Some(at) = crate::support::in_namespace(test) else { return };
        crate::support::mount(&at, "tmpfs", "size=8m,mode=0755");
        let world = World::at(&at, |at| vec![all_verbs(at)]);
        let path = world.text("site/a");
        assert_eq!(world.ask(&write(&path, b"old")).status(), Status::Done);
        let mut fill = fs::File::create(world.path("fill")).unwrap();
        while std::io::Write::write_all(&mut fill, &[1; 4096]).is_ok() {}
        drop(fill);
        let before = (
            names(&world.path("site")),
            names(&world.path("state/undo")),
            names(&world.path("state/outcomes")),
        );
        for request in [write(&path, &vec![2; 1_000_000]), write(&world.text("site/b"), &vec![2; 1_000_000])]
        {
            let answer = world.ask(&request);
            assert_eq!((answer.code(), answer.refused().reason()), ("no_space", root::CloseReason::Refused));
        }
        assert_eq!(
            world
                .ask(&patch(vec![to(&path, &vec![3; 500_000]), to(&world.text("site/c"), &vec![3; 500_000])]))
                .code(),
            "no_space"
        );
        let after = (
            names(&world.path("site")),
            names(&world.path("state/undo")),
            names(&world.path("state/outcomes")),
        );
        assert_eq!((before, fs::read(&path).unwrap()), (after, b"old".to_vec()));
        // Freeing disk space works on a full disk, where nothing is to be kept.
        fs::remove_file(world.path("fill")).unwrap();
        assert_eq!(world.ask(&write(&path, &vec![2; 1_000_000])).status(), Status::Done);
    }

    #[test]
    #[ignore = "needs root: nobody else can mount"]
    fn a_read_only_file_system_is_told_and_the_next_process_is_asked_only_if_something_changed() {
        let test = "orders::as_root::a_read_only_file_system_is_told_and_the_next_process_is_asked_only_if_something_changed";
        let Some(at) = crate::support::in_namespace(test) else { return };
        crate::support::mount(&at, "tmpfs", "size=8m,mode=0755");
        let mut world = World::at(&at, |at| vec![all_verbs(at)]);
        fs::write(world.path("site/a"), "old").unwrap();
        crate::support::mount(&world.path("site"), "none", "bind");
        crate::support::mount(&world.path("site"), "none", "remount,bind,ro");
        world.restart();
        for answer in
            [world.ask(&write(&world.text("site/a"), b"new")), world.ask(&remove(&world.text("site/a")))]
        {
            assert_eq!((answer.code(), answer.refused().reason()), ("read_only", root::CloseReason::Refused));
        }
        assert_eq!(world.ask(&read(&world.text("site/a"))).content(), b"old");
        assert!(
            names(&world.path("state/outcomes")).is_empty() && names(&world.path("state/undo")).is_empty()
        );
    }
}
