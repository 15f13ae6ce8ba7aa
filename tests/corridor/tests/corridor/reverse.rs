//! A command is undone by the command that the policy names as its reverse.

use crate::approvals::ask;
use crate::commands::{command, parameter, program, run, world};
use crate::undo::{of, undo};
use postern_corridor::{CLIENT_UID, OPERATOR, World, accepted_whole, eventually, meta, rule, strings};
use postern_proto::root::v1::{self as root, Decision, ParameterKind};
use postern_proto::v1::{self as wire, Mode, Status};
use prost::Message;
use std::fs;
use std::path::Path;

/// To open a port, and to close it; neither takes the other's extra parameter. Each run adds a line to the file `ran`.
fn rows(at: &Path) -> Vec<root::Command> {
    let here = at.display();
    let script = format!(
        "echo $1 $2 >>{here}/ran; while [ -e {here}/hold ]; do sleep 0.01; done; [ ! -e {here}/fail ]"
    );
    let program = program(at, "port", &script);
    let port = || parameter("port", ParameterKind::Port);
    vec![
        root::Command {
            parameters: vec![port()],
            reverse: "open".to_owned(),
            ..command("close", &[&program, "close", "{port}"])
        },
        root::Command {
            parameters: vec![
                parameter("key", ParameterKind::Secret),
                parameter("note", ParameterKind::Name),
                port(),
            ],
            reverse: "close".to_owned(),
            ..command("open", &[&program, "open", "{port}", "{note}", "{key}"])
        },
        root::Command {
            parameters: vec![parameter("note", ParameterKind::Name)],
            ..command("plain", &[&program, "plain", "{note}"])
        },
    ]
}

const OPENED: &[(&str, &str)] = &[("key", "hunter2"), ("note", "web"), ("port", "8080")];

fn opened(world: &World, given: &[(&str, &str)]) -> String {
    let request = run("open", given);
    let answer = world.connect(CLIENT_UID).ask("Helper/CommandRun", &request);
    let completed = answer.completed();
    assert_eq!((completed.status(), completed.undoable), (Status::Done, true));
    request.meta.unwrap().request_id
}

fn back(id: &str, mode: Mode) -> wire::RequestUndoRequest {
    wire::RequestUndoRequest { meta: meta(mode), of: id.to_owned() }
}

/// Returns the commands that were run, in order.
fn ran(world: &World) -> Vec<String> {
    fs::read_to_string(world.path("ran")).unwrap_or_default().lines().map(str::to_owned).collect()
}

#[test]
fn undoes_a_command_by_its_reverse_with_the_same_values() {
    let mut world = world(rows, Decision::Allow);
    let id = opened(&world, OPENED);
    // The values outlive the recorder, but the secret.
    world.restart();
    let mut channel = world.connect(CLIENT_UID);
    let previewed = channel.ask("Helper/RequestUndo", &back(&id, Mode::Preview));
    let step = previewed.completed().plan.clone().unwrap().command.unwrap();
    assert_eq!((step.name.as_str(), &step.argv[1..]), ("close", &strings(&["close", "8080"])[..]));
    assert_eq!(ran(&world), ["open 8080"], "a preview runs nothing");
    let undone = back(&id, Mode::Execute);
    let answer = channel.ask("Helper/RequestUndo", &undone);
    assert_eq!(answer.completed().status(), Status::Done);
    assert_eq!(ran(&world), ["open 8080", "close 8080"]);
    assert_eq!(world.count("begin"), 2);
    let log = world.log().join("\n");
    assert!(log.contains("\"verb\":\"request.undo\"") && !log.contains("hunter2"), "{log}");
    let again = channel.ask("Helper/RequestUndo", &back(&id, Mode::Execute));
    assert_eq!(again.refused().code, "undo_gone");
    // Its own reverse takes a secret, which nobody has kept.
    assert!(!answer.completed().undoable);
    let redone = channel.ask("Helper/RequestUndo", &back(&undone.meta.unwrap().request_id, Mode::Execute));
    assert_eq!(redone.refused().code, "undo_gone");
}

#[test]
fn a_command_that_has_no_reverse_or_failed_has_no_undo() {
    let world = world(rows, Decision::Allow);
    let mut channel = world.connect(CLIENT_UID);
    let request = run("plain", &[("note", "unkept")]);
    assert!(!channel.ask("Helper/CommandRun", &request).completed().undoable);
    let id = request.meta.unwrap().request_id;
    assert_eq!(channel.ask("Helper/RequestUndo", &back(&id, Mode::Execute)).refused().code, "undo_gone");
    fs::write(world.path("fail"), "").unwrap();
    let request = run("open", OPENED);
    let failed = channel.ask("Helper/CommandRun", &request);
    assert_eq!((failed.completed().status(), failed.completed().undoable), (Status::Failed, false));
    let id = request.meta.unwrap().request_id;
    assert_eq!(channel.ask("Helper/RequestUndo", &back(&id, Mode::Execute)).refused().code, "undo_gone");
}

#[test]
fn undoes_first_what_was_run_later_with_the_same_values() {
    let world = world(rows, Decision::Allow);
    let first = opened(&world, OPENED);
    let second = opened(&world, OPENED);
    let other = opened(&world, &[("key", "hunter2"), ("note", "web"), ("port", "9090")]);
    let mut channel = world.connect(CLIENT_UID);
    let mut undone = |id: &str| channel.ask("Helper/RequestUndo", &back(id, Mode::Execute));
    let refused = undone(&first);
    assert_eq!(refused.refused().code, "undo_conflict");
    assert!(refused.refused().message.contains(&second), "{:?}", refused.refused());
    assert_eq!(undone(&second).completed().status(), Status::Done);
    assert_eq!(undone(&other).completed().status(), Status::Done);
    assert_eq!(undone(&first).completed().status(), Status::Done);
}

#[test]
fn a_failed_undo_may_be_tried_again_and_two_at_once_run_the_reverse_once() {
    let world = world(rows, Decision::Allow);
    let id = opened(&world, OPENED);
    let mut channel = world.connect(CLIENT_UID);
    fs::write(world.path("fail"), "").unwrap();
    let failed = channel.ask("Helper/RequestUndo", &back(&id, Mode::Execute));
    assert_eq!(failed.completed().status(), Status::Failed);
    fs::remove_file(world.path("fail")).unwrap();
    fs::write(world.path("hold"), "").unwrap();
    let stream = channel.send("Helper/RequestUndo", &back(&id, Mode::Execute).encode_to_vec());
    eventually("the reverse runs", || ran(&world).len() == 3);
    let other = world.connect(CLIENT_UID).ask("Helper/RequestUndo", &back(&id, Mode::Execute));
    assert_eq!(other.refused().code, "undo_gone");
    let by_operator = undo(&mut world.operator(OPERATOR), &of(&id)).unwrap();
    assert_eq!(by_operator[0].code, "undo_gone");
    fs::remove_file(world.path("hold")).unwrap();
    assert_eq!(channel.answer(stream).completed().status(), Status::Done);
    assert_eq!(ran(&world), ["open 8080", "close 8080", "close 8080"]);
    assert_eq!(world.count("begin"), 3, "opened, failed, closed");
}

#[test]
fn asks_again_before_it_undoes_a_command_that_a_person_approved() {
    let world = world(rows, Decision::Ask);
    let (mut client, mut operator) = (world.connect(CLIENT_UID), world.operator(OPERATOR));
    let request = run("open", OPENED);
    let (stream, waiting) = ask(&mut client, "Helper/CommandRun", &request);
    operator.approve(&waiting.approval_id).unwrap();
    assert_eq!(client.answer(stream).completed().status(), Status::Done);
    let id = request.meta.unwrap().request_id;
    let (stream, waiting) = ask(&mut client, "Helper/RequestUndo", &back(&id, Mode::Execute));
    assert_eq!(ran(&world), ["open 8080"]);
    operator.approve(&waiting.approval_id).unwrap();
    assert_eq!(client.answer(stream).completed().status(), Status::Done);
    assert_eq!(ran(&world), ["open 8080", "close 8080"]);
}

#[test]
fn the_reverse_must_be_granted_as_such_and_an_operator_needs_no_grant() {
    let world = world(rows, Decision::Allow);
    let id = opened(&world, OPENED);
    let rule = root::Rule { commands: strings(&["open"]), ..rule("run", &["command.run", "request.undo"]) };
    let rules = root::Rules { rules: vec![rule], commands: rows(&world.path("")), ..root::Rules::default() };
    world.replace_policy(&accepted_whole(rules));
    let answer = world.connect(CLIENT_UID).ask("Helper/RequestUndo", &back(&id, Mode::Execute));
    assert_eq!(answer.refused().code, "no_grant");
    assert_eq!(ran(&world), ["open 8080"]);
    let told = undo(&mut world.operator(OPERATOR), &of(&id)).unwrap();
    assert_eq!((told[0].code.as_str(), told[0].target.as_str()), ("", "open"), "{told:?}");
    assert_eq!(ran(&world), ["open 8080", "close 8080"]);
    let mut operator = world.operator(OPERATOR);
    assert_eq!(undo(&mut operator, &of(&id)).unwrap()[0].code, "undo_gone");
}
