//! Outcomes reported to the recorder after a crash, with temporary files that the killed process left.

use crate::support::{CLIENT, World, all_verbs, names, remove, write};
use postern_proto::v1::Status;
use std::fs;

fn world() -> World {
    World::new(|at| vec![all_verbs(at)])
}

/// As after a power loss: the notes about orders are gone, the undo copies are not.
fn lose_outcomes(world: &mut World) {
    fs::remove_dir_all(world.path("state/outcomes")).unwrap();
    world.restart();
}

#[test]
fn after_a_power_loss_a_change_that_is_in_place_is_done_and_can_be_undone() {
    let mut world = world();
    let path = world.text("site/a");
    fs::write(&path, "old").unwrap();
    let (mut order, contents) = world.order(CLIENT, &write(&path, b"new"));
    order.facts = world.inspect(&order, None).facts;
    let before = world.execute(&order, &contents, crate::support::whole());
    lose_outcomes(&mut world);
    let (state, outcome) = world.outcomes(&order.order_id);
    let outcome = outcome.unwrap();
    assert_eq!((state.as_str(), outcome.completed.as_ref().unwrap().status()), ("ended", Status::Done));
    assert_eq!(outcome.inverse, before.outcome.unwrap().inverse);
    assert_eq!(world.undo(&outcome.inverse.unwrap()).status(), Status::Done);
    assert_eq!(fs::read(&path).unwrap(), b"old");
}

#[test]
fn a_late_outcomes_query_changes_nothing_newer() {
    let mut world = world();
    let path = world.text("site/a");
    fs::write(&path, "old").unwrap();
    let (mut order, contents) = world.order(CLIENT, &write(&path, b"new"));
    order.facts = world.inspect(&order, None).facts;
    world.execute(&order, &contents, crate::support::whole());
    fs::write(&path, "a person's work").unwrap();
    lose_outcomes(&mut world);
    let (state, outcome) = world.outcomes(&order.order_id);
    assert_eq!(
        (state.as_str(), outcome.unwrap().completed.unwrap().status()),
        ("ended", Status::Interrupted)
    );
    assert_eq!(
        (names(&world.path("site")), fs::read(&path).unwrap()),
        (vec!["a".to_owned()], b"a person's work".to_vec())
    );
}

#[test]
fn an_order_that_never_began_is_unknown_also_after_a_restart() {
    let mut world = world();
    let (order, _) = world.order(CLIENT, &remove(&world.text("site/a")));
    assert_eq!(world.outcomes(&order.order_id), ("unknown".to_owned(), None));
    // As after a kill between the note that it begins and its journal.
    let note = world
        .path("state/outcomes")
        .join(postern_root::OrderId::from_bytes(&order.order_id).unwrap().to_string());
    fs::write(&note, "").unwrap();
    assert_eq!(world.outcomes(&order.order_id).0, "running");
    world.restart();
    assert_eq!(world.outcomes(&order.order_id), ("unknown".to_owned(), None));
    assert!(names(&world.path("state/outcomes")).is_empty());
}
