//! A write under a rule with a validator is staged, judged and committed: nobody sees the candidate before.

use crate::undo::{of, undo};
use postern_corridor::{
    Answer, CLIENT_UID, OPERATOR, World, change_away, change_to, eventually, meta, names, patch, remove,
    rule, strings, write_request,
};
use postern_policy::types::Digest;
use postern_proto::root::v1 as root;
use postern_proto::v1::{self as wire, Mode, Status};
use root::Sandbox;
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};

fn row() -> root::Command {
    root::Command {
        name: "agrees".to_owned(),
        argv: strings(&["/usr/bin/printf", "-t"]),
        user: "nobody".to_owned(),
        sandbox: Sandbox::Validator.into(),
        cwd: "/".to_owned(),
        timeout_s: 20,
        output_bytes: 65536,
        ..root::Command::default()
    }
}

/// A world whose client may write these directories if this command agrees.
fn world(verbs: &[&str], directories: &[&str], command: root::Command) -> World {
    World::with(|at| {
        let path = |name: &&str| at.join(name).to_str().unwrap().to_owned();
        let site = root::Rule {
            directories: directories.iter().map(path).collect(),
            files: strings(&["*.html"]),
            validate: "agrees".to_owned(),
            ..rule("site", verbs)
        };
        root::Rules { rules: vec![site], commands: vec![command], ..root::Rules::default() }
    })
}

/// Returns the path of a live directory's copy in a stage.
fn copy(stage: &Path, live: &Path) -> PathBuf {
    let digest = Digest::of(&[live.to_str().unwrap().as_bytes()]).to_string();
    stage.join(&digest[..16])
}

fn write(world: &World, content: &[u8]) -> Answer {
    world.ask("Helper/FileWrite", &write_request(&world.text("site/a.html"), content, "any"))
}

fn site(world: &World) -> String {
    fs::read_to_string(world.path("site/a.html")).unwrap_or_default()
}

/// Units that were started.
fn started(world: &World) -> Vec<String> {
    let starts = world.calls().into_iter().filter(|call| call[0] == "start");
    starts.map(|call| call[4].clone()).collect()
}

#[test]
fn the_live_file_changes_only_if_the_validator_agrees_and_nobody_else_sees_the_candidate() {
    let world = world(&["file.write"], &["site"], row());
    fs::write(world.path("site/a.html"), "old").unwrap();
    fs::write(world.path("site/b.html"), "beside").unwrap();
    let seen = Arc::new(Mutex::new(Vec::new()));
    let judge = |verdict: bool| {
        let (live, seen) = (world.path("site"), Arc::clone(&seen));
        world.validators(move |unit, stage| {
            let read = |path: PathBuf| fs::read_to_string(path).unwrap();
            let copy = copy(stage, &live);
            let shown = [read(live.join("a.html")), read(copy.join("a.html")), read(copy.join("b.html"))];
            seen.lock().unwrap().push((unit.to_owned(), shown, names(&live)));
            verdict
        });
    };
    judge(false);
    let refused = write(&world, b"new");
    let completed = refused.completed();
    assert_eq!((completed.status(), completed.code.as_str()), (Status::Failed, "validation_failed"));
    assert_eq!(completed.message, "validator agrees rejects the change; nothing was changed");
    assert_eq!(site(&world), "old");
    let (unit, shown, live) = seen.lock().unwrap().pop().unwrap();
    assert!(unit.starts_with("postern-command-agrees-"), "{unit}");
    assert_eq!(shown, ["old", "new", "beside"]);
    assert_eq!(live, ["a.html", "b.html"], "nothing is beside the live file");

    judge(true);
    assert_eq!(write(&world, b"new").completed().status(), Status::Done);
    assert_eq!(site(&world), "new");
    let (_, shown, _) = seen.lock().unwrap().pop().unwrap();
    assert_eq!(shown, ["old", "new", "beside"], "it was asked before the change");
    assert_eq!((world.count("begin"), world.count("end")), (2, 2));
}

#[test]
fn validators_are_those_of_the_rule_that_the_content_needs_also_in_an_undo() {
    let world = World::with(|at| {
        let site = |id: &str, max_bytes: u64, validate: &str| root::Rule {
            directories: strings(&[at.join("site").to_str().unwrap()]),
            files: strings(&["*.html"]),
            max_bytes,
            validate: validate.to_owned(),
            ..rule(id, &["file.write", "request.undo"])
        };
        let rules = vec![site("small", 10, ""), site("large", 1 << 20, "agrees")];
        root::Rules { rules, commands: vec![row()], ..root::Rules::default() }
    });
    fs::write(world.path("site/a.html"), "more than ten bytes").unwrap();
    let small = write_request(&world.text("site/a.html"), b"small", "any");
    assert_eq!(world.ask("Helper/FileWrite", &small).completed().status(), Status::Done);
    assert!(started(&world).is_empty(), "the first rule has no validator");
    let back = wire::RequestUndoRequest { meta: meta(Mode::Execute), of: small.meta.unwrap().request_id };
    assert_eq!(world.ask("Helper/RequestUndo", &back).completed().status(), Status::Done);
    assert_eq!((site(&world).as_str(), started(&world).len()), ("more than ten bytes", 1));
    assert_eq!(write(&world, b"also more than ten").completed().status(), Status::Done);
    assert_eq!((site(&world).as_str(), started(&world).len()), ("also more than ten", 2));
}

#[test]
fn a_directory_that_is_too_large_is_not_staged_and_the_file_not_written() {
    let world = world(&["file.write"], &["site"], row());
    let large = world.path("site/large");
    fs::File::create(&large).unwrap().set_len(64 * 1024 * 1024 + 1).unwrap();
    assert_eq!(write(&world, b"new").completed().code, "too_large");
    fs::remove_file(&large).unwrap();
    assert_eq!(site(&world), "");
    assert!(started(&world).is_empty());
    assert_eq!(write(&world, b"new").completed().status(), Status::Done);
}

#[test]
fn a_patch_is_judged_as_a_whole_in_each_directory_and_so_are_removals_and_undos() {
    let verbs = ["file.write", "file.patch", "file.remove", "request.undo"];
    let world = world(&verbs, &["site", "more"], row());
    fs::create_dir(world.path("more")).unwrap();
    for name in ["site/a.html", "site/b.html", "more/c.html"] {
        fs::write(world.path(name), "old").unwrap();
    }
    let request = || {
        patch(vec![
            change_to(&world.text("site/a.html"), b"new"),
            change_away(&world.text("site/b.html")),
            change_to(&world.text("more/c.html"), b"new"),
        ])
    };
    // The last directory is the one that is rejected.
    let [site, more] = ["site", "more"].map(|name| world.path(name));
    let seen = Arc::new(Mutex::new(Vec::new()));
    let (shown, asked) = (Arc::clone(&seen), AtomicUsize::new(0));
    world.validators(move |_, stage| {
        let of = |live: &PathBuf| {
            let copy = copy(stage, live);
            names(&copy)
                .into_iter()
                .map(move |name| fs::read_to_string(copy.join(&name)).unwrap() + " " + &name)
        };
        *shown.lock().unwrap() = of(&site).chain(of(&more)).collect::<Vec<_>>();
        asked.fetch_add(1, Ordering::Relaxed) == 0
    });
    let mut channel = world.connect(CLIENT_UID);
    assert_eq!(channel.ask("Helper/FilePatch", &request()).completed().code, "validation_failed");
    let read = |name: &str| fs::read_to_string(world.path(name)).ok();
    let live = || ["site/a.html", "site/b.html", "more/c.html"].map(read);
    let (old, new) = (Some("old".to_owned()), Some("new".to_owned()));
    assert_eq!(live(), [old.clone(), old.clone(), old.clone()]);
    assert_eq!(*seen.lock().unwrap(), ["new a.html", "new c.html"]);
    assert_eq!(started(&world).len(), 2, "one for each directory");

    world.validators(|_, _| true);
    let done = request();
    assert_eq!(channel.ask("Helper/FilePatch", &done).completed().status(), Status::Done);
    assert_eq!(live(), [new.clone(), None, new]);
    // A client's own undo is a change by the same rule: it is judged too.
    world.validators(|_, _| false);
    let of = done.meta.unwrap().request_id;
    let undo = || wire::RequestUndoRequest { meta: meta(Mode::Execute), of: of.clone() };
    assert_eq!(channel.ask("Helper/RequestUndo", &undo()).completed().code, "validation_failed");
    world.validators(|_, _| true);
    assert_eq!(channel.ask("Helper/RequestUndo", &undo()).completed().status(), Status::Done);
    assert_eq!(live(), [old.clone(), old.clone(), old]);

    world.validators(|_, _| false);
    let removed = channel.ask("Helper/FileRemove", &remove(&world.text("site/a.html")));
    assert_eq!(removed.completed().code, "validation_failed");
    assert!(read("site/a.html").is_some());
}

#[test]
fn dry_runs_and_writes_that_change_nothing_ask_no_validator() {
    let world = world(&["file.write"], &["site"], row());
    world.validators(|_, _| false);
    let mut request = write_request(&world.text("site/a.html"), b"new", "any");
    let mut channel = world.connect(CLIENT_UID);
    for mode in [Mode::Preview, Mode::Check] {
        request.meta = meta(mode);
        assert_eq!(channel.ask("Helper/FileWrite", &request).completed().status(), Status::Previewed);
    }
    fs::write(world.path("site/a.html"), "new").unwrap();
    assert_eq!(write(&world, b"new").completed().status(), Status::Unchanged);
    assert!(started(&world).is_empty());
}

#[test]
fn a_rule_whose_validator_is_none_changes_nothing() {
    let strict = root::Command { sandbox: Sandbox::Strict.into(), ..row() };
    let unknown = root::Command { name: "other".to_owned(), ..row() };
    for command in [strict, unknown] {
        let world = world(&["file.write"], &["site"], command);
        let answer = write(&world, b"new");
        assert_eq!(answer.refused().code, "unsupported");
        assert!(started(&world).is_empty() && site(&world).is_empty());
        assert_eq!(world.count("begin"), 0);
    }
}

#[test]
fn without_systemd_no_validator_runs_and_nothing_is_written() {
    let world = world(&["file.write"], &["site"], row());
    fs::remove_dir(world.path("systemd")).unwrap();
    let answer = write(&world, b"new");
    assert_eq!(answer.completed().code, "unsupported");
    assert_eq!(site(&world), "");
}

#[test]
fn an_operators_undo_asks_no_validator() {
    let world = world(&["file.write"], &["site"], row());
    fs::write(world.path("site/a.html"), "old").unwrap();
    let request = write_request(&world.text("site/a.html"), b"new", "any");
    let answer = world.connect(CLIENT_UID).ask("Helper/FileWrite", &request);
    assert_eq!(answer.completed().status(), Status::Done);
    // It must work when the validator is broken.
    world.validators(|_, _| false);
    let asked = started(&world).len();
    let undone = undo(&mut world.operator(OPERATOR), &of(&request.meta.unwrap().request_id)).unwrap();
    assert_eq!((undone[0].code.as_str(), site(&world).as_str()), ("", "old"), "{undone:?}");
    assert_eq!(started(&world).len(), asked);
}

#[test]
fn nobody_waits_for_a_validator_and_a_file_that_changes_meanwhile_is_not_replaced() {
    let world = world(&["file.write"], &["site"], row());
    fs::write(world.path("site/a.html"), "old").unwrap();
    let go = world.path("go");
    let (waits, entered) = (go.clone(), world.path("entered"));
    world.validators(move |_, _| {
        fs::write(&entered, "").unwrap();
        while !waits.exists() {
            std::thread::sleep(std::time::Duration::from_millis(5));
        }
        true
    });
    let mut first = world.connect(CLIENT_UID);
    let request = write_request(&world.text("site/a.html"), b"first", "any");
    let stream = first.send("Helper/FileWrite", &prost::Message::encode_to_vec(&request));
    eventually("the validator runs", || world.path("entered").exists());
    world.validators(|_, _| true);
    let second = write(&world, b"second");
    assert_eq!(second.completed().status(), Status::Done, "{:?}", second.completed());
    fs::write(go, "").unwrap();
    let answer = first.answer(stream);
    assert_eq!(
        (answer.completed().status(), answer.completed().code.as_str()),
        (Status::Failed, "precondition_failed")
    );
    assert_eq!(site(&world), "second");
}

#[test]
fn a_policy_that_is_replaced_while_a_validator_runs_stops_the_commit() {
    let world = world(&["file.write"], &["site"], row());
    fs::write(world.path("site/a.html"), "old").unwrap();
    let (new, accepted) = (world.path("accepted.next"), world.path("accepted.pb"));
    fs::write(&new, postern_corridor::accepted(Vec::new())).unwrap();
    world.validators(move |_, _| fs::rename(&new, &accepted).is_ok());
    let answer = write(&world, b"new");
    assert_eq!(
        (answer.completed().status(), answer.completed().code.as_str()),
        (Status::Failed, "plan_changed")
    );
    assert_eq!(site(&world), "old");
    assert_eq!((world.count("begin"), world.count("end")), (1, 1));
}
