//! A command is taken back by the command that the policy names as its reverse.

use crate::approvals::{OPERATOR, approve, ask};
use crate::commands::{command, leaves, parameter, run, world};
use crate::common::{CLIENT_UID, World, meta, strings};
use crate::undo::{of, undo};
use nix::sys::stat::Mode as Permissions;
use nix::unistd::mkfifo;
use postern_proto::root::v1::{self as root, Decision, ParameterKind};
use postern_proto::v1::{self as wire, Mode, Status};
use prost::Message;

/// To open a port, and to close it; neither takes the other's extra parameter.
fn rows() -> Vec<root::Command> {
    let port = || parameter("port", ParameterKind::Port);
    vec![
        root::Command {
            parameters: vec![port()],
            reverse: "open".to_owned(),
            ..command("close", &["/usr/bin/printf", "close", "{port}"])
        },
        root::Command {
            parameters: vec![
                parameter("key", ParameterKind::Secret),
                parameter("note", ParameterKind::Name),
                port(),
            ],
            reverse: "close".to_owned(),
            ..command("open", &["/usr/bin/printf", "{port}", "{note}", "{key}"])
        },
        root::Command {
            parameters: vec![parameter("note", ParameterKind::Name)],
            ..command("plain", &["/usr/bin/printf", "{note}"])
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

/// What the log of ids has of a request.
fn kept(world: &World, id: &str) -> root::RequestRecord {
    let log = std::fs::read(world.path("state/requests/log")).unwrap();
    let mut rest = log.as_slice();
    let records = std::iter::from_fn(|| {
        (!rest.is_empty()).then(|| root::RequestRecord::decode_length_delimited(&mut rest).unwrap())
    });
    records.filter(|record| record.request_id == id).last().unwrap()
}

/// What the last command was given.
fn ran(world: &World) -> Vec<String> {
    let job = root::Job::decode(std::fs::read(world.path("job.pb")).unwrap().as_slice()).unwrap();
    job.command.unwrap().argv
}

#[test]
fn the_undo_of_a_command_is_its_reverse_with_the_same_values() {
    let mut world = world(rows(), Decision::Allow);
    leaves(&world, &[], &root::JobOutcome::default());
    let id = opened(&world, OPENED);
    // What was given outlives the helper, but the secret.
    world.restart();
    let mut channel = world.connect(CLIENT_UID);
    let looked = channel.ask("Helper/RequestUndo", &back(&id, Mode::Preview));
    let step = looked.completed().plan.clone().unwrap().command.unwrap();
    assert_eq!((step.name.as_str(), step.argv), ("close", strings(&["/usr/bin/printf", "close", "8080"])));
    assert_eq!(ran(&world)[1], "8080", "a look runs nothing");
    let undone = back(&id, Mode::Execute);
    let answer = channel.ask("Helper/RequestUndo", &undone);
    assert_eq!(answer.completed().status(), Status::Done);
    assert_eq!(ran(&world), ["/usr/bin/printf", "close", "8080"]);
    assert_eq!(world.count("begin"), 2);
    let log = world.log().join("\n");
    assert!(log.contains("\"verb\":\"request.undo\"") && !log.contains("hunter2"), "{log}");
    let again = channel.ask("Helper/RequestUndo", &back(&id, Mode::Execute));
    assert_eq!(again.refused().code, "undo_gone");
    // Its own reverse takes a secret, which nobody has kept.
    let redone = channel.ask("Helper/RequestUndo", &back(&undone.meta.unwrap().request_id, Mode::Execute));
    assert_eq!(redone.refused().code, "undo_gone");
    assert!(
        redone.refused().message.contains("note is missing")
            || redone.refused().message.contains("key is missing")
    );
}

#[test]
fn a_command_without_a_reverse_or_that_failed_has_no_undo() {
    let world = world(rows(), Decision::Allow);
    leaves(&world, &[], &root::JobOutcome::default());
    let mut channel = world.connect(CLIENT_UID);
    let request = run("plain", &[("note", "unkept")]);
    assert!(!channel.ask("Helper/CommandRun", &request).completed().undoable);
    let id = request.meta.unwrap().request_id;
    assert_eq!(channel.ask("Helper/RequestUndo", &back(&id, Mode::Execute)).refused().code, "unsupported");
    let call = kept(&world, &id).command.unwrap();
    assert_eq!((call.name.as_str(), call.parameters.len()), ("plain", 0), "nothing would ask for its values");
    leaves(
        &world,
        &[],
        &root::JobOutcome { code: "command_failed".to_owned(), ..root::JobOutcome::default() },
    );
    let request = run("open", OPENED);
    let failed = channel.ask("Helper/CommandRun", &request);
    assert_eq!((failed.completed().status(), failed.completed().undoable), (Status::Failed, false));
    let id = request.meta.unwrap().request_id;
    assert_eq!(channel.ask("Helper/RequestUndo", &back(&id, Mode::Execute)).refused().code, "undo_gone");
}

#[test]
fn what_was_run_later_with_the_same_values_is_undone_first() {
    let world = world(rows(), Decision::Allow);
    leaves(&world, &[], &root::JobOutcome::default());
    let first = opened(&world, OPENED);
    let second = opened(&world, OPENED);
    let other = opened(&world, &[("key", "hunter2"), ("note", "web"), ("port", "9090")]);
    let mut channel = world.connect(CLIENT_UID);
    let refused = channel.ask("Helper/RequestUndo", &back(&first, Mode::Execute));
    assert_eq!(refused.refused().code, "undo_conflict");
    assert!(refused.refused().message.contains(&second), "{:?}", refused.refused());
    assert_eq!(
        channel.ask("Helper/RequestUndo", &back(&second, Mode::Execute)).completed().status(),
        Status::Done
    );
    // Closed by hand since.
    assert_eq!(
        channel.ask("Helper/CommandRun", &run("close", &[("port", "9090")])).completed().status(),
        Status::Done
    );
    assert_eq!(
        channel.ask("Helper/RequestUndo", &back(&other, Mode::Execute)).refused().code,
        "undo_conflict"
    );
    assert_eq!(
        channel.ask("Helper/RequestUndo", &back(&first, Mode::Execute)).completed().status(),
        Status::Done
    );
}

#[test]
fn a_reverse_that_failed_is_tried_again_and_two_undos_at_once_run_it_once() {
    let world = world(rows(), Decision::Allow);
    leaves(&world, &[], &root::JobOutcome::default());
    let id = opened(&world, OPENED);
    let mut channel = world.connect(CLIENT_UID);
    let code = "command_failed".to_owned();
    leaves(&world, &[], &root::JobOutcome { code, ..root::JobOutcome::default() });
    let failed = channel.ask("Helper/RequestUndo", &back(&id, Mode::Execute));
    assert_eq!(failed.completed().status(), Status::Failed);

    leaves(&world, &[], &root::JobOutcome::default());
    let script = std::fs::read_to_string(world.path("systemctl")).unwrap();
    for gate in ["began", "go"] {
        mkfifo(&world.path(gate), Permissions::S_IRUSR | Permissions::S_IWUSR).unwrap();
    }
    let (began, go) = (world.text("began"), world.text("go"));
    let gates = format!("case \"$*\" in *--unit=postern-command-*) echo > {began}; read x < {go};; esac");
    world.systemctl(&format!("{gates}\n{}", script.split_once("calls\n").unwrap().1));
    let stream = channel.send("Helper/RequestUndo", &back(&id, Mode::Execute).encode_to_vec());
    std::fs::read(began).unwrap();
    let other = world.connect(CLIENT_UID).ask("Helper/RequestUndo", &back(&id, Mode::Execute));
    assert_eq!(other.refused().code, "undo_gone");
    assert!(kept(&world, &id).undone, "a helper that is started now knows it too");
    std::fs::write(go, "go\n").unwrap();
    assert_eq!(channel.answer(stream).completed().status(), Status::Done);
    assert_eq!(world.count("begin"), 3, "opened, failed, closed");
}

#[test]
fn what_a_person_approved_is_taken_back_only_if_a_person_agrees() {
    let world = world(rows(), Decision::Ask);
    leaves(&world, &[], &root::JobOutcome::default());
    let (mut client, mut operator) = (world.connect(CLIENT_UID), world.operator(OPERATOR));
    let request = run("open", OPENED);
    let (stream, waiting) = ask(&mut client, "Helper/CommandRun", &request);
    approve(&mut operator, &waiting.approval_id).unwrap();
    assert_eq!(client.answer(stream).completed().status(), Status::Done);
    let id = request.meta.unwrap().request_id;
    let (stream, waiting) = ask(&mut client, "Helper/RequestUndo", &back(&id, Mode::Execute));
    assert_eq!(ran(&world)[1], "8080");
    approve(&mut operator, &waiting.approval_id).unwrap();
    assert_eq!(client.answer(stream).completed().status(), Status::Done);
    assert_eq!(ran(&world)[1], "close");
}

#[test]
fn the_reverse_must_be_granted_as_such() {
    let mut world = world(rows(), Decision::Allow);
    leaves(&world, &[], &root::JobOutcome::default());
    let id = opened(&world, OPENED);
    let rule = root::Rule {
        commands: strings(&["open"]),
        ..crate::common::rule("run", &["command.run", "request.undo"])
    };
    let rules = root::Rules { rules: vec![rule], commands: rows(), ..root::Rules::default() };
    std::fs::write(world.path("state/policy/accepted.pb"), crate::common::accept_whole(rules)).unwrap();
    world.restart();
    let answer = world.connect(CLIENT_UID).ask("Helper/RequestUndo", &back(&id, Mode::Execute));
    assert_eq!(answer.refused().code, "no_grant");
    assert_eq!(ran(&world)[1], "8080");
    // An operator needs no grant.
    let told = undo(&mut world.operator(OPERATOR), &of(&id)).unwrap();
    assert_eq!((told[0].code.as_str(), told[0].target.as_str()), ("", "open"));
    assert_eq!(ran(&world), ["/usr/bin/printf", "close", "8080"]);
    let mut operator = world.operator(OPERATOR);
    assert_eq!(undo(&mut operator, &of(&id)).unwrap()[0].code, "undo_gone");
}
