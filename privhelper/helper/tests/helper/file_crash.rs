//! A helper that was killed in the middle of a change: its next start finishes it or takes it back, and says which.

use crate::common::{CLIENT_UID, World, changing, meta, names, new_id, strings};
use postern_helper::reply::Watchers;
use postern_policy::types::Digest;
use postern_proto::root::v1::{FileState, FileUndo, FilesUndo, RequestRecord};
use postern_proto::v1 as wire;
use prost::Message;
use std::fs;
use std::os::unix::fs::MetadataExt;
use std::sync::Arc;

const NEW: &str = "a is new, b changes, c goes";

/// A world in which a patch has begun: a is new, b changes, c goes. What it would leave stands nowhere yet.
struct Crashed {
    world: World,
    id: String,
}

impl Crashed {
    fn new() -> Self {
        Self::of(wire::Decision::Allow)
    }

    fn of(decision: wire::Decision) -> Self {
        let world = World::new(|at| vec![changing(at)]);
        for name in ["b", "c"] {
            fs::write(world.path(&format!("site/{name}")), format!("old {name}")).unwrap();
        }
        let id = new_id();
        let state = |name: &str| {
            let facts = fs::metadata(world.path(&format!("site/{name}"))).unwrap();
            FileState {
                mode: facts.mode() & 0o7777,
                uid: facts.uid(),
                gid: facts.gid(),
                inode: facts.ino(),
                ..FileState::default()
            }
        };
        let after = |like: &str| FileState {
            mode: 0o644,
            sha256: Digest::of(&[NEW.as_bytes()]).as_bytes().to_vec(),
            inode: 0,
            ..state(like)
        };
        let file = |number: u32, name: &str, before, after| FileUndo {
            path: world.text(&format!("site/{name}")),
            before,
            after,
            content: format!("old {name}").into_bytes(),
            temporary: format!(".postern-{id}-{number}"),
        };
        let undo = FilesUndo {
            incomplete: false,
            files: vec![
                file(0, "a", None, Some(after("b"))),
                file(1, "b", Some(state("b")), Some(after("b"))),
                file(2, "c", Some(state("c")), None),
            ],
        };
        fs::write(world.path("state/undo").join(format!("{CLIENT_UID}-{id}")), undo.encode_to_vec()).unwrap();
        let record = RequestRecord {
            uid: CLIENT_UID,
            request_id: id.clone(),
            digest: vec![0; 32],
            verb: "file.patch".to_owned(),
            begun_unix_us: u64::try_from(world.host.unix().as_micros()).unwrap(),
            rules: strings(&["site"]),
            decision: decision.into(),
            ..RequestRecord::default()
        };
        world.helper.requests.take(record, &Arc::new(Watchers::default())).unwrap();
        Self { world, id }
    }

    fn beside(&self, number: u32) -> std::path::PathBuf {
        self.world.path(&format!("site/.postern-{}-{number}", self.id))
    }

    fn put(path: &std::path::Path) {
        fs::write(path, NEW).unwrap();
        fs::set_permissions(path, std::os::unix::fs::PermissionsExt::from_mode(0o644)).unwrap();
    }

    fn stage(&self) {
        Self::put(&self.beside(0));
        Self::put(&self.beside(1));
    }

    fn swap(&self, count: u32) {
        let at = |name: &str| self.world.path(&format!("site/{name}"));
        if count > 0 {
            fs::rename(self.beside(0), at("a")).unwrap();
        }
        if count > 1 {
            let (flags, cwd) = (nix::fcntl::RenameFlags::RENAME_EXCHANGE, nix::fcntl::AT_FDCWD);
            nix::fcntl::renameat2(cwd, &self.beside(1), cwd, &at("b"), flags).unwrap();
        }
        if count > 2 {
            fs::rename(at("c"), self.beside(2)).unwrap();
        }
    }

    /// Starts the helper anew, twice: all files, and what the log and the client are told.
    fn restart(mut self) -> (Vec<String>, String, wire::Completed) {
        self.world.restart();
        let log = self.world.log();
        self.world.restart();
        let site = self.world.path("site");
        let files = names(&site).into_iter();
        let files = files.map(|name| format!("{name}: {}", fs::read_to_string(site.join(&name)).unwrap()));
        let line = log.iter().find(|line| line.contains(&self.id)).unwrap().clone();
        let told = self.world.helper.requests.ended(|record| record.request_id == self.id);
        (files.collect(), line, told[0].completed.clone().unwrap())
    }
}

fn is_taken_back(crashed: Crashed) {
    let (files, line, told) = crashed.restart();
    assert_eq!(files, ["b: old b", "c: old c"]);
    assert!(line.contains("\"event\":\"interrupted\"") && line.contains("taken back"), "{line}");
    assert_eq!((told.status(), told.code.as_str()), (wire::Status::Interrupted, "interrupted"));
}

fn is_finished(crashed: Crashed) {
    let (files, line, told) = crashed.restart();
    assert_eq!(files, [format!("a: {NEW}"), format!("b: {NEW}")]);
    assert!(line.contains("\"event\":\"end\"") && line.contains("in place"), "{line}");
    assert_eq!((told.status(), told.files.len()), (wire::Status::Done, 3));
}

#[test]
fn a_change_that_had_nothing_in_place_is_taken_back() {
    is_taken_back(Crashed::new());
    let half = Crashed::new();
    fs::write(half.beside(0), "a is n").unwrap();
    is_taken_back(half);
    let staged = Crashed::new();
    staged.stage();
    is_taken_back(staged);
}

#[test]
fn a_change_that_had_some_files_in_place_is_taken_back() {
    for count in [1, 2] {
        let crashed = Crashed::new();
        crashed.stage();
        crashed.swap(count);
        is_taken_back(crashed);
    }
}

#[test]
fn a_change_that_had_all_files_in_place_is_finished() {
    for cleared in 0..3 {
        let crashed = Crashed::new();
        crashed.stage();
        crashed.swap(3);
        for number in 0..cleared {
            // The first has nothing beside it any more.
            drop(fs::remove_file(crashed.beside(number + 1)));
        }
        is_finished(crashed);
    }
}

#[test]
fn what_was_finished_after_a_crash_can_be_taken_back() {
    let crashed = Crashed::new();
    crashed.stage();
    crashed.swap(3);
    let id = crashed.id.clone();
    let mut world = crashed.world;
    world.restart();
    let request = wire::RequestUndoRequest { meta: crate::common::meta(wire::Mode::Execute), of: id };
    let answer = world.connect(CLIENT_UID).ask("Helper/RequestUndo", &request);
    assert_eq!(answer.completed().status(), wire::Status::Done);
    assert_eq!(fs::read_to_string(world.path("site/c")).unwrap(), "old c");
    assert_eq!(names(&world.path("site")), ["b", "c"]);
}

#[test]
fn what_a_person_approved_before_a_crash_is_asked_again_before_it_is_undone() {
    let crashed = Crashed::of(wire::Decision::Ask);
    crashed.stage();
    crashed.swap(3);
    let id = crashed.id.clone();
    let mut world = crashed.world;
    world.restart();
    let mut channel = world.connect(CLIENT_UID);
    let result = wire::RequestResultRequest { meta: meta(wire::Mode::Execute), of: id.clone() };
    let answer = channel.ask("Helper/RequestResult", &result);
    let told = answer.completed();
    assert_eq!((told.decision(), told.rule.as_str(), told.undoable), (wire::Decision::Ask, "site", true));
    let undo = wire::RequestUndoRequest { meta: meta(wire::Mode::Preview), of: id };
    let answer = channel.ask("Helper/RequestUndo", &undo);
    assert_eq!(answer.completed().decision(), wire::Decision::Ask);
}

#[test]
fn a_crash_while_it_is_taken_back_is_taken_back_again() {
    // As after the second file was put back and before the first was.
    let crashed = Crashed::new();
    crashed.stage();
    crashed.swap(1);
    is_taken_back(crashed);
    // As after all were put back and before what was new is gone.
    let crashed = Crashed::new();
    crashed.stage();
    fs::remove_file(crashed.beside(1)).unwrap();
    is_taken_back(crashed);
}
