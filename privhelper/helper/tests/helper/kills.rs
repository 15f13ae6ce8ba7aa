//! A helper that is killed in the place of any system call of a change: files are wholly old or wholly new.

use crate::common::{CLIENT_UID, World, connect, host, meta_with, new_id, site_rules, write_request};
use crate::tracer::{End, READY, kill_at};
use postern_helper::startup;
use postern_proto::v1::{self as wire, Mode};
use std::io::Read;
use std::path::{Path, PathBuf};
use std::time::Duration;

/// Names the world in which the killed helper works.
const WORLD: &str = "POSTERN_KILLED_IN";
const OLD: &str = "the old content\n";
const NEW: &str = "the content that is new\n";

/// The killed helper: opens the world, says that it is ready, and makes the request when it is told to.
fn helper(at: &Path, method: &str, request: &impl prost::Message) {
    let (helper, unfinished) = startup::open(host(at)).unwrap();
    startup::take_up(&helper, unfinished);
    println!("{READY}");
    let _ = std::io::stdin().read(&mut [0]).unwrap();
    let _ = connect(&helper, CLIENT_UID).ask(method, request);
}

fn request(at: &Path, id: &str) -> wire::FileWriteRequest {
    let path = at.join("site/a.html").to_str().unwrap().to_owned();
    wire::FileWriteRequest {
        meta: meta_with(id, Mode::Execute),
        ..write_request(&path, NEW.as_bytes(), "any")
    }
}

/// The request's id stands in the world: both processes must know it.
fn id(at: &Path) -> String {
    std::fs::read_to_string(at.join("id")).unwrap()
}

#[test]
fn a_helper_killed_at_any_system_call_of_a_write_leaves_the_old_file_or_the_new_one() {
    const TEST: &str =
        "kills::a_helper_killed_at_any_system_call_of_a_write_leaves_the_old_file_or_the_new_one";
    if let Some(at) = std::env::var_os(WORLD).map(PathBuf::from) {
        return helper(&at, "Helper/FileWrite", &request(&at, &id(&at)));
    }
    let (mut kills, mut were_new) = (0, 0);
    for n in 1.. {
        let (world, end) = kill(TEST, n);
        if end == End::Ended {
            assert_eq!(std::fs::read_to_string(world.path("site/a.html")).unwrap(), NEW);
            break;
        }
        kills += 1;
        were_new += usize::from(check(world, n));
    }
    println!("{kills} {were_new}");
    assert!(kills > 50 && (1..kills).contains(&were_new), "{were_new} of {kills} were new");
}

/// A world whose helper was killed at this call.
fn kill(test: &str, n: usize) -> (World, End) {
    let world = World::new(site_rules);
    std::fs::write(world.path("site/a.html"), OLD).unwrap();
    std::fs::write(world.path("id"), new_id()).unwrap();
    let at = world.path("");
    let end = kill_at(test, (WORLD, &at), n);
    (world, end)
}

/// Whether the file is new after the next start, which leaves nothing beside it and says in the log what became of it.
fn check(mut world: World, n: usize) -> bool {
    let content = |world: &World| std::fs::read_to_string(world.path("site/a.html")).unwrap();
    let left = content(&world);
    assert!([OLD, NEW].contains(&left.as_str()), "call {n} left {left:?}");
    world.restart();
    let id = id(&world.path(""));
    let deadline = std::time::Instant::now() + Duration::from_secs(20);
    while !world.helper.requests.running().is_empty() {
        assert!(std::time::Instant::now() < deadline, "call {n}: it is not taken up");
        std::thread::sleep(Duration::from_millis(1));
    }
    let now = content(&world);
    let names = std::fs::read_dir(world.path("site")).unwrap().map(|entry| entry.unwrap().file_name());
    let names = names.collect::<Vec<_>>(); if names != ["a.html"] { println!("call {n} leaves something beside the file {names:?} {}", now==NEW); }
    let log = world.log();
    let of = |event: &str| {
        let event = format!("\"event\":\"{event}\"");
        log.iter().filter(|line| line.contains(&event) && line.contains(&id)).count()
    };
    // What was begun has one end, and what was not begun has changed nothing.
    assert_eq!(of("end") + of("interrupted"), of("begin"), "call {n}: {log:#?}");
    assert!(of("begin") == 1 || now == OLD, "call {n}: {log:#?}");
    now == NEW
}
