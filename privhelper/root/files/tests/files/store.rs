//! The undo store: how much is kept, whose copy goes first, and that a copy younger than a day is safe.

use crate::support::{CLIENT, OTHER, UndoCopy, World, all_verbs, names, remove, write};
use postern_proto::root::v1::{self as root, UndoLimits};
use postern_proto::v1::Status;
use std::fs;
use std::time::Duration;

const DAY: Duration = Duration::from_secs(24 * 60 * 60);

fn limits(max_count: u32, max_bytes: u64) -> UndoLimits {
    UndoLimits { max_bytes, max_count, max_age_s: DAY.as_secs() * 30 }
}

fn world(undo: UndoLimits, undo_copy: UndoCopy) -> World {
    World::with(|at| {
        let mut site = all_verbs(at);
        site.no_undo_copy = undo_copy == UndoCopy::Discard;
        let other = root::Rule { id: "other".to_owned(), client: "other".to_owned(), ..site.clone() };
        root::Rules { rules: vec![site, other], undo: Some(undo), ..root::Rules::default() }
    })
}

/// Makes every copy so much older, and starts anew.
fn age(world: &mut World, by: Duration) {
    for name in names(&world.path("state/undo")) {
        let file = fs::File::open(world.path("state/undo").join(name)).unwrap();
        let modified = file.metadata().unwrap().modified().unwrap();
        file.set_modified(modified - by).unwrap();
    }
    world.restart();
}

#[test]
fn a_change_whose_undo_copy_cannot_be_kept_is_refused() {
    let world = world(limits(1, 1 << 20), UndoCopy::Keep);
    let path = world.text("site/a");
    fs::write(&path, "zero").unwrap();
    assert_eq!(world.ask(&write(&path, b"first")).status(), Status::Done);
    let refused = world.ask(&write(&path, b"second"));
    assert_eq!((refused.code(), fs::read(&path).unwrap()), ("undo_full", b"first".to_vec()));
    assert_eq!(names(&world.path("site")), ["a"], "nothing is left beside it");
    assert_eq!(names(&world.path("state/outcomes")).len(), 1);
    // A new file needs no copy.
    assert_eq!(world.ask(&write(&world.text("site/b"), b"1")).status(), Status::Done);
}

#[test]
fn a_copy_younger_than_a_day_is_never_given_up_and_the_oldest_goes_first() {
    let mut world = world(limits(2, 1 << 20), UndoCopy::Keep);
    let path = world.text("site/a");
    fs::write(&path, "0").unwrap();
    let written = |world: &World, content: &[u8]| {
        let answer = world.ask(&write(&path, content));
        answer
            .close
            .as_ref()
            .map_or_else(|| answer.status().as_str_name().to_owned(), |close| close.code.clone())
    };
    assert_eq!(written(&world, b"1"), "STATUS_DONE");
    let first = names(&world.path("state/undo"))[0].clone();
    age(&mut world, DAY / 2);
    assert_eq!(written(&world, b"2"), "STATUS_DONE");
    assert_eq!(written(&world, b"3"), "undo_full");
    age(&mut world, DAY / 2 + Duration::from_secs(60));
    assert_eq!(written(&world, b"3"), "STATUS_DONE");
    let kept = names(&world.path("state/undo"));
    assert!(kept.len() == 2 && !kept.contains(&first), "the oldest went: {kept:?}");
    assert_eq!(written(&world, b"4"), "undo_full");
}

#[test]
fn the_undo_store_is_limited_in_bytes_for_each_client() {
    let world = world(limits(10, 3000), UndoCopy::Keep);
    let (path, other) = (world.text("site/a"), world.text("site/b"));
    for path in [&path, &other] {
        fs::write(path, vec![1; 1000]).unwrap();
    }
    assert_eq!(world.ask(&write(&path, &[2; 1500])).status(), Status::Done);
    assert_eq!(world.ask(&write(&path, &[3; 10])).code(), "undo_full");
    assert_eq!(world.ask_as(OTHER, &write(&other, &[2; 10])).status(), Status::Done);
    let own = |uid: u32| {
        names(&world.path("state/undo")).iter().filter(|name| name.starts_with(&uid.to_string())).count()
    };
    assert_eq!((own(CLIENT), own(OTHER)), (1, 1));
}

#[test]
fn an_operator_undo_is_not_limited_by_the_undo_store() {
    let world = world(limits(1, 1 << 20), UndoCopy::Keep);
    let path = world.text("site/a");
    fs::write(&path, "old").unwrap();
    let done = world.ask(&write(&path, b"new"));
    assert_eq!(world.operator_undo(done.inverse()).status(), Status::Done);
    assert_eq!(fs::read(&path).unwrap(), b"old");
}

#[test]
fn undo_copies_past_their_age_are_removed() {
    let soon = UndoLimits { max_age_s: 60, ..limits(100, 1 << 20) };
    let mut world = world(soon, UndoCopy::Keep);
    let path = world.text("site/a");
    fs::write(&path, "0").unwrap();
    let first = world.ask(&write(&path, b"1"));
    age(&mut world, DAY / 2);
    world.ask(&write(&path, b"2"));
    assert_eq!(names(&world.path("state/undo")).len(), 2, "a day is safe");
    age(&mut world, DAY);
    assert!(names(&world.path("state/undo")).is_empty(), "gone at the next start");
    world.ask(&write(&path, b"3"));
    let second = world.ask(&remove(&path));
    assert_eq!(world.undo(second.inverse()).status(), Status::Done);
    fs::write(&path, "1").unwrap();
    assert_eq!(world.undo(first.inverse()).code(), "undo_gone");
}

#[test]
fn keep_for_undo_false_keeps_no_copy_and_says_so() {
    let world = world(limits(100, 1 << 20), UndoCopy::Discard);
    fs::write(world.path("site/a"), "a secret").unwrap();
    let answer = world.ask(&write(&world.text("site/a"), b"another secret"));
    assert_eq!((answer.status(), answer.done().undoable), (Status::Done, false));
    assert!(answer.outcome.as_ref().unwrap().inverse.is_none());
    assert!(names(&world.path("state/undo")).is_empty());
    let outcome =
        fs::read(world.path("state/outcomes").join(&names(&world.path("state/outcomes"))[0])).unwrap();
    assert!(!outcome.windows(6).any(|part| part == b"secret"));
}

#[test]
fn a_damaged_copy_is_not_brought_back() {
    let world = world(limits(100, 1 << 20), UndoCopy::Keep);
    let path = world.text("site/a");
    fs::write(&path, "old").unwrap();
    let done = world.ask(&write(&path, b"new"));
    let copy = world.path("state/undo").join(&names(&world.path("state/undo"))[0]);
    let mut bytes = fs::read(&copy).unwrap();
    let content = bytes.windows(3).position(|part| part == b"old").unwrap();
    bytes[content] ^= 1;
    fs::write(&copy, &bytes).unwrap();
    assert_eq!(world.undo(done.inverse()).code(), "interrupted");
    bytes.truncate(3);
    fs::write(&copy, &bytes).unwrap();
    assert_eq!(world.undo(done.inverse()).code(), "interrupted");
    assert_eq!(fs::read(&path).unwrap(), b"new");
    // Not even such a file keeps the program from starting.
    let mut world = world;
    fs::write(world.path("state/undo/nonsense"), b"x").unwrap();
    world.restart();
    assert_eq!(names(&world.path("state/undo")).len(), 1);
}
