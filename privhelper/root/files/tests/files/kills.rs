//! postern-files is killed at any system call of a change, or any of these calls fails: files are wholly old or wholly
//! new, all of them, and the recorder learns which.

use crate::support::{
    CLIENT, Request, UndoCopy, World, all_verbs, away, execute_frames, host, names, open, patch, remove,
    send, to, whole, write,
};
use crate::tracer::{At, End, READY, stop_at};
use postern_proto::root::v1 as root;
use postern_proto::v1::{self as wire, Status};
use prost::Message;
use std::fs;
use std::io::{Read, Write};
use std::path::{Path, PathBuf};

/// Names the world in which the traced process works. The frames of the order are in it, as `frames`.
const WORLD: &str = "POSTERN_TRACED_IN";

/// Names and contents.
type Files = Vec<(String, String)>;

fn files(all: &[(&str, &str)]) -> Files {
    all.iter().map(|(name, content)| ((*name).to_owned(), (*content).to_owned())).collect()
}

/// One change, from these files to those.
struct Case {
    /// The test that is run again as the traced process.
    test: &'static str,
    old: Files,
    new: Files,
    undo_copy: UndoCopy,
}

impl Case {
    /// A world with the old files and an order, and the order's id.
    fn world<R: Request>(&self, request: impl FnOnce(&World) -> R) -> (World, Vec<u8>) {
        let world = World::new(|at| {
            let mut rule = all_verbs(at);
            rule.no_undo_copy = self.undo_copy == UndoCopy::Discard;
            vec![rule]
        });
        for (name, content) in &self.old {
            fs::write(world.path("site").join(name), content).unwrap();
        }
        let (mut order, contents) = world.order(CLIENT, &request(&world));
        order.facts = world.inspect(&order, None).facts;
        fs::write(world.path("frames"), execute_frames(&order, &contents, whole())).unwrap();
        (world, order.order_id)
    }

    /// The process that is traced: gives the order when it is told to, and keeps the answer.
    fn traced(at: &Path) {
        let state = open(host(at), |_, _| Ok(())).unwrap();
        let frames = fs::read(at.join("frames")).unwrap();
        ready();
        let answer = send(&state, &frames);
        let outcome = answer.outcome.map(|outcome| outcome.encode_to_vec()).unwrap_or_default();
        fs::write(at.join("answer"), outcome).unwrap();
        fs::rename(at.join("answer"), at.join("outcome")).unwrap();
    }

    /// Kills the process at one call after the other until it makes no more of them.
    fn kill_everywhere<R: Request>(&self, request: impl Fn(&World) -> R, lose: Lose) {
        if let Some(at) = std::env::var_os(WORLD).map(PathBuf::from) {
            return Self::traced(&at);
        }
        let (mut kills, mut were_new) = (0, 0);
        loop {
            let (mut world, id) = self.world(&request);
            if stop_at(self.test, (WORLD, &world.path("")), kills + 1, At::Kill) == End::Ended {
                assert_eq!(standing(&world), self.new);
                break;
            }
            kills += 1;
            let at = format!("killed at call {kills}");
            // Names that stay behind are this order's: id and uid are in them.
            let own = format!(".postern-{}-", postern_root::OrderId::from_bytes(&id).unwrap());
            let temporary = standing(&world).into_iter().filter(|(name, _)| name.starts_with('.'));
            assert!(temporary.clone().all(|(name, _)| name.starts_with(&own)), "{at}: {own}");
            for (name, content) in standing(&world).iter().filter(|(name, _)| !name.starts_with('.')) {
                let is = |files: &Files| files.iter().any(|(known, was)| (known, was) == (name, content));
                assert!(is(&self.old) || is(&self.new), "{at}: {name} is {content:?}");
            }
            if lose == Lose::Outcomes {
                fs::remove_dir_all(world.path("state/outcomes")).unwrap();
            }
            world.restart();
            were_new += usize::from(self.check(&world, &id, lose, &at));
        }
        assert!(kills > 20 && (1..kills).contains(&were_new), "{were_new} of {kills} were new");
    }

    /// Whether all is new after the next start, which leaves nothing beside it; else all is old. The outcome says which.
    fn check(&self, world: &World, id: &[u8], lose: Lose, at: &str) -> bool {
        // After a power loss only the question settles it.
        let (state, outcome) = world.outcomes(id);
        let now = standing(world);
        let is_new = now == self.new;
        assert!(is_new || now == self.old, "{at}: {now:?}");
        let status = outcome.as_ref().map(|outcome| outcome.completed.as_ref().unwrap().status());
        match (state.as_str(), status) {
            ("ended", Some(Status::Done)) => assert!(is_new, "{at}"),
            ("ended", Some(Status::Interrupted)) => assert!(!is_new, "{at}"),
            ("unknown", None) => assert!(!is_new || lose == Lose::Outcomes, "{at}"),
            other => panic!("{at}: {other:?}"),
        }
        let kept = names(&world.path("state/undo"));
        let has_old = |copy: &String| {
            let copy = fs::read(world.path("state/undo").join(copy)).unwrap();
            copy.windows(15).any(|part| part == b"the old content")
        };
        match self.undo_copy {
            UndoCopy::Keep => {
                assert_eq!(kept.len(), usize::from(is_new), "{at}");
            }
            UndoCopy::Discard => assert!(!kept.iter().any(has_old), "{at}: a copy of what must not be kept"),
        }
        if let Some(inverse) = outcome.and_then(|outcome| outcome.inverse) {
            assert_eq!(world.undo(&inverse).status(), Status::Done, "{at}");
            assert_eq!(standing(world), self.old, "{at}");
        }
        is_new
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Lose {
    Nothing,
    /// Unsynced outcomes, as in a power loss.
    Outcomes,
}

fn ready() {
    std::io::stdout().write_all(format!("{READY}\n").as_bytes()).unwrap();
    let _ = std::io::stdin().read(&mut [0]).unwrap();
}

/// Everything in the site, also temporary files.
fn standing(world: &World) -> Files {
    let content = |name: String| {
        let content = fs::read_to_string(world.path("site").join(&name)).unwrap();
        (name, content)
    };
    names(&world.path("site")).into_iter().map(content).collect()
}

fn one_write(test: &'static str, undo_copy: UndoCopy) -> Case {
    Case { test, old: files(&[("a", "the old content\n")]), new: files(&[("a", "new\n")]), undo_copy }
}

fn write_a(world: &World) -> wire::FileWriteRequest {
    write(&world.text("site/a"), b"new\n")
}

fn three_files(test: &'static str) -> Case {
    let old = files(&[("a", "the old content\n"), ("gone", "what goes\n")]);
    let new = files(&[("a", "new\n"), ("more", "what comes\n")]);
    Case { test, old, new, undo_copy: UndoCopy::Keep }
}

fn patch_three(world: &World) -> wire::FilePatchRequest {
    let at = |name: &str| world.text(&format!("site/{name}"));
    patch(vec![to(&at("a"), b"new\n"), away(&at("gone")), to(&at("more"), b"what comes\n")])
}

#[test]
fn killed_at_any_system_call_of_a_write_the_old_file_or_the_new_one_is_there() {
    let case = one_write(
        "kills::killed_at_any_system_call_of_a_write_the_old_file_or_the_new_one_is_there",
        UndoCopy::Keep,
    );
    case.kill_everywhere(write_a, Lose::Nothing);
}

#[test]
fn killed_without_keep_for_undo_leaves_no_copy() {
    let case = one_write("kills::killed_without_keep_for_undo_leaves_no_copy", UndoCopy::Discard);
    case.kill_everywhere(write_a, Lose::Nothing);
}

#[test]
fn killed_at_any_system_call_of_a_patch_of_three_files_all_are_old_or_all_new() {
    let case =
        three_files("kills::killed_at_any_system_call_of_a_patch_of_three_files_all_are_old_or_all_new");
    case.kill_everywhere(patch_three, Lose::Nothing);
}

#[test]
fn killed_at_any_system_call_of_a_removal_the_file_is_there_or_can_be_brought_back() {
    let case = Case {
        test: "kills::killed_at_any_system_call_of_a_removal_the_file_is_there_or_can_be_brought_back",
        old: files(&[("a", "the old content\n")]),
        new: files(&[]),
        undo_copy: UndoCopy::Keep,
    };
    case.kill_everywhere(|world| remove(&world.text("site/a")), Lose::Nothing);
}

#[test]
fn after_a_power_loss_the_disk_and_the_undo_copy_tell_what_became_of_an_order() {
    let case =
        three_files("kills::after_a_power_loss_the_disk_and_the_undo_copy_tell_what_became_of_an_order");
    case.kill_everywhere(patch_three, Lose::Outcomes);
}

/// Any of its calls fails: the answer says what is there (row 19).
#[test]
fn a_failed_system_call_in_a_patch_is_reported_with_the_state_on_disk() {
    let case = three_files("kills::a_failed_system_call_in_a_patch_is_reported_with_the_state_on_disk");
    if let Some(at) = std::env::var_os(WORLD).map(PathBuf::from) {
        return Case::traced(&at);
    }
    let (mut failures, mut told) = (0, [0; 3]);
    loop {
        let (mut world, _) = case.world(patch_three);
        if stop_at(case.test, (WORLD, &world.path("")), failures + 1, At::Fail) == End::Ended {
            break;
        }
        failures += 1;
        let at = format!("call {failures} failed");
        let visible =
            || standing(&world).into_iter().filter(|(name, _)| !name.starts_with('.')).collect::<Files>();
        // Without an answer it was a call of the test's own that failed.
        let Ok(outcome) = fs::read(world.path("outcome")) else { continue };
        let completed = root::Outcome::decode(outcome.as_slice()).unwrap().completed;
        let is_new = visible() == case.new;
        match completed.as_ref().map(wire::Completed::status) {
            None => {
                assert_eq!(visible(), case.old, "{at}: refused");
                told[0] += 1;
            }
            Some(Status::Done) => {
                assert!(is_new, "{at}: {:?}", standing(&world));
                told[1] += 1;
            }
            Some(Status::Partly) if is_new => {
                assert!(completed.unwrap().message.contains("the change is in place"), "{at}");
                told[2] += 1;
            }
            other => panic!("{at}: {other:?}"),
        }
        world.restart();
    }
    assert!(failures > 40 && told[0] > 10 && told[1] > 0 && told[2] > 1, "{failures}: {told:?}");
}

/// Where the process is killed again while it takes up what was left.
#[test]
fn killed_while_it_recovers_it_recovers_at_the_next_start() {
    let test = "kills::killed_while_it_recovers_it_recovers_at_the_next_start";
    let case = three_files(test);
    if let Some(at) = std::env::var_os(WORLD).map(PathBuf::from) {
        if at.join("recovering").exists() {
            ready();
            drop(open(host(&at), |_, _| Ok(())).unwrap());
            return;
        }
        return Case::traced(&at);
    }
    let mut again = 0;
    for first in (10..).step_by(7) {
        let (world, _) = case.world(patch_three);
        if stop_at(test, (WORLD, &world.path("")), first, At::Kill) == End::Ended {
            break;
        }
        for second in (1..).step_by(5) {
            let (mut world, id) = case.world(patch_three);
            assert_eq!(stop_at(test, (WORLD, &world.path("")), first, At::Kill), End::Stopped);
            fs::write(world.path("recovering"), "").unwrap();
            let end = stop_at(test, (WORLD, &world.path("")), second, At::Kill);
            world.restart();
            case.check(&world, &id, Lose::Nothing, &format!("killed at call {first} and then {second}"));
            if end == End::Ended {
                break;
            }
            again += 1;
        }
    }
    assert!(again > 10, "{again}");
}
