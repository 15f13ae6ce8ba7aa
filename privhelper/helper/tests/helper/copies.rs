//! What is kept for undo, how much of it, and whose goes first.

use crate::common::{CLIENT_UID, STRANGER_UID, World, accept_whole, rule, strings, write_request};
use crate::undo::{of, undo};
use postern_helper::copies::Copies;
use postern_helper::error::Stop;
use postern_policy::Code;
use postern_proto::root::v1::{self as root, UndoLimits};
use postern_proto::v1::{self as wire, Status};
use std::path::Path;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

const DAY: Duration = Duration::from_secs(24 * 60 * 60);
const START: Duration = Duration::from_secs(1_800_000_000);

fn limits(max_count: u32, max_bytes: u64) -> UndoLimits {
    UndoLimits { max_bytes, max_count, max_age_s: DAY.as_secs() * 30 }
}

fn code(result: Result<(), Stop>) -> Option<Code> {
    match result {
        Ok(()) => None,
        Err(Stop::Refused(refusal)) => Some(refusal.code),
        Err(other) => panic!("{other:?}"),
    }
}

fn names(directory: &Path) -> Vec<String> {
    let entries = std::fs::read_dir(directory).unwrap();
    let mut names: Vec<String> =
        entries.map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect();
    names.sort();
    names
}

#[test]
fn a_copy_younger_than_a_day_is_never_given_up_for_another() {
    let directory = tempfile::tempdir().unwrap();
    let copies = Copies::open(directory.path()).unwrap();
    let keep = |id: &str, now| code(copies.keep((1, id), b"12345", limits(2, 1000), now));
    assert_eq!(keep("a", START), None);
    assert_eq!(keep("b", START + DAY / 2), None);
    assert_eq!(keep("c", START + DAY), Some(Code::UndoFull), "exactly a day old is still safe");
    assert_eq!(names(directory.path()), ["1-a", "1-b"]);
    // The oldest goes, and only as many as there must.
    assert_eq!(keep("c", START + DAY + Duration::from_secs(1)), None);
    assert_eq!(names(directory.path()), ["1-b", "1-c"]);
    assert_eq!(keep("d", START + DAY + Duration::from_secs(2)), Some(Code::UndoFull));
    // What was taken back makes room at once.
    copies.forget(1, "b").unwrap();
    assert_eq!(keep("d", START + DAY + Duration::from_secs(3)), None);
    assert_eq!(copies.read(1, "d").unwrap().unwrap(), b"12345");
    assert_eq!(copies.read(1, "a").unwrap(), None);
}

#[test]
fn bytes_are_counted_too_and_each_client_has_its_own() {
    let directory = tempfile::tempdir().unwrap();
    let copies = Copies::open(directory.path()).unwrap();
    let keep =
        |uid, id: &str, size: usize| code(copies.keep((uid, id), &vec![0; size], limits(10, 100), START));
    assert_eq!(keep(1, "a", 60), None);
    assert_eq!(keep(1, "b", 41), Some(Code::UndoFull));
    assert_eq!(keep(1, "b", 40), None);
    assert_eq!(keep(1, "c", 0), None);
    assert_eq!(keep(1, "d", 1), Some(Code::UndoFull));
    assert_eq!(keep(2, "a", 100), None, "another client's copies take none of its room");
    assert_eq!(keep(3, "a", 101), Some(Code::UndoFull), "more than there is room for at all");
    // A restarted helper counts what the one before kept.
    std::fs::write(directory.path().join("1-x.new"), "half of a copy").unwrap();
    let copies = Copies::open(directory.path()).unwrap();
    let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap();
    assert_eq!(code(copies.keep((1, "d"), b"1", limits(10, 100), now)), Some(Code::UndoFull));
    assert_eq!(names(directory.path()), ["1-a", "1-b", "1-c", "2-a"]);
}

/// A world whose client may write `site`, with these limits.
fn world(undo: Option<UndoLimits>, keep_for_undo: bool) -> World {
    let mut world = World::new(|_| Vec::new());
    let mut site = root::Rule {
        directories: vec![world.text("site")],
        files: strings(&["*.html"]),
        ..rule("site", &["file.read", "file.write"])
    };
    site.no_undo_copy = !keep_for_undo;
    let accepted = accept_whole(root::Rules { rules: vec![site], undo, ..root::Rules::default() });
    std::fs::write(world.path("state/policy/accepted.pb"), accepted).unwrap();
    world.restart();
    world
}

#[test]
fn what_cannot_be_kept_is_not_written() {
    let world = world(Some(limits(1, 1 << 20)), true);
    let mut channel = world.connect(CLIENT_UID);
    let mut write = |content: &[u8]| {
        let request = write_request(&world.text("site/a.html"), content, "any");
        channel.ask("Helper/FileWrite", &request).completed().clone()
    };
    assert_eq!(write(b"first").status(), Status::Done);
    let refused = write(b"second");
    assert_eq!((refused.status(), refused.code.as_str()), (Status::Failed, "undo_full"));
    assert_eq!(std::fs::read(world.path("site/a.html")).unwrap(), b"first");
    assert_eq!(names(&world.path("site")), ["a.html"], "nothing is left beside it");
    assert_eq!((world.count("begin"), world.count("end")), (2, 2));
}

#[test]
fn what_is_too_old_goes_at_the_next_start_and_nothing_younger_than_a_day() {
    let soon = UndoLimits { max_age_s: 60, ..limits(100, 1 << 20) };
    let mut world = world(Some(soon), true);
    let undo = world.path("state/undo");
    for (name, age) in [("old", DAY + Duration::from_secs(60)), ("young", DAY / 2)] {
        let path = undo.join(format!("{STRANGER_UID}-{name}"));
        let file = std::fs::File::create(path).unwrap();
        file.set_modified(SystemTime::now() - age).unwrap();
    }
    world.restart();
    assert_eq!(names(&undo), [format!("{STRANGER_UID}-young")]);
}

#[test]
fn where_no_copy_is_to_be_kept_there_is_none_and_undo_says_so() {
    let world = world(None, false);
    std::fs::write(world.path("site/a.html"), "a secret").unwrap();
    let request = write_request(&world.text("site/a.html"), b"another secret", "any");
    let answer = world.connect(CLIENT_UID).ask("Helper/FileWrite", &request);
    assert_eq!(answer.completed().status(), Status::Done);
    assert!(names(&world.path("state/undo")).is_empty());
    let log = world.log().join("\n");
    assert!(!log.contains("\"undo\"") && !log.contains("secret"), "{log}");
    let id = request.meta.unwrap().request_id;
    let undone: Vec<wire::OperatorUndone> = undo(&mut world.operator(4_000_201), &of(&id)).unwrap();
    assert_eq!(undone[0].code, "undo_gone");
    assert_eq!(std::fs::read(world.path("site/a.html")).unwrap(), b"another secret");
}
