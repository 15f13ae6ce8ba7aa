//! Named commands run as their row says, with the values of the request and nothing else of the client's.

use crate::approvals::ask;
use postern_corridor::{CLIENT_UID, OPERATOR, World, eventually, meta, rule, strings};
use postern_proto::root::v1 as root;
use postern_proto::v1::{self as wire, Mode, Status};
use prost::Message;
use root::{Decision, ParameterKind, Sandbox};
use std::os::unix::fs::PermissionsExt;
use std::path::Path;

pub fn parameter(name: &str, kind: ParameterKind) -> root::Parameter {
    let (directories, files) = (strings(&["/etc/ssl"]), strings(&["*"]));
    root::Parameter { name: name.to_owned(), kind: kind.into(), directories, files, ..Default::default() }
}

pub fn command(name: &str, argv: &[&str]) -> root::Command {
    root::Command {
        name: name.to_owned(),
        argv: strings(argv),
        user: "nobody".to_owned(),
        sandbox: Sandbox::Strict.into(),
        cwd: "/".to_owned(),
        timeout_s: 30,
        output_bytes: 65536,
        ..root::Command::default()
    }
}

/// Installs a program that is a script, and returns its path.
pub fn program(at: &Path, name: &str, body: &str) -> String {
    let path = at.join(name);
    std::fs::write(&path, format!("#!/bin/sh\n{body}\n")).unwrap();
    std::fs::set_permissions(&path, PermissionsExt::from_mode(0o755)).unwrap();
    path.to_str().unwrap().to_owned()
}

/// A world in which these commands may all be run.
pub fn world(commands: impl FnOnce(&Path) -> Vec<root::Command>, decision: Decision) -> World {
    let rule = root::Rule {
        decision: decision.into(),
        commands: strings(&["*"]),
        approval_ttl_s: 60,
        approvers: 1,
        ..rule("run", &["command.run", "request.undo"])
    };
    World::with(|at| root::Rules { rules: vec![rule], commands: commands(at), ..root::Rules::default() })
}

pub fn run(name: &str, parameters: &[(&str, &str)]) -> wire::CommandRunRequest {
    let parameter = |(name, value): &(&str, &str)| wire::Parameter {
        name: (*name).to_owned(),
        value: (*value).to_owned(),
    };
    let parameters = parameters.iter().map(parameter).collect();
    wire::CommandRunRequest { meta: meta(Mode::Execute), name: name.to_owned(), parameters }
}

/// A command that prints each of its arguments and one variable of its environment.
fn grow(at: &Path) -> root::Command {
    let show = program(at, "show", "printf '%s\\n' \"$@\" \"$SITE\"");
    let any = |name, kind| root::Parameter { values: strings(&["*"]), ..parameter(name, kind) };
    root::Command {
        parameters: vec![
            any("key", ParameterKind::Text),
            any("name", ParameterKind::Name),
            any("size", ParameterKind::Text),
        ],
        reverse: "shrink".to_owned(),
        env: strings(&["SITE=a b"]),
        ..command("grow", &[&show, "--", "{name}", "size={size}", "{key}={size}", "$literal"])
    }
}

const GROWN: &[(&str, &str)] = &[("key", "a"), ("name", "data-1"), ("size", "1 M$x%i")];

#[test]
fn runs_the_row_with_the_values_and_tells_pid_1_none_of_them() {
    let world = world(|at| vec![grow(at), command("shrink", &["/usr/bin/printf"])], Decision::Allow);
    let answer = world.connect(CLIENT_UID).ask("Helper/CommandRun", &run("grow", GROWN));
    let completed = answer.completed();
    assert_eq!((completed.status(), completed.exit.unwrap().code), (Status::Done, 0));
    let output = String::from_utf8(answer.content()).unwrap();
    assert_eq!(output, "--\ndata-1\nsize=1 M$x%i\na=1 M$x%i\n$literal\na b\n");
    let step = completed.plan.clone().unwrap().command.unwrap();
    assert_eq!((step.name.as_str(), step.user.as_str()), ("grow", "nobody"));
    assert_eq!(step.argv[1..], strings(&["--", "data-1", "size=1 M$x%i", "a=1 M$x%i", "$literal"]));

    let calls = world.calls();
    let start = calls.iter().find(|call| call[0] == "start").unwrap();
    assert_eq!(start[..4], strings(&["start", "--no-ask-password", "--quiet", "--"]));
    assert!(start[4].starts_with("postern-command-grow-") && start[5] == "ENV", "{start:?}");
    let told = calls.concat().join(" ");
    assert!(!told.contains("data-1") && !told.contains("1 M"), "{told}");
    eventually("nothing of the job is left", || {
        std::fs::read_dir(world.path("root/jobs")).unwrap().count() == 0
            && std::fs::read_dir(world.path("jobs")).unwrap().count() == 0
    });
    let log = world.log().join("\n");
    assert!(log.contains(r#""args":{"name":"grow","parameters":["key","name","size"]"#), "{log}");
    assert!(log.contains(r#""undo":{"kind":"command.run""#), "{log}");
    assert!(log.contains(r#""--","data-1""#), "{log}");
}

#[test]
fn outputs_are_told_apart_and_a_failure_has_its_exit_code() {
    let script =
        "i=0; while [ $i -lt 60 ]; do head -c 1024 /dev/zero; i=$((i+1)); done; echo err >&2; exit 7";
    let world = world(
        |at| {
            let check = program(at, "check", script);
            vec![root::Command { output_bytes: 50 * 1024, ..command("check", &[&check]) }]
        },
        Decision::Allow,
    );
    let answer = world.connect(CLIENT_UID).ask("Helper/CommandRun", &run("check", &[]));
    let completed = answer.completed();
    assert_eq!((completed.status(), completed.code.as_str()), (Status::Failed, "command_failed"));
    assert_eq!(completed.message, "it ended with exit code 7");
    let exit = completed.exit.unwrap();
    assert_eq!((exit.code, exit.signal, exit.truncated), (7, 0, true));
    let of = |stream: wire::Stream| {
        let outputs = answer.events.iter().filter_map(|event| match &event.kind {
            Some(wire::event::Kind::Output(output)) if output.stream() == stream => Some(output.data.clone()),
            _ => None,
        });
        outputs.collect::<Vec<_>>().concat()
    };
    assert_eq!((of(wire::Stream::Stdout).len(), of(wire::Stream::Stderr)), (50 * 1024, b"err\n".to_vec()));
    let log = world.log().join("\n");
    assert!(log.contains(r#""exit":{"code":7,"signal":0,"truncated":true}"#), "{log}");
}

#[test]
fn no_value_is_an_option_or_chooses_the_program() {
    let world = world(
        |at| {
            let parameters = grow(at).parameters;
            vec![
                grow(at),
                root::Command {
                    parameters: parameters.clone(),
                    ..command("bad", &["/usr/bin/{name}", "{key}", "{size}"])
                },
                root::Command {
                    parameters,
                    ..command("option", &["/usr/bin/printf", "--{key}", "--s={size}", "{name}"])
                },
            ]
        },
        Decision::Allow,
    );
    let mut channel = world.connect(CLIENT_UID);
    for value in ["-x", "--force", "@file", "+x", "", "a\nb", "\u{202e}x"] {
        for name in ["key", "size"] {
            let given: Vec<(&str, &str)> =
                GROWN.iter().map(|(known, old)| (*known, if *known == name { value } else { old })).collect();
            let answer = channel.ask("Helper/CommandRun", &run("grow", &given));
            assert_eq!(answer.refused().code, "invalid_argument", "{name} {value:?}");
        }
    }
    for name in ["bad", "option"] {
        let answer = channel.ask("Helper/CommandRun", &run(name, GROWN));
        assert_eq!(answer.refused().code, "unsupported", "{name}");
    }
    assert!(world.calls().is_empty());
    assert_eq!(world.count("begin"), 0);
}

#[test]
fn refuses_a_program_that_others_may_change() {
    let names =
        ["open", "dir/tool", "link", "ring", "by-open", "by-script", "by-name", "dir", "gone", "good"];
    let world = world(
        |at| {
            let make = |name: &str, mode: u32, text: &str| {
                let path = at.join(name);
                std::fs::create_dir_all(path.parent().unwrap()).unwrap();
                std::fs::write(&path, text).unwrap();
                std::fs::set_permissions(&path, PermissionsExt::from_mode(mode)).unwrap();
            };
            let text = |name: &str| at.join(name).to_str().unwrap().to_owned();
            make("open", 0o775, "#!/bin/sh\n");
            make("dir/tool", 0o755, "#!/bin/sh\n");
            std::fs::set_permissions(at.join("dir"), PermissionsExt::from_mode(0o777)).unwrap();
            std::os::unix::fs::symlink(at.join("open"), at.join("link")).unwrap();
            std::os::unix::fs::symlink("ring", at.join("ring")).unwrap();
            make("by-open", 0o755, &format!("#!{}\n", text("open")));
            make("by-script", 0o755, &format!("#!{}\n", text("good")));
            make("by-name", 0o755, "#! sh\n");
            make("good", 0o755, "#!/bin/sh -e\n");
            names.iter().map(|name| command(&name.replace('/', "-"), &[&text(name)])).collect()
        },
        Decision::Allow,
    );
    let mut channel = world.connect(CLIENT_UID);
    let mut ran = |name: &str| {
        let answer = channel.ask("Helper/CommandRun", &run(&name.replace('/', "-"), &[]));
        (answer.completed().status(), answer.completed().code.clone())
    };
    for name in &names[..8] {
        assert_eq!(ran(name), (Status::Failed, "unsafe_path".to_owned()), "{name}");
    }
    assert_eq!(ran("gone").1, "not_found");
    assert_eq!(ran("good").0, Status::Done);
    assert_eq!(world.calls().iter().filter(|call| call[0] == "start").count(), 1);
}

#[test]
fn a_path_must_be_in_a_directory_that_root_alone_writes() {
    let world = world(
        |at| {
            std::fs::create_dir(at.join("open")).unwrap();
            std::fs::set_permissions(at.join("open"), PermissionsExt::from_mode(0o1777)).unwrap();
            let directories = ["open", "site"].map(|name| at.join(name).to_str().unwrap().to_owned());
            let file = root::Parameter {
                directories: directories.to_vec(),
                ..parameter("file", ParameterKind::Path)
            };
            vec![root::Command { parameters: vec![file], ..command("use", &["/usr/bin/printf", "{file}"]) }]
        },
        Decision::Allow,
    );
    let mut channel = world.connect(CLIENT_UID);
    let mut used = |path: String| {
        let answer = channel.ask("Helper/CommandRun", &run("use", &[("file", &path)]));
        answer.completed().code.clone()
    };
    assert_eq!(used(world.text("open/x")), "unsafe_path");
    assert_eq!(used(world.text("site/x")), "");
}

#[test]
fn a_person_sees_every_argument_apart() {
    let world = world(|at| vec![grow(at)], Decision::Ask);
    let mut client = world.connect(CLIENT_UID);
    let given = [("key", "a"), ("name", "data-1"), ("size", "1\" argument \"x")];
    let (stream, waiting) = ask(&mut client, "Helper/CommandRun", &run("grow", &given));
    assert_eq!(waiting.plan.unwrap().command.unwrap().argv[2], "data-1");
    let (shown, _) = world.operator(OPERATOR).show(&waiting.approval_id);
    let order = root::Order::decode(shown.order.as_slice()).unwrap();
    let asked = wire::CommandRunRequest::decode(order.body.as_slice()).unwrap();
    assert_eq!(asked.parameters, run("grow", &given).parameters);
    world.operator(OPERATOR).approve(&waiting.approval_id).unwrap();
    let answer = client.answer(stream);
    assert_eq!(answer.completed().status(), Status::Done);
    assert!(String::from_utf8(answer.content()).unwrap().contains("\nsize=1\" argument \"x\n"));
}

#[test]
fn a_restarted_recorder_learns_the_outcome_of_a_running_command() {
    let mut world = world(
        |at| {
            let script = format!("while [ ! -e {}/go ]; do sleep 0.01; done; exit 3", at.display());
            vec![command("slow", &[&program(at, "slow", &script)])]
        },
        Decision::Allow,
    );
    let request = run("slow", &[]);
    let mut client = world.connect(CLIENT_UID);
    let stream = client.send("Helper/CommandRun", &request.encode_to_vec());
    eventually("it runs", || std::fs::read_dir(world.path("root/jobs")).is_ok_and(|jobs| jobs.count() == 1));
    eventually("it is recorded", || world.count("begin") == 1);
    world.cut_recorder();
    std::fs::write(world.path("go"), "").unwrap();
    let completed = client.answer(stream).completed().clone();
    assert_eq!((completed.status(), completed.code.as_str()), (Status::Failed, "command_failed"));
    assert_eq!(completed.exit.unwrap().code, 3);
    let asked =
        wire::RequestResultRequest { meta: meta(Mode::Execute), of: request.meta.unwrap().request_id };
    let result = client.ask("Helper/RequestResult", &asked);
    assert_eq!(result.completed().exit.unwrap().code, 3);
    assert_eq!((world.count("begin"), world.count("end"), world.count("interrupted")), (1, 1, 0));
}
