//! Named commands: the unit of their row, arguments and secrets in a credential alone.

use crate::support::{AGENT, World, hex, rule};
use postern_policy::types::Digest;
use postern_proto::root::v1::{
    Command, CommandJob, Decision, JobEvent, JobOutcome, Order, Parameter, ParameterKind, Rule, Sandbox,
    SecretValue,
};
use postern_proto::v1::{CommandRunRequest, Parameter as Given, Status};
use prost::Message;

fn row(name: &str, argv: &[&str], kind: ParameterKind) -> Command {
    Command {
        name: name.to_owned(),
        argv: argv.iter().map(ToString::to_string).collect(),
        parameters: vec![Parameter {
            name: "value".to_owned(),
            kind: kind.into(),
            values: vec!["a*".to_owned()],
            ..Parameter::default()
        }],
        user: "nobody".to_owned(),
        sandbox: Sandbox::Strict.into(),
        cwd: "/".to_owned(),
        timeout_s: 30,
        output_bytes: 65536,
        ..Command::default()
    }
}

fn world(commands: Vec<Command>) -> World {
    let names = commands.iter().map(|row| row.name.clone()).collect();
    let rule = Rule { commands: names, ..rule("commands", Decision::Allow, &["command.run"], &[]) };
    World::new(vec![rule], commands)
}

fn order(world: &World, name: &str, value: &str) -> Order {
    let parameters = vec![Given { name: "value".to_owned(), value: value.to_owned() }];
    let body = CommandRunRequest { meta: None, name: name.to_owned(), parameters }.encode_to_vec();
    world.order(AGENT, "command.run", body, None)
}

/// The wrapper's last event, written by the fake when the unit starts; the record that it was given is copied aside.
fn ends_with(world: &World, order: &Order, outcome: JobOutcome) {
    let event = JobEvent { outcome: Some(outcome), ..JobEvent::default() }.encode_to_vec();
    let len = u32::try_from(event.len()).unwrap().to_le_bytes();
    std::fs::write(world.path("event"), [&len[..], &event].concat()).unwrap();
    let id = hex(order);
    world.act(&format!(
        "cp {0}/event {0}/state/jobs/{id}/events; cp {0}/commands/{id}/job {0}/seen; \
         printf 'ActiveState=inactive\\nResult=success\\n' >\"$here/units/$unit\"",
        world.path("").display()
    ));
}

fn seen(world: &World) -> CommandJob {
    CommandJob::decode(std::fs::read(world.path("seen")).unwrap().as_slice()).unwrap()
}

#[test]
fn starts_the_unit_of_the_row_with_its_arguments_in_a_credential() {
    let world = world(vec![row("show", &["/usr/bin/true", "{value}"], ParameterKind::Text)]);
    let order = order(&world, "show", "a %i $HOME");
    ends_with(&world, &order, JobOutcome::default());
    let reply = world.execute_as(world.approved(&order, &[]), &order, Some(Vec::new()));
    assert_eq!(reply.outcome().completed.as_ref().unwrap().status(), Status::Done, "{reply:?}");
    assert_eq!(seen(&world).argv, ["/usr/bin/true", "a %i $HOME"]);
    let acts = world.acts();
    assert!(acts[0].contains(" -- postern-command-show-") && !acts[0].contains("HOME"), "{acts:?}");
    let id = hex(&order);
    assert!(
        !world.host.commands.join(id).join("job").exists(),
        "the record is gone when the command has ended"
    );
}

#[test]
fn another_row_of_the_same_name_has_another_unit() {
    let unit = |argv: &[&str]| {
        let world = world(vec![row("show", argv, ParameterKind::Text)]);
        let order = order(&world, "show", "a");
        ends_with(&world, &order, JobOutcome::default());
        world.execute_as(world.approved(&order, &[]), &order, Some(Vec::new()));
        world.acts()[0].clone()
    };
    assert_ne!(unit(&["/usr/bin/true", "{value}"]), unit(&["/usr/bin/false", "{value}"]));
}

#[test]
fn forgets_the_secrets_of_a_command_even_if_its_directory_cannot_be_removed() {
    let world = world(vec![row("show", &["/usr/bin/true", "{value}"], ParameterKind::Text)]);
    let order = order(&world, "show", "a");
    let (record, elsewhere) = (world.host.commands.join(hex(&order)), world.path("elsewhere"));
    // Removing a symbolic link to a directory removes nothing in it.
    std::fs::create_dir(&elsewhere).unwrap();
    std::fs::write(elsewhere.join("job"), "hunter2").unwrap();
    std::os::unix::fs::symlink(&elsewhere, &record).unwrap();
    world.acknowledge(&order);
    assert!(!elsewhere.join("job").exists(), "the secrets are still there");
    assert!(elsewhere.is_dir());
}

#[test]
fn a_secret_is_written_to_the_job_record_only() {
    let world = world(vec![row("login", &["/usr/bin/true", "{value}"], ParameterKind::Secret)]);
    let secret =
        SecretValue { parameter: "value".to_owned(), random: vec![7; 32], value: b"hunter2".to_vec() };
    let commitment = Digest::of(&[&secret.random, &secret.value]).to_string();
    let order = order(&world, "login", &commitment);
    ends_with(&world, &order, JobOutcome::default());
    let reply = world.execute_as(world.approved(&order, &[]), &order, Some(vec![secret.clone()]));
    assert_eq!(reply.outcome().completed.as_ref().unwrap().status(), Status::Done, "{reply:?}");
    let record = seen(&world);
    assert_eq!(record.argv, ["/usr/bin/true", "(secret)"]);
    assert_eq!(record.secrets[0].value, b"hunter2");
    let state = walk(&world.host.root.state);
    assert!(!state.windows(7).any(|window| window == b"hunter2"), "no secret in state on the disk");
    let other = SecretValue { value: b"other".to_vec(), ..secret };
    assert_eq!(
        world.execute_as(world.approved(&order, &[]), &order, Some(vec![other])).code(),
        "invalid_argument"
    );
}

/// All bytes of all files below a directory.
fn walk(path: &std::path::Path) -> Vec<u8> {
    let mut all = Vec::new();
    for entry in std::fs::read_dir(path).unwrap() {
        let path = entry.unwrap().path();
        all.extend(if path.is_dir() { walk(&path) } else { std::fs::read(&path).unwrap() });
    }
    all
}

#[test]
fn rejects_values_that_the_kind_does_not_admit() {
    let world = world(vec![row("show", &["/usr/bin/true", "{value}"], ParameterKind::Text)]);
    for value in ["", "-a", "b"] {
        let order = order(&world, "show", value);
        let reply = world.execute_as(world.approved(&order, &[]), &order, Some(Vec::new()));
        assert_eq!(reply.code(), "invalid_argument", "{value:?}");
    }
    assert!(world.acts().is_empty());
}

#[test]
fn rejects_a_program_that_others_can_change() {
    let directory = tempfile::tempdir_in(env!("CARGO_TARGET_TMPDIR")).unwrap();
    let program = directory.path().join("program");
    std::fs::write(&program, "#!/bin/sh\n").unwrap();
    std::fs::set_permissions(&program, std::os::unix::fs::PermissionsExt::from_mode(0o775)).unwrap();
    let program = program.canonicalize().unwrap();
    let world = world(vec![row("show", &[program.to_str().unwrap(), "{value}"], ParameterKind::Text)]);
    let order = order(&world, "show", "a");
    let reply = world.execute_as(world.approved(&order, &[]), &order, Some(Vec::new()));
    assert_eq!(reply.code(), "unsafe_path", "{reply:?}");
    let why = reply.close.as_ref().map(|close| close.message.clone()).unwrap_or_default();
    assert!(why.contains(program.to_str().unwrap()), "the program itself, no directory above it: {why}");
    assert!(world.acts().is_empty());
}

/// A command of this user whose path is `directory`/a, in a directory that belongs to this uid.
fn takes_path(user: &str, unchecked: bool, capabilities: &[&str], owner: u32) -> String {
    let directory = tempfile::Builder::new().prefix("own").tempdir_in("/srv").unwrap();
    std::os::unix::fs::chown(directory.path(), Some(owner), None).unwrap();
    let place = directory.path().to_str().unwrap().to_owned();
    let mut row = row("show", &["/usr/bin/true", "{value}"], ParameterKind::Path);
    user.clone_into(&mut row.user);
    row.capabilities = capabilities.iter().map(ToString::to_string).collect();
    row.parameters[0].directories = vec![place.clone()];
    row.parameters[0].files = vec!["a".to_owned()];
    row.parameters[0].unchecked = unchecked;
    let world = world(vec![row]);
    let order = order(&world, "show", &format!("{place}/a"));
    ends_with(&world, &order, JobOutcome::default());
    let reply = world.execute_as(world.approved(&order, &[]), &order, Some(Vec::new()));
    if world.acts().is_empty() { reply.code().to_owned() } else { "ran".to_owned() }
}

/// Directories are given to other users, which root alone can do.
mod as_root {
    use super::takes_path;

    #[test]
    #[ignore = "gives directories to other users: tests/run runs it as root"]
    fn a_path_may_be_in_a_directory_of_the_commands_own_user_and_of_no_other() {
        assert_eq!(takes_path("operator", false, &[], 0), "ran");
        assert_eq!(takes_path("operator", false, &[], 2003), "ran");
        assert_eq!(takes_path("operator", false, &[], 2), "unsafe_path");
        // With a capability the user could be made to act on what it may not reach itself.
        assert_eq!(takes_path("operator", false, &["CAP_DAC_READ_SEARCH"], 2003), "unsafe_path");
        // Nobody is the user of other services too, and root's own directories are root's.
        assert_eq!(takes_path("nobody", false, &[], 65534), "unsafe_path");
        assert_eq!(takes_path("root", false, &[], 1), "unsafe_path");
        assert_eq!(takes_path("operator", true, &[], 2), "ran");
    }
}

#[test]
fn the_outcome_says_that_the_command_has_no_effect_as_the_policy_does() {
    for no_effect in [false, true] {
        let row = Command { no_effect, ..row("show", &["/usr/bin/true", "{value}"], ParameterKind::Text) };
        let world = world(vec![row]);
        let order = order(&world, "show", "a");
        ends_with(&world, &order, JobOutcome::default());
        let reply = world.execute_as(world.approved(&order, &[]), &order, Some(Vec::new()));
        assert_eq!(reply.outcome().completed.as_ref().unwrap().no_effect, no_effect);
    }
}

#[test]
fn a_failed_command_tells_its_exit_code_and_has_no_inverse() {
    let mut show = row("show", &["/usr/bin/true", "{value}"], ParameterKind::Text);
    show.reverse = "hide".to_owned();
    let world = world(vec![row("hide", &["/usr/bin/true", "{value}"], ParameterKind::Text), show]);
    let order = order(&world, "show", "a");
    let failed = JobOutcome { code: "command_failed".to_owned(), exit_code: 7, ..JobOutcome::default() };
    ends_with(&world, &order, failed);
    let reply = world.execute_as(world.approved(&order, &[]), &order, Some(Vec::new()));
    let outcome = reply.outcome();
    let completed = outcome.completed.as_ref().unwrap();
    assert_eq!((completed.code.as_str(), completed.exit.as_ref().unwrap().code), ("command_failed", 7));
    assert!(outcome.inverse.is_none() && !completed.undoable);
}

#[test]
fn the_inverse_of_a_command_is_the_one_that_its_row_names() {
    let mut show = row("show", &["/usr/bin/true", "{value}"], ParameterKind::Text);
    show.reverse = "hide".to_owned();
    let world = world(vec![row("hide", &["/usr/bin/true", "{value}"], ParameterKind::Text), show]);
    let order = order(&world, "show", "a");
    ends_with(&world, &order, JobOutcome::default());
    let reply = world.execute_as(world.approved(&order, &[]), &order, Some(Vec::new()));
    let inverse = reply.outcome().inverse.clone().unwrap();
    let call = CommandRunRequest::decode(inverse.body.as_slice()).unwrap();
    assert_eq!((inverse.verb.as_str(), call.name.as_str()), ("command.run", "hide"));
    assert_eq!(call.parameters[0].value, "a");
}

#[test]
fn a_command_that_damages_its_events_is_interrupted_and_not_refused() {
    let world = world(vec![row("show", &["/usr/bin/true", "{value}"], ParameterKind::Text)]);
    let order = order(&world, "show", "a");
    let id = hex(&order);
    world.act(&format!(
        "head -c 300000 /dev/zero | tr '\\0' x >{}/state/jobs/{id}/events; \
         printf 'ActiveState=inactive\\nResult=success\\n' >\"$here/units/$unit\"",
        world.path("").display()
    ));
    let reply = world.execute_as(world.approved(&order, &[]), &order, Some(Vec::new()));
    assert_eq!(reply.outcome().completed.as_ref().unwrap().status(), Status::Interrupted);
    assert_eq!(world.outcomes(&order).state, "ended");
}

#[test]
fn a_command_whose_unit_was_never_written_has_failed_and_was_not_interrupted() {
    let world = world(vec![row("show", &["/usr/bin/true", "{value}"], ParameterKind::Text)]);
    let order = order(&world, "show", "a");
    world.act("echo \"Unit $unit not found.\" >&2; exit 5");
    let reply = world.execute_as(world.approved(&order, &[]), &order, Some(Vec::new()));
    let completed = reply.outcome().completed.clone().unwrap();
    assert_eq!((completed.status(), completed.code.as_str()), (Status::Failed, "command_failed"));
    assert!(completed.message.contains("not-found"), "{}", completed.message);
}
