//! `keep_within`: a change that its client does not keep over a new connection is taken back.

use crate::commands::{command, program, run};
use crate::undo::{of, undo};
use postern_corridor::{
    CLIENT_UID, Channel, OPERATOR, Processes, STRANGER_UID, World, change_to, changing, eventually, meta,
    new_id, patch, rule, strings, write_request,
};
use postern_proto::root::v1 as root;
use postern_proto::v1::{self as wire, Mode, Status};
use std::fs;
use std::path::Path;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

fn rules(at: &Path, keep_within_s: u64) -> Vec<root::Rule> {
    vec![root::Rule { keep_within_s, ..changing(at) }]
}

/// Writes the page `a`, and returns the request's id and the deadline.
fn write(world: &World, channel: &mut Channel) -> (String, u64) {
    let request = write_request(&world.text("site/a"), b"new", "any");
    let answer = channel.ask("Helper/FileWrite", &request);
    let done = answer.completed();
    assert_eq!(done.status(), Status::Done);
    (request.meta.unwrap().request_id, done.keep_until_unix_s)
}

/// The status, or the code.
fn ended(answer: &postern_corridor::Answer) -> String {
    match answer.events.last().unwrap().kind.as_ref().unwrap() {
        wire::event::Kind::Completed(done) if done.code.is_empty() => format!("{:?}", done.status()),
        wire::event::Kind::Completed(done) => done.code.clone(),
        _ => answer.refused().code.clone(),
    }
}

fn keep(channel: &mut Channel, of: &str) -> String {
    let request = wire::RequestKeepRequest { meta: meta(Mode::Execute), of: of.to_owned() };
    ended(&channel.ask("Helper/RequestKeep", &request))
}

fn undone(world: &World, of: &str) -> (String, String) {
    let request = wire::RequestUndoRequest { meta: meta(Mode::Execute), of: of.to_owned() };
    (ended(&world.ask("Helper/RequestUndo", &request)), request.meta.unwrap().request_id)
}

fn page(world: &World) -> String {
    fs::read_to_string(world.path("site/a")).unwrap_or_default()
}

fn unix_s() -> u64 {
    SystemTime::now().duration_since(UNIX_EPOCH).unwrap().as_secs()
}

fn listed(world: &World) -> Vec<wire::Unkept> {
    let mut operator = world.operator(OPERATOR);
    let replies =
        operator.replies::<wire::OperatorPending>("Operator/Pending", &wire::OperatorPendingRequest {});
    replies.unwrap().remove(0).unkept
}

/// Ticks as the recorder does, only more often.
fn tick_until(world: &World, what: &str, is: impl Fn() -> bool) {
    eventually(what, || {
        world.recorder().tick();
        is()
    });
}

/// What a take-back that was begun in this time would have recorded.
fn tick_for_a_moment(world: &World) {
    for _ in 0..20 {
        world.recorder().tick();
        std::thread::sleep(Duration::from_millis(20));
    }
}

#[test]
fn a_change_that_nobody_keeps_is_taken_back_at_its_deadline_and_once() {
    let world = World::new(|at| rules(at, 2));
    fs::write(world.path("site/a"), "old").unwrap();
    let (id, deadline) = write(&world, &mut world.connect(CLIENT_UID));
    assert!((unix_s()..=unix_s() + 3).contains(&deadline), "{deadline}");
    let waits = listed(&world);
    assert_eq!((waits.len(), waits[0].request_id.as_str(), waits[0].keep_until_unix_s), (1, &*id, deadline));
    world.recorder().tick();
    assert_eq!(page(&world), "new", "not before the deadline");
    tick_until(&world, "its take-back is recorded", || world.count("end") == 2);
    assert_eq!(page(&world), "old");
    assert!(unix_s() >= deadline);
    let begin = world.records("begin").remove(1);
    assert_eq!(begin["args"]["reason"], "keep_within: nobody kept the change in time");
    assert_eq!(begin["undo"]["of"], *id);
    tick_for_a_moment(&world);
    assert_eq!((world.count("begin"), listed(&world).len()), (2, 0));
    assert_eq!(keep(&mut world.connect(CLIENT_UID), &id), "unknown_request");
}

#[test]
fn only_a_connection_made_after_the_change_keeps_it_and_then_it_stays() {
    let mut world = World::with(|at| {
        let (name, user) = ("other".to_owned(), "stranger".to_owned());
        let clients = vec![root::Client { name, user, group: String::new() }];
        root::Rules { rules: rules(at, 2), clients, ..root::Rules::default() }
    });
    let mut before = world.connect(CLIENT_UID);
    let (id, deadline) = write(&world, &mut before);
    assert_eq!(keep(&mut before, &id), "denied");
    assert_eq!(keep(&mut world.connect(CLIENT_UID), &new_id()), "unknown_request");
    assert_eq!(keep(&mut world.connect(STRANGER_UID), &id), "unknown_request", "another client's");
    assert_eq!(world.count("refused"), 3);
    assert_eq!(keep(&mut world.connect(CLIENT_UID), &id), "Done");
    assert_eq!(keep(&mut world.connect(CLIENT_UID), &id), "unknown_request");
    // Also after a restart, and past the deadline.
    world.restart_recorder();
    eventually("the deadline is over", || unix_s() > deadline);
    tick_for_a_moment(&world);
    assert_eq!((world.count("begin"), listed(&world).len()), (1, 0));
    assert_eq!(page(&world), "new");
}

#[test]
fn a_step_of_the_wall_clock_neither_ends_nor_extends_a_deadline() {
    let mut world = World::new(|at| rules(at, 3));
    write(&world, &mut world.connect(CLIENT_UID));
    world.hosts.recorder.audit.now = || SystemTime::now() + Duration::from_secs(3600);
    world.restart_recorder();
    tick_for_a_moment(&world);
    assert_eq!((page(&world).as_str(), world.count("begin")), ("new", 1));
    world.hosts.recorder.audit.now = || SystemTime::now() - Duration::from_secs(3600);
    world.restart_recorder();
    tick_until(&world, "it is taken back", || page(&world).is_empty());
}

#[test]
fn nobody_changes_what_must_be_kept_first() {
    let world = World::new(|at| {
        let other = root::Rule { id: "free".to_owned(), files: strings(&["b"]), ..changing(at) };
        vec![root::Rule { files: strings(&["a", "d", "x"]), ..rules(at, 3600).remove(0) }, other]
    });
    fs::write(world.path("site/a"), "old").unwrap();
    let (id, _) = write(&world, &mut world.connect(CLIENT_UID));
    let second = || world.ask("Helper/FileWrite", &write_request(&world.text("site/a"), b"newer", "any"));
    let answer = second();
    let refused = answer.refused();
    assert_eq!((refused.code.as_str(), page(&world).as_str()), ("busy", "new"));
    assert!(refused.message.contains(&id) && refused.message.contains("postern keep"), "{}", refused.message);
    // Beside it nothing waits; below a new directory everything does.
    let beside = world.ask("Helper/FileWrite", &write_request(&world.text("site/b"), b"b", "any"));
    assert_eq!((ended(&beside).as_str(), beside.completed().keep_until_unix_s), ("Done", 0));
    let made = world.ask("Helper/FileMkdir", &postern_corridor::mkdir(&world.text("site/d")));
    assert_eq!(ended(&made), "Done");
    let below = write_request(&world.text("site/d/x"), b"x", "any");
    assert_eq!(ended(&world.ask("Helper/FileWrite", &below)), "busy");
    assert_eq!((world.count("begin"), keep(&mut world.connect(CLIENT_UID), &id)), (3, "Done".to_owned()));
    assert_eq!(ended(&second()), "Done");
}

#[test]
fn an_undo_of_what_must_be_kept_takes_it_back_at_once_and_is_final() {
    let world = World::new(|at| rules(at, 2));
    fs::write(world.path("site/a"), "old").unwrap();
    let (id, deadline) = write(&world, &mut world.connect(CLIENT_UID));
    let (status, undo_id) = undone(&world, &id);
    assert_eq!((status.as_str(), page(&world).as_str()), ("Done", "old"));
    assert_eq!((undone(&world, &undo_id).0.as_str(), page(&world).as_str()), ("undo_gone", "old"));
    eventually("the deadline is over", || unix_s() > deadline);
    tick_for_a_moment(&world);
    assert_eq!((world.count("begin"), listed(&world).len()), (2, 0));
}

#[test]
fn what_could_not_be_taken_back_is_refused_before_it_begins() {
    let mut commands = Vec::new();
    let world = World::with(|at| {
        let kept = root::Rule { files: strings(&["a"]), ..rules(at, 3600).remove(0) };
        let copyless = root::Rule {
            id: "copyless".to_owned(),
            files: strings(&["b"]),
            no_undo_copy: true,
            ..changing(at)
        };
        let runs =
            root::Rule { commands: strings(&["*"]), keep_within_s: 60, ..rule("run", &["command.run"]) };
        let script = program(at, "script", &format!("echo ran >>{}/ran", at.display()));
        commands.push(command("lasting", &[&script]));
        root::Rules {
            rules: vec![kept, copyless, runs],
            commands: commands.clone(),
            ..root::Rules::default()
        }
    });
    let both = patch(vec![change_to(&world.text("site/a"), b"1"), change_to(&world.text("site/b"), b"2")]);
    assert_eq!(ended(&world.ask("Helper/FilePatch", &both)), "plan_refused");
    assert_eq!(ended(&world.ask("Helper/CommandRun", &run("lasting", &[]))), "plan_refused");
    assert_eq!(fs::read_dir(world.path("site")).unwrap().count(), 0);
    assert!(!world.path("ran").exists() && listed(&world).is_empty());
}

/// A command that fails after half of its work, and the one that takes it back.
fn half(at: &Path) -> root::Rules {
    let here = at.display();
    let script = program(at, "half", &format!("echo $1 >>{here}/ran; [ $1 = back ]"));
    let row = |name: &str, word: &str, reverse: &str| root::Command {
        reverse: reverse.to_owned(),
        ..command(name, &[&script, word])
    };
    let commands =
        vec![row("forth", "forth", "back"), row("back", "back", ""), row("again", "again", "back")];
    let verbs = ["command.run", "request.undo"];
    let rules = vec![
        root::Rule { commands: strings(&["forth"]), keep_within_s: 2, ..rule("kept", &verbs) },
        root::Rule { commands: strings(&["again", "back"]), ..rule("free", &verbs) },
    ];
    root::Rules { rules, commands, ..root::Rules::default() }
}

#[test]
fn a_command_that_failed_half_way_is_taken_back_too_and_no_other_with_its_reverse_runs_meanwhile() {
    let world = World::with(half);
    let request = run("forth", &[]);
    let answer = world.ask("Helper/CommandRun", &request);
    let done = answer.completed();
    assert_eq!((done.code.as_str(), done.undoable), ("command_failed", true));
    assert!(done.keep_until_unix_s > 0);
    for name in ["forth", "back", "again"] {
        assert_eq!(ended(&world.ask("Helper/CommandRun", &run(name, &[]))), "busy", "{name}");
    }
    let ran = || fs::read_to_string(world.path("ran")).unwrap_or_default();
    assert_eq!(ran(), "forth\n");
    tick_until(&world, "it is taken back", || world.count("end") == 2);
    assert_eq!((ran().as_str(), listed(&world).len()), ("forth\nback\n", 0));
    assert_eq!(ended(&world.ask("Helper/CommandRun", &run("back", &[]))), "Done");
}

#[test]
fn a_take_back_is_tried_again_while_its_reason_passes_and_a_pause_does_not_hold_it() {
    let world = World::new(|at| rules(at, 1));
    write(&world, &mut world.connect(CLIENT_UID));
    let paused = wire::OperatorPauseRequest { reason: "an incident".to_owned() };
    world.operator(OPERATOR).replies::<wire::OperatorPaused>("Operator/Pause", &paused).unwrap();
    // The recorder reaches postern-files by this socket.
    fs::rename(world.path("files.0"), world.path("away")).unwrap();
    tick_until(&world, "a try fails", || listed(&world)[0].not_taken_back.starts_with("busy: "));
    assert!(listed(&world)[0].keep_until_unix_s > 0 && page(&world) == "new");
    fs::rename(world.path("away"), world.path("files.0")).unwrap();
    tick_until(&world, "it is taken back", || page(&world).is_empty());
    eventually("its end is recorded", || listed(&world).is_empty());
    assert_eq!(world.count("not_taken_back"), 0);
}

#[test]
fn a_reverse_that_fails_runs_again() {
    let world = World::with(|at| {
        let here = at.display();
        let script = format!("echo $1 >>{here}/ran; [ $1 = forth ] || [ $(wc -l <{here}/ran) -ge 3 ]");
        let script = program(at, "late", &script);
        let row = |name: &str, reverse: &str| root::Command {
            reverse: reverse.to_owned(),
            ..command(name, &[&script, name])
        };
        let rule =
            root::Rule { commands: strings(&["*"]), keep_within_s: 1, ..rule("kept", &["command.run"]) };
        let commands = vec![row("forth", "back"), row("back", "forth")];
        root::Rules { rules: vec![rule], commands, ..root::Rules::default() }
    });
    assert_eq!(ended(&world.ask("Helper/CommandRun", &run("forth", &[]))), "Done");
    tick_until(&world, "a try fails", || listed(&world)[0].not_taken_back.starts_with("command_failed: "));
    tick_until(&world, "it is taken back", || listed(&world).is_empty());
    assert_eq!(fs::read_to_string(world.path("ran")).unwrap(), "forth\nback\nback\n");
    assert_eq!(world.count("not_taken_back"), 0);
}

/// A command that must be kept, and the one that takes it back, which waits for the file `go`.
fn slow(at: &Path) -> root::Rules {
    let here = at.display();
    let script = format!(
        "echo $1 >>{here}/ran; [ $1 = forth ] || while [ ! -e {here}/go ]; do sleep 0.01; done; [ ! -e {here}/fail ]"
    );
    let script = program(at, "slow", &script);
    let row = |name: &str, reverse: &str| root::Command {
        reverse: reverse.to_owned(),
        ..command(name, &[&script, name])
    };
    let rule = root::Rule {
        commands: strings(&["*"]),
        keep_within_s: 1,
        ..rule("kept", &["command.run", "request.undo"])
    };
    let commands = vec![row("forth", "back"), row("back", "forth")];
    root::Rules { rules: vec![rule], commands, ..root::Rules::default() }
}

#[test]
fn an_undo_that_runs_at_the_deadline_and_fails_does_not_end_it() {
    let world = World::with(slow);
    let request = run("forth", &[]);
    assert_eq!(ended(&world.ask("Helper/CommandRun", &request)), "Done");
    let id = request.meta.unwrap().request_id;
    std::thread::scope(|scope| {
        let undo = scope.spawn(|| undone(&world, &id).0);
        tick_until(&world, "a take-back meets the undo", || {
            listed(&world)[0].not_taken_back.starts_with("busy: ")
        });
        fs::write(world.path("fail"), "").unwrap();
        fs::write(world.path("go"), "").unwrap();
        assert_eq!(undo.join().unwrap(), "command_failed");
    });
    fs::remove_file(world.path("fail")).unwrap();
    tick_until(&world, "it is taken back", || listed(&world).is_empty());
    assert_eq!(world.count("not_taken_back"), 0);
}

#[test]
fn a_take_back_that_runs_while_the_recorder_ends_is_not_given_up() {
    let mut world = World::with(slow);
    assert_eq!(ended(&world.ask("Helper/CommandRun", &run("forth", &[]))), "Done");
    tick_until(&world, "the take-back has begun", || world.count("begin") == 2);
    let ran = || fs::read_to_string(world.path("ran")).unwrap_or_default();
    eventually("the reverse runs", || ran() == "forth\nback\n");
    world.cut_recorder();
    tick_for_a_moment(&world);
    assert_eq!(world.count("not_taken_back"), 0);
    fs::write(world.path("go"), "").unwrap();
    tick_until(&world, "it is taken back", || listed(&world).is_empty());
    tick_for_a_moment(&world);
    let ran = fs::read_to_string(world.path("ran")).unwrap();
    assert_eq!((ran.as_str(), world.count("not_taken_back")), ("forth\nback\n", 0));
}

#[test]
fn a_change_that_is_kept_while_its_take_back_waits_for_a_turn_stays() {
    let world = World::new(|at| rules(at, 1));
    let (id, deadline) = write(&world, &mut world.connect(CLIENT_UID));
    let directory = format!("dir:{}", world.text("site"));
    let object = postern_policy::types::Digest::of(&[directory.as_bytes()]).to_string();
    let objects = [object.chars().take(16).collect::<String>()];
    let recorder = world.recorder();
    let turn = recorder.turns.take((1, true), &objects, Duration::from_secs(1), || true).unwrap();
    eventually("the deadline is over", || unix_s() > deadline);
    tick_for_a_moment(&world);
    assert_eq!(keep(&mut world.connect(CLIENT_UID), &id), "Done");
    drop(turn);
    eventually("the take-back is refused", || world.count("refused") == 1);
    tick_for_a_moment(&world);
    assert_eq!((world.count("begin"), page(&world).as_str(), listed(&world).len()), (1, "new", 0));
}

#[test]
fn a_change_that_cannot_be_taken_back_is_recorded_and_listed_until_somebody_acts() {
    let mut world = World::new(|at| rules(at, 1));
    let (id, _) = write(&world, &mut world.connect(CLIENT_UID));
    fs::write(world.path("site/a"), "a person's").unwrap();
    tick_until(&world, "it is recorded", || world.count("not_taken_back") == 1);
    let record = world.records("not_taken_back").remove(0);
    assert_eq!(
        (&record["request_id"], &record["outcome"]["code"]),
        (&id.clone().into(), &"undo_conflict".into())
    );
    world.restart_recorder();
    tick_for_a_moment(&world);
    assert_eq!((world.count("not_taken_back"), page(&world).as_str()), (1, "a person's"));
    let waits = listed(&world);
    assert_eq!((waits.len(), waits[0].keep_until_unix_s, waits[0].request_id.as_str()), (1, 0, &*id));
    assert!(waits[0].not_taken_back.starts_with("undo_conflict: "), "{}", waits[0].not_taken_back);
    let status = world.operator(OPERATOR);
    let status =
        { status }.replies::<wire::OperatorStatus>("Operator/Status", &wire::OperatorStatusRequest {});
    let notes = status.unwrap().remove(0).notes;
    assert!(notes.iter().any(|note| note.contains("1 changes that nobody kept")), "{notes:?}");
    fs::write(world.path("site/a"), "new").unwrap();
    assert_eq!(undo(&mut world.operator(OPERATOR), &of(&id)).unwrap()[0].code, "");
    assert!(listed(&world).is_empty() && page(&world).is_empty());
}

#[test]
fn an_interrupted_change_without_an_inverse_is_listed() {
    let mut world = World::with(|at| {
        // What root knows of the order is lost while it runs.
        let script = program(at, "lost", &format!("rm -r {}/root/jobs/*", at.display()));
        let commands = vec![
            root::Command { reverse: "back".to_owned(), ..command("lost", &[&script]) },
            command("back", &[&script]),
        ];
        let lost =
            root::Rule { commands: strings(&["lost"]), keep_within_s: 60, ..rule("lost", &["command.run"]) };
        root::Rules { rules: vec![lost], commands, ..root::Rules::default() }
    });
    let answer = world.ask("Helper/CommandRun", &run("lost", &[]));
    assert_eq!(answer.completed().status(), Status::Interrupted);
    world.restart_recorder();
    let waits = listed(&world);
    assert_eq!(waits.len(), 1, "{:?}", world.log());
    assert!(waits[0].not_taken_back.contains("nothing takes this back"), "{}", waits[0].not_taken_back);
}

#[test]
fn a_deadline_survives_days_without_power_and_a_rotated_log() {
    let world = World::new(|at| rules(at, 3600));
    let (id, _) = write(&world, &mut world.connect(CLIENT_UID));
    world.recorder().stop(Duration::from_secs(10)).unwrap();
    let rotated = world.path("log/audit-000000000001.jsonl");
    fs::rename(world.path("log/audit.jsonl"), &rotated).unwrap();
    let mut host = world.hosts.recorder.clone();
    host.audit.now = || SystemTime::now() + Duration::from_secs(3 * 24 * 3600);
    "00000000-0000-4000-8000-000000000001".clone_into(&mut host.audit.boot_id);
    let next = std::sync::Arc::new(postern_audit::state::State::open(host).unwrap());
    let unkept = next.requests.unkept();
    assert_eq!((unkept.len(), &unkept[0].request_id), (1, &id));
    // Before a client is served.
    next.recover();
    eventually("it is taken back", || page(&world).is_empty());
}

#[test]
fn a_killed_recorder_takes_back_what_nobody_kept() {
    let world = World::new(|at| rules(at, 3));
    let processes = Processes::new(env!("CARGO_BIN_EXE_corridor-program"), world);
    write(&processes.world, &mut processes.connect(CLIENT_UID));
    processes.restart("recorder");
    assert!(processes.world.path("site/a").exists());
    eventually("it is taken back", || !processes.world.path("site/a").exists());
    let ends = || processes.log().iter().filter(|line| line.contains("\"event\":\"end\"")).count();
    eventually("its end is recorded", || ends() == 2);
    std::thread::sleep(Duration::from_millis(1200));
    assert_eq!(ends(), 2, "once");
}

#[test]
fn a_run_whose_time_is_over_is_not_kept_since_its_files_may_be_back() {
    let world = World::with(|at| loaded(at, 3600, 2));
    fs::write(world.path("site/a"), "old").unwrap();
    let (file, _) = write(&world, &mut world.connect(CLIENT_UID));
    let (_, run) = load(&world);
    assert_eq!((undone(&world, &file).0.as_str(), page(&world).as_str()), ("busy", "new"));
    let until = listed(&world).iter().find(|one| one.verb == "command.run").unwrap().keep_until_unix_s;
    eventually("the deadline is over", || unix_s() > until);
    assert_eq!(keep(&mut world.connect(CLIENT_UID), &run), "undo_gone");
    tick_until(&world, "it is taken back", || listed(&world).is_empty());
    assert_eq!(in_force(&world), "old");
}

/// The site, and a command that puts its page `a` in force unless the file `fail` is there.
fn loaded(at: &Path, file_s: u64, load_s: u64) -> root::Rules {
    let here = at.display();
    let script = program(at, "load", &format!("[ ! -e {here}/fail ] && cat {here}/site/a >{here}/in-force"));
    let load = root::Command {
        reverse: "load".to_owned(),
        loads: vec![format!("{here}/site")],
        ..command("load", &[&script])
    };
    let run =
        root::Rule { commands: strings(&["load"]), keep_within_s: load_s, ..rule("run", &["command.run"]) };
    let mut rules = rules(at, file_s);
    rules.push(run);
    root::Rules { rules, commands: vec![load], ..root::Rules::default() }
}

fn in_force(world: &World) -> String {
    fs::read_to_string(world.path("in-force")).unwrap_or_default()
}

fn load(world: &World) -> (String, String) {
    let request = run("load", &[]);
    let answer = world.ask("Helper/CommandRun", &request);
    (ended(&answer), request.meta.unwrap().request_id)
}

#[test]
fn who_keeps_a_run_that_loads_files_keeps_them_and_they_stay_as_they_are_until_then() {
    let mut world = World::with(|at| loaded(at, 3600, 3600));
    fs::write(world.path("site/a"), "old").unwrap();
    let request = write_request(&world.text("site/a"), b"new", "any");
    let written = world.ask("Helper/FileWrite", &request);
    assert_eq!(written.completed().loaded_by, ["load"]);
    let file = request.meta.unwrap().request_id;
    // Kept before it is in force it would be what a take-back of its load loads.
    assert_eq!(keep(&mut world.connect(CLIENT_UID), &file), "denied");
    let (status, run) = load(&world);
    assert_eq!((status.as_str(), in_force(&world).as_str()), ("Done", "new"));
    assert_eq!(keep(&mut world.connect(CLIENT_UID), &file), "denied");
    let beside = || world.ask("Helper/FileWrite", &write_request(&world.text("site/b"), b"b", "any"));
    let answer = beside();
    assert_eq!(answer.refused().code, "busy");
    assert!(answer.refused().message.contains(&run), "{}", answer.refused().message);
    assert_eq!(listed(&world).len(), 2);
    assert_eq!(keep(&mut world.connect(CLIENT_UID), &run), "Done");
    assert_eq!((listed(&world).len(), ended(&beside()).as_str()), (0, "Done"));
    world.restart_recorder();
    let waits = listed(&world);
    assert_eq!((waits.len(), waits[0].loaded_by.as_slice()), (1, ["load".to_owned()].as_slice()));
    assert!(waits[0].target.ends_with("/b"), "{}", waits[0].target);
}

#[test]
fn files_are_taken_back_with_the_run_that_loaded_them_and_before_it() {
    // The file's own deadline is the earlier one, and the later one.
    for (file_s, load_s) in [(1, 3), (3600, 2)] {
        let world = World::with(|at| loaded(at, file_s, load_s));
        fs::write(world.path("site/a"), "old").unwrap();
        let (_, file_until) = write(&world, &mut world.connect(CLIENT_UID));
        assert_eq!(load(&world).0, "Done");
        let until = listed(&world).iter().find(|one| one.verb == "command.run").unwrap().keep_until_unix_s;
        eventually("the first deadline is over", || unix_s() > file_until.min(until - 1));
        if file_s == 1 {
            tick_for_a_moment(&world);
            assert_eq!((page(&world).as_str(), world.count("begin")), ("new", 2), "it waits for its load");
        }
        tick_until(&world, "both are taken back", || listed(&world).is_empty());
        assert_eq!((page(&world).as_str(), in_force(&world).as_str()), ("old", "old"));
        let verbs = world.records("begin").into_iter().map(|record| record["args"]["verb"].clone());
        assert_eq!(verbs.skip(2).collect::<Vec<_>>(), ["file.write", "command.run"]);
    }
}

#[test]
fn after_days_without_power_files_are_taken_back_before_the_run_that_loaded_them() {
    let mut world = World::with(|at| loaded(at, 120, 150));
    fs::write(world.path("site/a"), "old").unwrap();
    write(&world, &mut world.connect(CLIENT_UID));
    assert_eq!(load(&world).0, "Done");
    world.hosts.recorder.audit.now = || SystemTime::now() + Duration::from_secs(3 * 24 * 3600);
    "00000000-0000-4000-8000-000000000001".clone_into(&mut world.hosts.recorder.audit.boot_id);
    world.restart_recorder();
    tick_until(&world, "both are taken back", || listed(&world).is_empty());
    assert_eq!((page(&world).as_str(), in_force(&world).as_str()), ("old", "old"));
}

#[test]
fn who_keeps_a_load_that_failed_keeps_no_file() {
    let world = World::with(|at| loaded(at, 2, 3600));
    fs::write(world.path("site/a"), "old").unwrap();
    write(&world, &mut world.connect(CLIENT_UID));
    fs::write(world.path("fail"), "").unwrap();
    let (status, run) = load(&world);
    assert_eq!(status, "command_failed");
    assert_eq!(keep(&mut world.connect(CLIENT_UID), &run), "Done");
    tick_until(&world, "the file is taken back", || listed(&world).is_empty());
    assert_eq!((page(&world).as_str(), world.count("not_taken_back")), ("old", 0));
}
