//! Secrets of named commands: the program is given them, and they stand nowhere else.

use crate::approvals::{OPERATOR, approve, ask, show};
use crate::commands::{command, leaves, parameter, run, world};
use crate::common::{CLIENT_UID, World, meta};
use postern_policy::types::Digest;
use postern_proto::root::v1::{self as root, Decision, ParameterKind};
use postern_proto::v1::{self as wire, Mode, Status};
use prost::Message;
use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;

const WEAK: &str = "-hunter2";
const STRONG: &str = "-----BEGIN KEY-----\nwxyz\n+=@\u{202e}";

/// A command with two of them.
fn enrol() -> root::Command {
    let secret = |name| parameter(name, ParameterKind::Secret);
    root::Command {
        parameters: vec![parameter("host", ParameterKind::Name), secret("key"), secret("password")],
        ..command("enrol", &["/usr/bin/printf", "{host}", "{key}", "pass={password}", "{host}={key}"])
    }
}

const GIVEN: &[(&str, &str)] = &[("host", "db-1"), ("key", STRONG), ("password", WEAK)];

const SHOWN: [&str; 5] = ["/usr/bin/printf", "db-1", "(secret)", "pass=(secret)", "db-1=(secret)"];

/// The files below that hold one of the two, but what PID 1 opened.
fn holding(directory: &Path) -> Vec<String> {
    let mut found = Vec::new();
    for entry in fs::read_dir(directory).unwrap() {
        let path = entry.unwrap().path();
        let kind = fs::symlink_metadata(&path).unwrap().file_type();
        if kind.is_dir() {
            found.extend(holding(&path));
        } else if kind.is_file() && !path.ends_with("input") {
            let text = fs::read(&path).unwrap();
            let has = |value: &str| text.windows(value.len()).any(|part| part == value.as_bytes());
            if has(WEAK) || has("wxyz") {
                found.push(path.to_string_lossy().into_owned());
            }
        }
    }
    found
}

fn input(world: &World) -> root::CommandJob {
    let job = root::Job::decode(fs::read(world.path("input")).unwrap().as_slice()).unwrap();
    job.command.unwrap()
}

#[test]
fn a_secret_is_told_to_the_program_alone() {
    let world = world(vec![enrol()], Decision::Allow);
    leaves(&world, &[], &root::JobOutcome::default());
    let request = run("enrol", GIVEN);
    let mut channel = world.connect(CLIENT_UID);
    let answer = channel.ask("Helper/CommandRun", &request);
    assert_eq!(answer.completed().status(), Status::Done);
    let told = input(&world);
    let secret = |place, value: &str| root::Secret { place, value: value.as_bytes().to_vec() };
    assert_eq!(told.argv, SHOWN);
    assert_eq!(told.secrets, [secret(2, STRONG), secret(3, WEAK), secret(4, STRONG)]);
    let opened = fs::metadata(world.path("input")).unwrap().permissions().mode();
    assert_eq!(opened & 0o777, 0o600, "for root alone");

    let record = root::Job::decode(fs::read(world.path("job.pb")).unwrap().as_slice()).unwrap();
    assert_eq!(record.command.unwrap(), root::CommandJob { secrets: Vec::new(), ..told });
    assert_eq!(holding(&world.path("")), Vec::<String>::new(), "on the disk, in the log, told to PID 1");
    let left = fs::read_dir(world.path("run")).unwrap();
    assert_eq!(left.filter(|file| file.as_ref().unwrap().path() != world.path("run/seal")).count(), 0);
    let events = format!("{:?}", answer.events);
    assert!(events.contains("pass=(secret)"), "{events}");
    assert!(!events.contains(WEAK) && !events.contains("wxyz"), "{events}");
    let calls = world.calls().concat().join(" ");
    assert!(calls.contains("StandardInput=file:") && !calls.contains("hunter2"), "{calls}");

    // The same id is told how it went, and other bytes under it are another request.
    let again = channel.ask("Helper/CommandRun", &request);
    assert!(again.completed().replayed);
    let other = run("enrol", &[("host", "db-1"), ("key", STRONG), ("password", "hunter3")]);
    let other = wire::CommandRunRequest { meta: request.meta, ..other };
    assert_eq!(channel.ask("Helper/CommandRun", &other).refused().code, "request_id_conflict");
    assert_eq!(world.count("begin"), 1);
}

#[test]
fn what_fails_and_what_is_looked_at_tells_no_secret_either() {
    let world = world(vec![enrol()], Decision::Allow);
    world.systemctl("exit 1");
    let mut channel = world.connect(CLIENT_UID);
    let failed = format!("{:?}", channel.ask("Helper/CommandRun", &run("enrol", GIVEN)).events);
    let preview = wire::CommandRunRequest { meta: meta(Mode::Preview), ..run("enrol", GIVEN) };
    let looked = format!("{:?}", channel.ask("Helper/CommandRun", &preview).events);
    let refused = [("host", "-x"), ("key", STRONG), ("password", WEAK)];
    let refused = format!("{:?}", channel.ask("Helper/CommandRun", &run("enrol", &refused)).events);
    for told in [&failed, &looked, &refused] {
        assert!(!told.contains("hunter2") && !told.contains("wxyz"), "{told}");
    }
    assert!(refused.contains("invalid_argument"), "{refused}");
    assert_eq!(holding(&world.path("")), Vec::<String>::new());
}

#[test]
fn a_person_agrees_to_a_secret_unseen_and_no_digest_tells_it() {
    let world = world(vec![enrol()], Decision::Ask);
    leaves(&world, &[], &root::JobOutcome::default());
    let request = run("enrol", GIVEN);
    let mut client = world.connect(CLIENT_UID);
    let (stream, waiting) = ask(&mut client, "Helper/CommandRun", &request);
    let mut operator = world.operator(OPERATOR);
    let text = String::from_utf8(show(&mut operator, &waiting.approval_id)).unwrap();
    assert!(text.contains("argument \"pass=(secret)\"\n"), "{text}");
    assert!(!text.contains("hunter2") && !text.contains("wxyz"), "{text}");
    // A weak secret could be guessed, and each guess tried against the digest of the whole request.
    let meta = wire::CommandRunRequest { meta: request.meta.clone(), ..Default::default() }.encode_to_vec();
    let rest = wire::CommandRunRequest { meta: None, ..request.clone() }.encode_to_vec();
    let canonical = Digest::of(&[b"Helper/CommandRun", &[0], &rest]);
    let guess = Digest::of(&[canonical.as_bytes(), &meta]).to_string();
    let kept = fs::read(world.path("state/requests/log")).unwrap();
    let known = root::RequestRecord::decode_length_delimited(kept.as_slice()).unwrap().digest;
    assert_eq!(
        Digest::of(&[canonical.as_bytes(), &meta]).as_bytes().to_vec(),
        known,
        "root's own log has it"
    );
    assert!(!text.contains(&guess) && !world.log().join("\n").contains(&guess), "{text}");

    assert_eq!(approve(&mut operator, &waiting.approval_id), Ok(0));
    assert_eq!(client.answer(stream).completed().status(), Status::Done);
    assert_eq!(input(&world).secrets.len(), 3);
    assert_eq!(holding(&world.path("")), Vec::<String>::new());
}

#[test]
fn a_secret_is_never_a_key_and_what_an_ended_helper_left_goes() {
    let mut world = world(
        vec![root::Command {
            argv: ["/usr/bin/printf", "{key}={host}", "{password}"].map(str::to_owned).to_vec(),
            ..enrol()
        }],
        Decision::Allow,
    );
    let answer = world.connect(CLIENT_UID).ask("Helper/CommandRun", &run("enrol", GIVEN));
    assert_eq!(answer.refused().code, "unsupported");
    assert!(world.calls().is_empty());
    fs::write(world.path("run/secret-00000000000000000000000000000000"), WEAK).unwrap();
    world.restart();
    assert!(!world.path("run/secret-00000000000000000000000000000000").exists());
}
