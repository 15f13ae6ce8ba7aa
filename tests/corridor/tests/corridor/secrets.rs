//! Secrets of named commands: the program gets them, and nothing else holds them.

use crate::approvals::ask;
use crate::commands::{command, parameter, program, run, world};
use postern_corridor::{CLIENT_UID, OPERATOR, World, meta};
use postern_policy::types::Digest;
use postern_proto::root::v1::{self as root, Decision, ParameterKind};
use postern_proto::v1::{self as wire, Mode, Status};
use prost::Message;
use std::fs;
use std::path::Path;

const WEAK: &str = "-hunter2";
const STRONG: &str = "-----BEGIN KEY-----\nwxyz\n+=@\u{202e}";

/// A command with two of them, which says the digest of what it reads from each of its arguments.
fn enrol(at: &Path) -> root::Command {
    let secret = |name| parameter(name, ParameterKind::Secret);
    let script = "echo $1; sha256sum <$2; sha256sum <${3#pass=}; sha256sum <${4#db-1=}";
    let program = program(at, "enrol", script);
    root::Command {
        parameters: vec![parameter("host", ParameterKind::Name), secret("key"), secret("password")],
        ..command("enrol", &[&program, "{host}", "{key}", "pass={password}", "{host}={key}"])
    }
}

const GIVEN: &[(&str, &str)] = &[("host", "db-1"), ("key", STRONG), ("password", WEAK)];

const SHOWN: [&str; 4] = ["db-1", "(secret)", "pass=(secret)", "db-1=(secret)"];

/// The files below that hold one of the two.
fn holding(directory: &Path) -> Vec<String> {
    let mut found = Vec::new();
    for entry in fs::read_dir(directory).unwrap() {
        let path = entry.unwrap().path();
        let kind = fs::symlink_metadata(&path).unwrap().file_type();
        if kind.is_dir() {
            found.extend(holding(&path));
        } else if kind.is_file() {
            let text = fs::read(&path).unwrap();
            let has = |value: &str| text.windows(value.len()).any(|part| part == value.as_bytes());
            if has(WEAK) || has("wxyz") {
                found.push(path.to_string_lossy().into_owned());
            }
        }
    }
    found
}

/// Whether the program printed the secrets' digests: it read the secrets from its descriptors.
fn printed(content: Vec<u8>) -> bool {
    let digest = |value: &str| format!("{}  -\n", Digest::of(&[value.as_bytes()]));
    let (strong, weak) = (digest(STRONG), digest(WEAK));
    String::from_utf8(content).unwrap() == format!("db-1\n{strong}{weak}{strong}")
}

#[test]
fn the_program_alone_gets_a_secret() {
    let world = world(|at| vec![enrol(at)], Decision::Allow);
    let request = run("enrol", GIVEN);
    let mut channel = world.connect(CLIENT_UID);
    let answer = channel.ask("Helper/CommandRun", &request);
    assert_eq!(answer.completed().status(), Status::Done);
    assert!(printed(answer.content()), "{}", String::from_utf8_lossy(&answer.content()));
    let step = answer.completed().plan.clone().unwrap().command.unwrap();
    assert_eq!(step.argv[1..], SHOWN);
    assert_eq!(holding(&world.path("")), Vec::<String>::new(), "on the disk, in the log, told to PID 1");
    let events = format!("{:?}", answer.events);
    assert!(!events.contains(WEAK) && !events.contains("wxyz"), "{events}");

    // The same id is answered with the outcome, and other bytes under it are another request.
    let again = channel.ask("Helper/CommandRun", &request);
    assert!(again.completed().replayed);
    let other = run("enrol", &[("host", "db-1"), ("key", STRONG), ("password", "hunter3")]);
    let other = wire::CommandRunRequest { meta: request.meta, ..other };
    assert_eq!(channel.ask("Helper/CommandRun", &other).refused().code, "request_id_conflict");
    assert_eq!(world.count("begin"), 1);
}

#[test]
fn no_failure_preview_or_refusal_tells_a_secret() {
    let world = world(|at| vec![enrol(at)], Decision::Allow);
    fs::remove_file(world.path("enrol")).unwrap();
    let mut channel = world.connect(CLIENT_UID);
    let failed = format!("{:?}", channel.ask("Helper/CommandRun", &run("enrol", GIVEN)).events);
    let preview = wire::CommandRunRequest { meta: meta(Mode::Preview), ..run("enrol", GIVEN) };
    let previewed = format!("{:?}", channel.ask("Helper/CommandRun", &preview).events);
    let refused = [("host", "-x"), ("key", STRONG), ("password", WEAK)];
    let refused = format!("{:?}", channel.ask("Helper/CommandRun", &run("enrol", &refused)).events);
    for told in [&failed, &previewed, &refused] {
        assert!(!told.contains("hunter2") && !told.contains("wxyz"), "{told}");
    }
    assert!(failed.contains("not_found") && refused.contains("invalid_argument"), "{failed} {refused}");
    assert_eq!(holding(&world.path("")), Vec::<String>::new());
}

/// Digests that somebody who guesses the weak secret can compute of the request.
fn guesses(request: &wire::CommandRunRequest) -> Vec<String> {
    let whole = request.encode_to_vec();
    let rest = wire::CommandRunRequest { meta: None, ..request.clone() }.encode_to_vec();
    [&whole, &rest]
        .into_iter()
        .flat_map(|bytes| {
            let named = Digest::of(&[b"Helper/CommandRun", &[0], bytes]);
            [Digest::of(&[bytes]), named, Digest::of(&[b"command.run", &[0], bytes])]
        })
        .map(|digest| digest.to_string())
        .collect()
}

#[test]
fn a_person_approves_a_secret_unseen_and_no_digest_confirms_a_guess() {
    let world = world(|at| vec![enrol(at)], Decision::Ask);
    let request = run("enrol", GIVEN);
    let mut client = world.connect(CLIENT_UID);
    let (stream, waiting) = ask(&mut client, "Helper/CommandRun", &request);
    let mut operator = world.operator(OPERATOR);
    let (shown, digest) = operator.show(&waiting.approval_id);
    let text = String::from_utf8_lossy(&shown.encode_to_vec()).into_owned();
    assert!(text.contains("pass=(secret)"), "{text}");
    assert!(!text.contains("hunter2") && !text.contains("wxyz"), "{text}");
    // Two requests with the same secret have different orders.
    let log = world.log().join("\n");
    for guess in guesses(&request) {
        assert!(!text.contains(&guess) && !log.contains(&guess), "{guess}");
    }
    let verdict = wire::Verdict::Approve;
    assert_eq!(operator.decide(&waiting.approval_id, &digest, verdict, ""), Ok(0));
    let answer = client.answer(stream);
    assert_eq!(answer.completed().status(), Status::Done);
    assert!(printed(answer.content()));
    assert_eq!(holding(&world.path("")), Vec::<String>::new());
}

#[test]
fn refuses_a_secret_in_the_place_of_a_key() {
    let world: World = world(
        |at| {
            let argv = ["/usr/bin/printf", "{key}={host}", "{password}"].map(str::to_owned).to_vec();
            vec![root::Command { argv, ..enrol(at) }]
        },
        Decision::Allow,
    );
    let answer = world.connect(CLIENT_UID).ask("Helper/CommandRun", &run("enrol", GIVEN));
    assert_eq!(answer.refused().code, "unsupported");
    assert!(world.calls().is_empty());
}
