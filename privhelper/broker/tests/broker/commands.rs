//! `command.run`: plans, and secrets that no log, plan or digest tells.

use crate::common::{World, asked, meta, rule, strings};
use crate::fakes::{Arrived, done, park, send};
use postern_policy::types::Digest;
use postern_proto::link::{self, Kind};
use postern_proto::root::v1 as root;
use postern_proto::v1::{self as wire, Mode, Status, event};

const SECRET: &str = "correct horse battery staple";

fn world(decide: fn(root::Rule) -> root::Rule) -> World {
    let parameter = |name: &str, kind: root::ParameterKind| root::Parameter {
        name: name.to_owned(),
        kind: kind.into(),
        ..root::Parameter::default()
    };
    let command = root::Command {
        name: "enrol".to_owned(),
        argv: strings(&["/usr/bin/enrol", "--", "{host}", "key={token}"]),
        parameters: vec![
            parameter("host", root::ParameterKind::Hostname),
            parameter("token", root::ParameterKind::Secret),
        ],
        user: "nobody".to_owned(),
        sandbox: root::Sandbox::Strict.into(),
        cwd: "/".to_owned(),
        ..root::Command::default()
    };
    let rule = decide(root::Rule { commands: strings(&["enrol"]), ..rule("enrol", &["command.run"]) });
    World::of(root::Rules { rules: vec![rule], commands: vec![command], ..root::Rules::default() })
}

fn run(mode: Mode) -> wire::CommandRunRequest {
    let parameter = |name: &str, value: &str| wire::Parameter { name: name.into(), value: value.into() };
    let parameters = vec![parameter("host", "db-1"), parameter("token", SECRET)];
    wire::CommandRunRequest { meta: meta(mode), name: "enrol".to_owned(), parameters }
}

#[test]
fn secrets_are_sent_apart_from_the_order_which_holds_a_commitment() {
    let world = world(|rule| rule);
    let request = run(Mode::Execute);
    assert_eq!(world.ask("Helper/CommandRun", &request).completed().status(), Status::Done);
    let Arrived { claim, order, secrets, bytes, content, .. } =
        world.recorder.executed.lock().unwrap().remove(0);
    let secrets = secrets.unwrap().values;
    let [secret] = secrets.as_slice() else { panic!("{secrets:?}") };
    assert_eq!(
        (secret.parameter.as_str(), secret.value.as_slice(), secret.random.len()),
        ("token", SECRET.as_bytes(), 32)
    );
    let body: wire::CommandRunRequest = link::strict(&order.body).unwrap();
    let commitment = Digest::of(&[&secret.random, SECRET.as_bytes()]).to_string();
    assert_eq!((body.parameters[0].value.as_str(), &body.parameters[1].value), ("db-1", &commitment));
    assert_eq!(body.meta, request.meta);
    let has = |bytes: &[u8]| bytes.windows(SECRET.len()).any(|part| part == SECRET.as_bytes());
    assert!(!has(&bytes) && content.is_empty() && !has(format!("{claim:?}").as_bytes()));
    let argv = r#""argv":["/usr/bin/enrol","--","db-1","key=(secret)"],"user":"nobody","sandbox":"strict","also":["in \"/\""]"#;
    assert_eq!(claim.plan_json, format!(r#"{{"command":{{"name":"enrol",{argv}}}}}"#));
    assert_eq!(claim.args_json, r#"{"name":"enrol","parameters":["host","token"]}"#);
    assert_eq!((claim.family.as_str(), claim.target.as_str(), claim.objects.len()), ("commands", "enrol", 0));
    // Another try of the same has other random bytes.
    world.ask("Helper/CommandRun", &run(Mode::Execute));
    let again = world.recorder.executed.lock().unwrap().remove(0).secrets.unwrap();
    assert_ne!(again.values[0].random, secret.random);
}

#[test]
fn preview_and_check_reveal_no_secret() {
    let world = world(asked);
    world.recorder.on_execute(|arrived, stream| {
        assert!(arrived.secrets.is_some(), "parked at the recorder, which passes it on");
        park(stream, "a-1");
        park(stream, "");
        send(stream, Kind::Recorded, &done());
    });
    let answer = world.ask("Helper/CommandRun", &run(Mode::Execute));
    let waiting = answer.events.iter().find_map(|event| match &event.kind {
        Some(event::Kind::Waiting(waiting)) => waiting.plan.clone(),
        _ => None,
    });
    assert_eq!(waiting.unwrap().command.unwrap().argv.last().unwrap(), "key=(secret)");
    let previewed = world.ask("Helper/CommandRun", &run(Mode::Preview));
    assert_eq!(
        previewed.completed().plan.clone().unwrap().command.unwrap().argv.last().unwrap(),
        "key=(secret)"
    );
    assert!(!format!("{:?}{:?}", world.recorder.notes, answer).contains(SECRET));
}

#[test]
fn a_refused_command_reveals_no_secret() {
    let world = world(|rule| rule);
    let mut request = run(Mode::Execute);
    request.parameters[0].value = "not a host".to_owned();
    let answer = world.ask("Helper/CommandRun", &request);
    assert_eq!(answer.refused().code, "invalid_argument");
    request.name = "other".to_owned();
    assert_eq!(world.ask("Helper/CommandRun", &request).refused().code, "no_grant");
    assert!(!format!("{:?}{answer:?}", world.recorder.notes).contains(SECRET));
}

#[test]
fn clients_are_told_what_a_command_does_and_that_it_changes_nothing() {
    let command = root::Command {
        name: "look".to_owned(),
        argv: strings(&["/bin/true"]),
        description: "shows the queue".to_owned(),
        no_effect: true,
        sockets: strings(&["/run/q.sock"]),
        ..root::Command::default()
    };
    let rules = vec![root::Rule { commands: strings(&["look"]), ..rule("look", &["command.run"]) }];
    let world = World::of(root::Rules { rules, commands: vec![command], ..root::Rules::default() });
    let name = "look".to_owned();
    let request =
        |mode| wire::CommandRunRequest { meta: meta(mode), name: name.clone(), parameters: Vec::new() };
    let answer = world.ask("Helper/CommandRun", &request(Mode::Execute));
    let accepted = answer.events.iter().find_map(|event| match &event.kind {
        Some(event::Kind::Accepted(accepted)) => Some(accepted.no_effect),
        _ => None,
    });
    assert_eq!(accepted, Some(true));
    // It is recorded and ordered like every other command.
    let arrived = world.recorder.executed.lock().unwrap().remove(0);
    assert!(
        arrived.claim.plan_json.contains(r#"connects to \"/run/q.sock\""#),
        "{}",
        arrived.claim.plan_json
    );
    let plan = world.ask("Helper/CommandRun", &request(Mode::Preview)).completed().plan.clone();
    assert_eq!(plan.unwrap().command.unwrap().description, "shows the queue");
    let described = world
        .ask("Helper/PolicyDescribe", &wire::PolicyDescribeRequest { meta: meta(Mode::Execute) })
        .completed()
        .description
        .clone();
    assert_eq!(described.unwrap().grants[0].commands, ["look (shows the queue; changes nothing)"]);
}

#[test]
fn a_command_without_secrets_has_an_empty_frame_of_them() {
    let command =
        root::Command { name: "plain".to_owned(), argv: strings(&["/bin/true"]), ..root::Command::default() };
    let rules = vec![root::Rule { commands: strings(&["plain"]), ..rule("plain", &["command.run"]) }];
    let world = World::of(root::Rules { rules, commands: vec![command], ..root::Rules::default() });
    let request = wire::CommandRunRequest {
        meta: meta(Mode::Execute),
        name: "plain".to_owned(),
        parameters: Vec::new(),
    };
    assert_eq!(world.ask("Helper/CommandRun", &request).completed().status(), Status::Done);
    let secrets = world.recorder.executed.lock().unwrap().remove(0).secrets;
    assert_eq!(secrets, Some(root::SecretValues::default()));
}
