//! A helper that is killed in the place of any system call of a change: files are wholly old or wholly new, all of them.

use crate::common::{CLIENT_UID, World, connect, host, meta_with, new_id, rule, strings, write_request};
use crate::tracer::{End, READY, kill_at};
use postern_helper::startup;
use postern_proto::root::v1 as root;
use postern_proto::v1::{self as wire, ChangeKind, Mode};
use prost::Message;
use std::fs;
use std::io::{Read, Write};
use std::path::{Path, PathBuf};

/// Names the world in which the killed helper works. The request's message stands in it, as `request`.
const WORLD: &str = "POSTERN_KILLED_IN";

/// What stands there: names and contents.
type Files = Vec<(String, String)>;

fn files(all: &[(&str, &str)]) -> Files {
    all.iter().map(|(name, content)| ((*name).to_owned(), (*content).to_owned())).collect()
}

/// One change, from these files to those.
struct Case {
    /// The test that is run again as the helper that is killed.
    test: &'static str,
    method: &'static str,
    old: Files,
    new: Files,
    keep_for_undo: bool,
}

fn rules(at: &Path, keep_for_undo: bool) -> Vec<root::Rule> {
    let mut site = root::Rule {
        directories: strings(&[at.join("site").to_str().unwrap()]),
        files: strings(&["*.html"]),
        ..rule("site", &["file.write", "file.patch", "file.remove"])
    };
    site.no_undo_copy = !keep_for_undo;
    vec![site]
}

/// The killed helper: opens the world, says that it is ready, and makes the request when it is told to.
fn killed(at: &Path, method: &str) {
    let (helper, unfinished) = startup::open(host(at)).unwrap();
    startup::take_up(&helper, unfinished);
    let mut channel = connect(&helper, CLIENT_UID);
    let message = fs::read(at.join("request")).unwrap();
    std::io::stdout().write_all(format!("{READY}\n").as_bytes()).unwrap();
    let _ = std::io::stdin().read(&mut [0]).unwrap();
    let stream = channel.send(method, &message);
    channel.answer(stream);
}

/// Kills it at one call after the other until it makes no more of them.
fn run(case: &Case, request: impl Fn(&Path, &str) -> Vec<u8>) {
    if let Some(at) = std::env::var_os(WORLD).map(PathBuf::from) {
        return killed(&at, case.method);
    }
    let (mut kills, mut were_new) = (0, 0);
    loop {
        let mut world = World::new(|at| rules(at, case.keep_for_undo));
        for (name, content) in &case.old {
            fs::write(world.path("site").join(name), content).unwrap();
        }
        let id = new_id();
        fs::write(world.path("request"), request(&world.path("site"), &id)).unwrap();
        if kill_at(case.test, (WORLD, &world.path("")), kills + 1) == End::Ended {
            assert_eq!(standing(&world), case.new);
            break;
        }
        kills += 1;
        let at = format!("{}, killed at call {kills}", case.method);
        let left = standing(&world);
        for (name, content) in left.iter().filter(|(name, _)| !name.starts_with('.')) {
            let is = |files: &Files| files.iter().any(|(known, was)| (known, was) == (name, content));
            assert!(is(&case.old) || is(&case.new), "{at}: {name} is {content:?}");
        }
        world.restart();
        were_new += usize::from(check(case, &world, &id, &at));
    }
    assert!(kills > 30 && (1..kills).contains(&were_new), "{were_new} of {kills} were new");
}

/// Whether all is new after the next start, which leaves nothing beside it; else all is old, and the log says which.
fn check(case: &Case, world: &World, id: &str, at: &str) -> bool {
    let now = standing(world);
    let is_new = now == case.new;
    assert!(is_new || now == case.old, "{at}: {now:?}");
    let log = world.log();
    let of = |event: &str| {
        let event = format!("\"event\":\"{event}\"");
        log.iter().filter(|line| line.contains(&event) && line.contains(id)).cloned().collect::<Vec<_>>()
    };
    let (begun, ended, interrupted) = (of("begin"), of("end"), of("interrupted"));
    // What has begun has an end. An id that was taken before its begin was on disk is interrupted too; and who is killed
    // between the end in the log and that in the memory of ids is taken up again, with the same outcome.
    assert!(begun.len() <= 1 && interrupted.len() <= 1 && ended.len() <= 2, "{at}: {log:#?}");
    assert!(begun.is_empty() || ended.is_empty() != interrupted.is_empty(), "{at}: {log:#?}");
    // The log tells which: an end that is done, or an interruption by which nothing has changed.
    assert!(ended.iter().all(|line| line.contains("\"status\":\"done\"")), "{at}: {log:#?}");
    assert_eq!(ended.is_empty(), !is_new, "{at}: {log:#?}");
    let copies = fs::read_dir(world.path("state/undo")).unwrap().map(|entry| entry.unwrap().path());
    let copies = copies.map(|copy| fs::read(copy).unwrap()).collect::<Vec<_>>();
    if case.keep_for_undo {
        assert_eq!(copies.len(), usize::from(is_new), "{at}");
    } else {
        let has_old = |copy: &Vec<u8>| copy.windows(15).any(|part| part == b"the old content");
        assert!(!copies.iter().any(has_old), "{at}: a copy of what must not be kept");
    }
    is_new
}

/// Everything that stands in the site, also what nobody asked for.
fn standing(world: &World) -> Files {
    let entries = fs::read_dir(world.path("site")).unwrap().map(|entry| entry.unwrap().path());
    let mut files: Files = entries
        .map(|path| {
            let name = path.file_name().unwrap().to_str().unwrap().to_owned();
            (name, fs::read_to_string(path).unwrap())
        })
        .collect();
    files.sort();
    files
}

fn change(site: &Path, name: &str, kind: ChangeKind, content: &str) -> wire::FileChange {
    wire::FileChange {
        path: site.join(name).to_str().unwrap().to_owned(),
        kind: kind.into(),
        content: content.as_bytes().to_vec(),
        expect: "any".to_owned(),
        ..wire::FileChange::default()
    }
}

fn write(site: &Path, id: &str) -> Vec<u8> {
    let request = write_request(site.join("a.html").to_str().unwrap(), b"new\n", "any");
    wire::FileWriteRequest { meta: meta_with(id, Mode::Execute), ..request }.encode_to_vec()
}

#[test]
fn a_helper_killed_at_any_system_call_of_a_write_leaves_the_old_file_or_the_new_one() {
    let case = Case {
        test: "kills::a_helper_killed_at_any_system_call_of_a_write_leaves_the_old_file_or_the_new_one",
        method: "Helper/FileWrite",
        old: files(&[("a.html", "the old content\n")]),
        new: files(&[("a.html", "new\n")]),
        keep_for_undo: true,
    };
    run(&case, write);
}

#[test]
fn a_helper_killed_where_no_copy_is_to_be_kept_leaves_none() {
    let case = Case {
        test: "kills::a_helper_killed_where_no_copy_is_to_be_kept_leaves_none",
        method: "Helper/FileWrite",
        old: files(&[("a.html", "the old content\n")]),
        new: files(&[("a.html", "new\n")]),
        keep_for_undo: false,
    };
    run(&case, write);
}

#[test]
fn a_helper_killed_at_any_system_call_of_a_patch_of_three_files_leaves_all_old_or_all_new() {
    let case = Case {
        test: "kills::a_helper_killed_at_any_system_call_of_a_patch_of_three_files_leaves_all_old_or_all_new",
        method: "Helper/FilePatch",
        old: files(&[("a.html", "the old content\n"), ("gone.html", "what goes\n")]),
        new: files(&[("a.html", "new\n"), ("more.html", "what comes\n")]),
        keep_for_undo: true,
    };
    run(&case, |site, id| {
        let changes = vec![
            change(site, "a.html", ChangeKind::Write, "new\n"),
            change(site, "gone.html", ChangeKind::Remove, ""),
            change(site, "more.html", ChangeKind::Write, "what comes\n"),
        ];
        wire::FilePatchRequest { meta: meta_with(id, Mode::Execute), changes }.encode_to_vec()
    });
}
