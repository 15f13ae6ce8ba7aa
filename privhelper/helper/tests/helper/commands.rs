//! Named commands against a fake systemd-run: what PID 1 would be told, and what is made of the job's files.

use crate::approvals::{OPERATOR, ask, show};
use crate::common::{CLIENT_UID, World, accept_whole, meta, new_id, rule, strings};
use postern_proto::root::v1 as root;
use postern_proto::v1::{self as wire, Mode, Status};
use prost::Message;
use root::{Decision, ParameterKind, Sandbox};
use std::os::unix::fs::PermissionsExt;

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

fn grow() -> root::Command {
    let key = root::Parameter { values: strings(&["*"]), ..parameter("key", ParameterKind::Text) };
    let parameters =
        vec![key, parameter("name", ParameterKind::Name), parameter("size", ParameterKind::Text)];
    let parameters = parameters.into_iter().map(|mut parameter| {
        parameter.values = strings(&["*"]);
        parameter
    });
    root::Command {
        parameters: parameters.collect(),
        reverse: "shrink".to_owned(),
        env: strings(&["SITE=a b"]),
        ..command("grow", &["/usr/bin/printf", "--", "{name}", "size={size}", "{key}={size}", "$literal"])
    }
}

/// A world in which these commands may all be run.
pub fn world(commands: Vec<root::Command>, decision: Decision) -> World {
    let mut world = World::new(|_| Vec::new());
    let rule = root::Rule {
        decision: decision.into(),
        commands: strings(&["*"]),
        approval_ttl_s: 60,
        approvers: 1,
        ..rule("run", &["command.run", "request.undo"])
    };
    let accepted = accept_whole(root::Rules { rules: vec![rule], commands, ..root::Rules::default() });
    std::fs::write(world.path("state/policy/accepted.pb"), accepted).unwrap();
    world.restart();
    world
}

pub fn run(name: &str, parameters: &[(&str, &str)]) -> wire::CommandRunRequest {
    let parameter = |(name, value): &(&str, &str)| wire::Parameter {
        name: (*name).to_owned(),
        value: (*value).to_owned(),
    };
    let parameters = parameters.iter().map(parameter).collect();
    wire::CommandRunRequest { meta: meta(Mode::Execute), name: name.to_owned(), parameters }
}

const GROWN: &[(&str, &str)] = &[("key", "a"), ("name", "data-1"), ("size", "1 M$x%i")];

/// What the unit leaves: these events, then this outcome.
pub fn leaves(world: &World, events: &[root::JobEvent], outcome: &root::JobOutcome) {
    let framed = events.iter().flat_map(|event| {
        let bytes = event.encode_to_vec();
        [u32::try_from(bytes.len()).unwrap().to_le_bytes().as_slice(), &bytes].concat()
    });
    std::fs::write(world.path("events"), framed.collect::<Vec<u8>>()).unwrap();
    std::fs::write(world.path("outcome"), outcome.encode_to_vec()).unwrap();
    let at = world.text("");
    world.systemctl(&format!(
        "for word in \"$@\"; do case $word in --unit=postern-command-*)\n\
         id=${{word#--unit=postern-command-}}; id=${{id%.service}}; jobs={at}/state/jobs/$id\n\
         cp $jobs/job.pb {at}/job.pb; for word in \"$@\"; do case $word in --property=StandardInput=file:*)\n\
         cp -p ${{word#--property=StandardInput=file:}} {at}/input;; esac; done; cp {at}/events $jobs/events; cp {at}/outcome $jobs/o; mv $jobs/o $jobs/outcome.pb;; esac; done"
    ));
}

fn output(stream: wire::Stream, data: &[u8], truncated: bool) -> root::JobEvent {
    let output = wire::Output { stream: stream.into(), data: data.to_vec(), truncated };
    root::JobEvent { output: Some(output), ..root::JobEvent::default() }
}

/// The properties of the unit that PID 1 was told to make.
fn properties(world: &World) -> Vec<String> {
    let calls = world.calls();
    let call = calls.iter().find(|call| call[0] == "--quiet").unwrap();
    let told = call.iter().take_while(|word| *word != "--");
    told.filter_map(|word| word.strip_prefix("--property=")).map(str::to_owned).collect()
}

#[test]
fn the_record_has_the_values_and_pid_1_is_told_none_of_them() {
    let world = world(vec![grow(), command("shrink", &["/usr/bin/printf"])], Decision::Allow);
    leaves(&world, &[], &root::JobOutcome::default());
    let answer = world.connect(CLIENT_UID).ask("Helper/CommandRun", &run("grow", GROWN));
    let completed = answer.completed();
    assert_eq!((completed.status(), completed.exit.unwrap().code), (Status::Done, 0));
    let job = root::Job::decode(std::fs::read(world.path("job.pb")).unwrap().as_slice()).unwrap();
    let record = job.command.clone().unwrap();
    let wanted = ["/usr/bin/printf", "--", "data-1", "size=1 M$x%i", "a=1 M$x%i", "$literal"];
    assert_eq!((job.kind(), record.argv.clone()), (root::JobKind::Command, strings(&wanted)));
    assert_eq!((record.env, record.output_bytes), (strings(&["SITE=a b"]), 65536));
    let step = completed.plan.clone().unwrap().command.unwrap();
    assert_eq!((step.name.as_str(), step.argv, step.user.as_str()), ("grow", record.argv, "nobody"));

    let calls = world.calls();
    let call = calls.iter().find(|call| call[0] == "--quiet").unwrap();
    let unit = format!("--unit=postern-command-{}.service", job.id);
    let head = ["--quiet", "--no-block", "--no-ask-password", "--collect", &unit, "--service-type=oneshot"];
    assert_eq!(call[..6], strings(&head));
    let dashes = call.iter().position(|word| word == "--").unwrap();
    assert_eq!(
        call[dashes..dashes + 4],
        strings(&["--", "/usr/libexec/postern/postern-job", "command", "ENV"])
    );
    assert!(call[6..dashes].iter().all(|word| word.starts_with("--property=")));
    assert!(!call[..dashes].iter().any(|word| word.contains("data-1") || word.contains(['$', '%'])));
    assert_eq!(std::fs::read_dir(world.path("state/jobs")).unwrap().count(), 0, "a job's directory is left");
    let log = world.log().join("\n");
    assert!(log.contains(r#""args":{"name":"grow","parameters":["key","name","size"]"#), "{log}");
    assert!(log.contains(r#""undo":{"kind":"command.run","name":"shrink"}"#), "{log}");
    assert!(log.contains(r#""argv":["/usr/bin/printf","--","data-1""#), "{log}");
}

#[test]
fn outputs_are_told_apart_and_a_failure_has_its_exit_code() {
    let world = world(vec![command("check", &["/usr/bin/printf"])], Decision::Allow);
    let outcome = root::JobOutcome {
        code: "command_failed".to_owned(),
        detail: "it ended with exit code 7".to_owned(),
        exit_code: 7,
        truncated: true,
        ..root::JobOutcome::default()
    };
    let big = vec![0xff; 16 * 1024];
    let mut events = vec![output(wire::Stream::Stdout, &big, false); 60];
    events.push(output(wire::Stream::Stderr, b"err", true));
    leaves(&world, &events, &outcome);
    let answer = world.connect(CLIENT_UID).ask("Helper/CommandRun", &run("check", &[]));
    let completed = answer.completed();
    assert_eq!((completed.status(), completed.code.as_str()), (Status::Failed, "command_failed"));
    assert_eq!(completed.message, "it ended with exit code 7");
    let exit = completed.exit.unwrap();
    assert_eq!((exit.code, exit.signal, exit.truncated), (7, 0, true));
    let outputs: Vec<&wire::Output> = answer
        .events
        .iter()
        .filter_map(|event| match &event.kind {
            Some(wire::event::Kind::Output(output)) => Some(output),
            _ => None,
        })
        .collect();
    assert_eq!(outputs.len(), 61, "more than one look's worth is all told");
    assert!(outputs[..60].iter().all(|output| output.stream() == wire::Stream::Stdout && output.data == big));
    assert_eq!(
        (outputs[60].stream(), outputs[60].data.as_slice()),
        (wire::Stream::Stderr, b"err".as_slice())
    );
    let log = world.log().join("\n");
    assert!(log.contains(r#""exit":{"code":7,"signal":0,"truncated":true}"#), "{log}");
}

#[test]
fn a_command_that_writes_its_own_outcome_has_no_word_of_the_helpers() {
    let world = world(vec![command("check", &["/usr/bin/printf"])], Decision::Allow);
    let mut channel = world.connect(CLIENT_UID);
    for (code, told) in
        [("timeout", "timeout"), ("audit_unavailable", "command_failed"), ("x", "command_failed")]
    {
        leaves(&world, &[], &root::JobOutcome { code: code.to_owned(), ..root::JobOutcome::default() });
        let answer = channel.ask("Helper/CommandRun", &run("check", &[]));
        assert_eq!((answer.completed().status(), answer.completed().code.as_str()), (Status::Failed, told));
    }
}

#[test]
fn no_value_is_an_option_or_chooses_the_program() {
    let world = world(
        vec![
            grow(),
            root::Command {
                parameters: grow().parameters,
                ..command("bad", &["/usr/bin/{name}", "{key}", "{size}"])
            },
            root::Command {
                parameters: grow().parameters,
                ..command("option", &["/usr/bin/printf", "--{key}", "--s={size}", "{name}"])
            },
        ],
        Decision::Allow,
    );
    leaves(&world, &[], &root::JobOutcome::default());
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
        assert_eq!(
            channel.ask("Helper/CommandRun", &run(name, GROWN)).refused().code,
            "unsupported",
            "{name}"
        );
    }
    assert!(world.calls().is_empty());
    assert_eq!(world.count("begin"), 0);
}

#[test]
fn a_program_that_others_may_change_is_not_run() {
    let mut world = World::with_programs();
    let make = |name: &str, mode: u32, text: &str| {
        let path = world.path(name);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(&path, text).unwrap();
        std::fs::set_permissions(&path, PermissionsExt::from_mode(mode)).unwrap();
    };
    make("open", 0o775, "#!/bin/sh\n");
    make("dir/tool", 0o755, "#!/bin/sh\n");
    std::fs::set_permissions(world.path("dir"), PermissionsExt::from_mode(0o777)).unwrap();
    std::os::unix::fs::symlink(world.path("open"), world.path("link")).unwrap();
    std::os::unix::fs::symlink("ring", world.path("ring")).unwrap();
    make("by-open", 0o755, &format!("#!{}\n", world.text("open")));
    make("by-script", 0o755, &format!("#!{}\n", world.text("good")));
    make("by-name", 0o755, "#! sh\n");
    make("good", 0o755, "#!/bin/sh -e\n");
    let names =
        ["open", "dir/tool", "link", "ring", "by-open", "by-script", "by-name", "dir", "gone", "good"];
    let row = |name: &&str| command(&name.replace('/', "-"), &[&world.text(name)]);
    let commands = names.iter().map(row).collect();
    let rules = vec![root::Rule { commands: strings(&["*"]), ..rule("run", &["command.run"]) }];
    let accepted = accept_whole(root::Rules { rules, commands, ..root::Rules::default() });
    std::fs::write(world.path("state/policy/accepted.pb"), accepted).unwrap();
    world.restart();
    let mut channel = world.connect(CLIENT_UID);
    let said: Vec<String> = names
        .iter()
        .take(9)
        .map(|name| {
            channel.ask("Helper/CommandRun", &run(&name.replace('/', "-"), &[])).refused().code.clone()
        })
        .collect();
    assert_eq!(said[..8], vec!["unsafe_path".to_owned(); 8]);
    assert_eq!(said[8], "not_found");
    leaves(&world, &[], &root::JobOutcome::default());
    assert_eq!(channel.ask("Helper/CommandRun", &run("good", &[])).completed().status(), Status::Done);
    assert_eq!(world.count("begin"), 1);
}

#[test]
fn a_path_stands_in_a_directory_that_root_alone_writes() {
    let mut world = World::with_programs();
    std::fs::create_dir(world.path("open")).unwrap();
    std::fs::set_permissions(world.path("open"), PermissionsExt::from_mode(0o1777)).unwrap();
    let file = root::Parameter {
        directories: vec![world.text("open"), world.text("site")],
        ..parameter("file", ParameterKind::Path)
    };
    let commands =
        vec![root::Command { parameters: vec![file], ..command("use", &["/usr/bin/printf", "{file}"]) }];
    let rules = vec![root::Rule { commands: strings(&["use"]), ..rule("run", &["command.run"]) }];
    let accepted = accept_whole(root::Rules { rules, commands, ..root::Rules::default() });
    std::fs::write(world.path("state/policy/accepted.pb"), accepted).unwrap();
    world.restart();
    leaves(&world, &[], &root::JobOutcome::default());
    let mut channel = world.connect(CLIENT_UID);
    let mut used = |path: String| channel.ask("Helper/CommandRun", &run("use", &[("file", &path)]));
    assert_eq!(used(world.text("open/x")).refused().code, "unsafe_path");
    assert_eq!(used(world.text("site/x")).completed().status(), Status::Done);
}

#[test]
fn each_row_is_its_own_unit() {
    let row = root::Command {
        user: "www-data".to_owned(),
        scratch: strings(&["/var/cache/x"]),
        capabilities: strings(&["CAP_CHOWN", "CAP_NET_BIND_SERVICE"]),
        write: strings(&["/srv/a", "/srv/b"]),
        network: true,
        timeout_s: 7,
        cwd: "/srv".to_owned(),
        ..command("row", &["/usr/bin/printf"])
    };
    let made = |row: &root::Command| {
        let world = world(vec![row.clone()], Decision::Allow);
        leaves(&world, &[], &root::JobOutcome::default());
        world.connect(CLIENT_UID).ask("Helper/CommandRun", &run("row", &[])).completed();
        properties(&world)
    };
    let strict = made(&row);
    let has = |unit: &[String], line: &str| unit.iter().any(|known| known == line);
    for line in [
        "User=www-data",
        "TimeoutStartSec=7s",
        "NoNewPrivileges=yes",
        "ProtectSystem=strict",
        "CapabilityBoundingSet=CAP_CHOWN CAP_NET_BIND_SERVICE",
        "AmbientCapabilities=CAP_CHOWN CAP_NET_BIND_SERVICE",
        "ReadWritePaths=/srv/a",
        "ReadWritePaths=/srv/b",
        "TemporaryFileSystem=/var/cache/x:mode=1777,size=64M",
        "InaccessiblePaths=-/run/postern",
        "TemporaryFileSystem=/dev/shm:mode=1777,size=64M,nosuid,nodev,noexec",
        "SystemCallFilter=~io_uring_setup io_uring_enter io_uring_register",
        // With network as without.
        "RestrictAddressFamilies=AF_INET AF_INET6 AF_NETLINK",
    ] {
        assert!(has(&strict, line), "{line}");
    }
    assert!(
        !strict.iter().any(|line| line.starts_with("PrivateNetwork=") || line.starts_with("DynamicUser="))
    );

    let bare = made(&command("row", &["/usr/bin/printf"]));
    for line in [
        "DynamicUser=yes",
        "CapabilityBoundingSet=",
        "AmbientCapabilities=",
        "PrivateNetwork=yes",
        "IPAddressDeny=any",
    ] {
        assert!(has(&bare, line), "{line}");
    }
    assert!(!bare.iter().any(|line| line.starts_with("ReadWritePaths=") || line.starts_with("User=")));

    // A validator looks: what is to be written or reached is not its own.
    let validator = made(&root::Command { sandbox: Sandbox::Validator.into(), ..row.clone() });
    assert!(
        has(&validator, "PrivateNetwork=yes")
            && has(&validator, "TemporaryFileSystem=/var/cache/x:mode=1777,size=64M")
    );
    assert!(!validator.iter().any(|line| line.starts_with("ReadWritePaths=")));

    let none = made(&root::Command {
        sandbox: Sandbox::None.into(),
        user: "root".to_owned(),
        capabilities: Vec::new(),
        ..row
    });
    let keys: Vec<&str> = none.iter().map(|line| line.split('=').next().unwrap()).collect();
    let common = [
        "Description",
        "StandardInput",
        "StandardOutput",
        "StandardError",
        "ExecStopPost",
        "TimeoutStartSec",
        "TimeoutStopSec",
        "UMask",
        "LimitCORE",
        "User",
    ];
    assert_eq!(keys, common);
}

#[test]
fn what_pid_1_would_read_as_something_else_is_refused() {
    let row = command("row", &["/usr/bin/printf"]);
    for refused in [
        root::Command { write: strings(&["/srv/a b"]), ..row.clone() },
        root::Command { write: strings(&["/srv/a:/b"]), ..row.clone() },
        root::Command { write: strings(&["-/srv"]), ..row.clone() },
        root::Command { scratch: strings(&["/srv/\"a\""]), ..row.clone() },
        root::Command { scratch: strings(&["/srv/$x"]), ..row.clone() },
        root::Command { capabilities: strings(&["CAP_ALL ~"]), ..row.clone() },
        root::Command { user: "0".to_owned(), ..row.clone() },
        root::Command { sandbox: Sandbox::Unspecified.into(), ..row.clone() },
    ] {
        let world = world(vec![refused.clone()], Decision::Allow);
        let answer = world.connect(CLIENT_UID).ask("Helper/CommandRun", &run("row", &[]));
        assert_eq!(answer.refused().code, "unsupported", "{refused:?}");
        assert!(world.calls().is_empty());
    }
}

#[test]
fn a_person_reads_every_argument_of_its_own() {
    let world = world(vec![grow()], Decision::Ask);
    world.systemctl("exit 0");
    let mut client = world.connect(CLIENT_UID);
    let given = [("key", "a"), ("name", "data-1"), ("size", "1\" argument \"x")];
    let (_, waiting) = ask(&mut client, "Helper/CommandRun", &run("grow", &given));
    assert_eq!(waiting.plan.unwrap().command.unwrap().argv[2], "data-1");
    let text = String::from_utf8(show(&mut world.operator(OPERATOR), &waiting.approval_id)).unwrap();
    let plan = text.split("\nplan\n").nth(1).unwrap();
    assert!(plan.starts_with(
        "run grow as nobody, sandbox strict, for 30 s at most\nargument \"/usr/bin/printf\"\nargument \"--\"\n\
         argument \"data-1\"\nargument \"size=1\\\" argument \\\"x\"\n"
    ), "{plan}");
    assert!(plan.contains("\nin \"/\"\n"), "{plan}");
    assert!(plan.contains("\ncommand shrink takes it back\n"));
    let row = root::Command {
        network: true,
        write: strings(&["/srv/data"]),
        capabilities: strings(&["CAP_CHOWN"]),
        env: strings(&["LD_PRELOAD=/srv/x.so"]),
        ..command("row", &["/usr/bin/printf"])
    };
    let world = self::world(vec![row], Decision::Ask);
    world.systemctl("exit 0");
    let mut client = world.connect(CLIENT_UID);
    let (_, waiting) = ask(&mut client, "Helper/CommandRun", &run("row", &[]));
    let text = String::from_utf8(show(&mut world.operator(OPERATOR), &waiting.approval_id)).unwrap();
    for line in [
        "may write \"/srv/data\"",
        "capability \"CAP_CHOWN\"",
        "environment \"LD_PRELOAD=/srv/x.so\"",
        "with the network",
    ] {
        assert!(text.contains(&format!("\n{line}\n")), "no {line} in {text}");
    }
}

#[test]
fn a_restarted_helper_picks_up_the_outcome_of_a_running_command() {
    let mut world = world(vec![grow()], Decision::Allow);
    world.systemctl("case $1 in show) [ -e gone ] || echo active;; esac");
    let id = new_id();
    let request = root::RequestRecord {
        uid: CLIENT_UID,
        request_id: id.clone(),
        digest: vec![0; 32],
        verb: "command.run".to_owned(),
        begun_unix_us: u64::try_from(world.host.unix().as_micros()).unwrap(),
        ..root::RequestRecord::default()
    };
    let job = world.path("state/jobs").join(postern_helper::job::id_of(CLIENT_UID, &id));
    std::fs::create_dir(&job).unwrap();
    let record = root::Job { kind: root::JobKind::Command.into(), ..root::Job::default() };
    std::fs::write(job.join("job.pb"), record.encode_to_vec()).unwrap();
    std::fs::write(world.path("state/requests/log"), request.encode_length_delimited_to_vec()).unwrap();
    world.restart();
    world.systemctl("exit 0");
    let outcome = root::JobOutcome { code: "timeout".to_owned(), ..root::JobOutcome::default() };
    std::fs::write(job.join("o"), outcome.encode_to_vec()).unwrap();
    std::fs::rename(job.join("o"), job.join("outcome.pb")).unwrap();
    let mut channel = world.connect(CLIENT_UID);
    let completed = loop {
        let asked = wire::RequestResultRequest { meta: meta(Mode::Execute), of: id.clone() };
        match &channel.ask("Helper/RequestResult", &asked).events.last().unwrap().kind {
            Some(wire::event::Kind::Completed(completed)) => break completed.clone(),
            _ => std::thread::sleep(std::time::Duration::from_millis(10)),
        }
    };
    assert_eq!((completed.status(), completed.code.as_str()), (Status::Failed, "timeout"));
    assert_eq!((world.count("end"), world.count("interrupted")), (1, 0));
}
