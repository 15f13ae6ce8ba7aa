//! Verbs about the client's own affairs: `policy.describe` and `request.undo`.

use crate::common::{CLIENT_UID, World, asked, describe, meta, new_id, rule, site, strings, unit};
use crate::fakes::{Arrived, Question, facts, of_unit, park, send, state};
use postern_policy::types::Digest;
use postern_proto::link::Kind;
use postern_proto::root::v1 as root;
use postern_proto::v1::{self as wire, Decision, Mode, Status};
use prost::Message;

fn grants(rules: root::Rules) -> Vec<wire::Grant> {
    let world = World::of(rules);
    let answer = world.ask("Helper/PolicyDescribe", &describe());
    let description = answer.completed().description.clone().unwrap();
    assert_eq!(description.client, "agent");
    description.grants
}

fn command() -> root::Command {
    let parameter = |name: &str, kind: root::ParameterKind| root::Parameter {
        name: name.to_owned(),
        kind: kind.into(),
        ..root::Parameter::default()
    };
    root::Command {
        name: "grow".to_owned(),
        parameters: vec![
            parameter("name", root::ParameterKind::Name),
            parameter("size", root::ParameterKind::Size),
        ],
        argv: strings(&["/usr/sbin/secret-tool", "{name}", "{size}"]),
        ..root::Command::default()
    }
}

#[test]
fn describes_commands_with_their_parameters_and_the_limits_of_every_rule() {
    let params = vec![root::ParameterGrant { name: "size".to_owned(), patterns: strings(&["1*", "2*"]) }];
    let rules = vec![
        root::Rule { commands: strings(&["gr*"]), parameters: params, ..rule("grow", &["command.run"]) },
        asked(root::Rule {
            approvers: 2,
            packages: strings(&["nginx*"]),
            sources: strings(&["debian"]),
            allow_removals: true,
            ..rule("web", &["package.upgrade", "request.undo"])
        }),
        root::Rule {
            lines: strings(&["a = *"]),
            validate: "agrees".to_owned(),
            allow_create: false,
            ..site(&["file.patch"])
        },
        root::Rule { decision: root::Decision::Deny.into(), ..unit("never", "ssh.service", &["unit.stop"]) },
    ];
    let grants = grants(root::Rules { rules, commands: vec![command()], ..root::Rules::default() });
    assert_eq!(grants[0].commands, ["grow name=<name such as data-1> size=<size such as 512M: 1*|2*>"]);
    assert_eq!(grants[1].verbs, ["package.upgrade", "request.undo"]);
    assert_eq!(grants[1].decision(), Decision::Ask);
    let limits = [
        "approvers = 2",
        "approval_ttl = 900s",
        "max_new_packages = 50",
        "allow_removals = true",
        "sources = debian",
    ];
    for limit in limits {
        assert!(grants[1].limits.iter().any(|told| told == limit), "{limit} {:?}", grants[1]);
    }
    for limit in ["depth = 1", "max_files = 20", "allow_create = false", "lines = a = *", "validate = agrees"]
    {
        assert!(grants[2].limits.iter().any(|told| told == limit), "{limit} {:?}", grants[2]);
    }
    let denied = (grants[3].decision(), grants[3].limits.len(), grants[3].max_bytes);
    assert_eq!(denied, (Decision::Deny, 0, 0));
    // How a command is run is the operator's business.
    assert!(!format!("{grants:?}").contains("secret-tool"));
}

#[test]
fn describes_no_rule_and_no_command_of_other_clients() {
    let other = root::Client { name: "other".to_owned(), user: "stranger".to_owned(), group: String::new() };
    let of_other = |rule: root::Rule| root::Rule { client: "other".to_owned(), ..rule };
    let own = unit("own", "own.service", &["unit.stop", "unit.status"]);
    let rules = vec![
        of_other(root::Rule { commands: strings(&["grow"]), ..rule("grow", &["command.run"]) }),
        of_other(unit("hidden", "hidden.service", &["unit.stop"])),
        root::Rule { journal_lines: 20, ..own },
    ];
    let rules =
        root::Rules { clients: vec![other], rules, commands: vec![command()], ..root::Rules::default() };
    let grants = grants(rules);
    assert_eq!((grants.len(), grants[0].units.clone()), (1, strings(&["own.service"])));
    assert!(grants[0].limits.iter().any(|limit| limit == "journal_lines = 20"));
    let text = format!("{grants:?}");
    assert!(!text.contains("hidden") && !text.contains("grow"), "{text}");
}

/// A request that ended, and what takes it back.
fn known(world: &World, inverse: root::Inverse) -> String {
    let completed = wire::Completed { status: Status::Done.into(), undoable: true, ..Default::default() };
    let (state, of) = ("ended".to_owned(), new_id());
    let known = root::Recalled {
        state,
        completed: Some(completed),
        inverse: Some(inverse),
        ..root::Recalled::default()
    };
    world.recorder.ids.lock().unwrap().insert(of.clone(), known);
    of
}

fn undo(of: &str, mode: Mode) -> wire::RequestUndoRequest {
    wire::RequestUndoRequest { meta: meta(mode), of: of.to_owned() }
}

fn inverse(family: &str, verb: &str, body: Vec<u8>) -> root::Inverse {
    root::Inverse {
        family: family.to_owned(),
        order_id: vec![1; 32],
        uid: CLIENT_UID,
        rules: strings(&["site"]),
        verb: verb.to_owned(),
        body,
        mac: vec![2; 32],
        ..root::Inverse::default()
    }
}

/// A write of `/srv/site/a` that replaced other content, taken back.
fn write_back() -> root::Inverse {
    let (path, kind) = ("/srv/site/a".to_owned(), wire::ChangeKind::Write.into());
    let change =
        wire::FileChange { path: path.clone(), kind, expect: "any".to_owned(), ..Default::default() };
    let body = wire::FileWriteRequest { meta: None, change: Some(change) }.encode_to_vec();
    let (size, sha256) = (9, Digest::of(&[b"old bytes"]).as_bytes().to_vec());
    let left = root::FileFacts {
        path,
        exists: true,
        size: 3,
        sha256: vec![7; 32],
        mode: 0o644,
        ..Default::default()
    };
    root::Inverse {
        contents: vec![root::Content { size, sha256 }],
        left: Some(root::Facts { files: vec![left], ..Default::default() }),
        content_id: vec![9; 32],
        ..inverse("files", "file.write", body)
    }
}

fn files_as_left(world: &World) {
    world.recorder.on_inspect(|arrived, stream| {
        assert_eq!((arrived.order.verb.as_str(), arrived.claim.family.as_str()), ("request.undo", "files"));
        facts(stream, arrived.order.inverse.clone().unwrap().left.unwrap());
    });
}

#[test]
fn undoes_a_write_as_the_inverse_that_root_issued() {
    let world = World::new(vec![site(&["file.write", "request.undo"])]);
    let of = known(&world, write_back());
    files_as_left(&world);
    let request = undo(&of, Mode::Execute);
    assert_eq!(world.ask("Helper/RequestUndo", &request).completed().status(), Status::Done);
    let Arrived { claim, order, content, secrets, .. } = world.recorder.executed.lock().unwrap().remove(0);
    assert_eq!(
        (order.verb.as_str(), order.body, order.inverse),
        ("request.undo", request.encode_to_vec(), Some(write_back()))
    );
    assert!(
        content.is_empty() && secrets.is_none() && order.contents.is_empty(),
        "content is root's already"
    );
    assert_eq!(
        (claim.verb.as_str(), claim.family.as_str(), claim.undo_of.as_str()),
        ("request.undo", "files", of.as_str())
    );
    assert_eq!((claim.target.as_str(), claim.objects), ("/srv/site/a", strings(&["dir:/srv/site"])));
    assert_eq!(claim.args_json, format!(r#"{{"of":"{of}"}}"#));
    assert!(
        claim.plan_json.contains(r#""action":"write""#) && claim.plan_json.contains(r#""new_size":9"#),
        "{}",
        claim.plan_json
    );
}

#[test]
fn previews_an_undo_without_the_content_that_the_client_may_not_read() {
    for (verbs, size) in
        [(&["file.write", "request.undo"][..], 0), (&["file.write", "file.read", "request.undo"], 9)]
    {
        let world = World::new(vec![site(verbs)]);
        let of = known(&world, write_back());
        files_as_left(&world);
        let answer = world.ask("Helper/RequestUndo", &undo(&of, Mode::Preview));
        let step = answer.completed().plan.clone().unwrap().files.remove(0);
        assert_eq!(
            (step.path.as_str(), step.new_size, step.new_sha256.is_empty()),
            ("/srv/site/a", size, size == 0)
        );
        assert_eq!(world.recorder.events(), ["previewed"]);
    }
}

#[test]
fn decides_an_undo_by_its_inverse_verb_and_the_original_rules() {
    let refused = |rules: Vec<root::Rule>, mode| {
        let world = World::new(rules);
        let of = known(&world, write_back());
        let code = world.ask("Helper/RequestUndo", &undo(&of, mode)).refused().code.clone();
        assert!(
            world.recorder.inspected.lock().unwrap().is_empty()
                && world.recorder.executed.lock().unwrap().is_empty()
        );
        code
    };
    for mode in [Mode::Check, Mode::Preview, Mode::Execute] {
        assert_eq!(refused(vec![site(&["file.write"])], mode), "no_grant", "the rule lets nobody undo");
        let other = root::Rule { id: "other".to_owned(), ..site(&["file.write", "request.undo"]) };
        assert_eq!(refused(vec![other], mode), "no_grant", "another rule let the request through");
        assert_eq!(
            refused(vec![site(&["file.read", "request.undo"])], mode),
            "no_grant",
            "what it does is not granted"
        );
    }
}

#[test]
fn asks_people_again_for_the_undo_of_what_people_approved() {
    let world = World::new(vec![site(&["file.write", "request.undo"])]);
    let of = known(&world, root::Inverse { needs_person: true, ..write_back() });
    files_as_left(&world);
    world.recorder.on_execute(|arrived, stream| {
        assert_eq!((arrived.claim.decision.as_str(), arrived.order.decision()), ("ask", Decision::Ask));
        park(stream, "a-1");
        crate::fakes::close(stream, "approval_expired", "nobody approved this in time");
    });
    assert_eq!(world.ask("Helper/RequestUndo", &undo(&of, Mode::Execute)).refused().code, "approval_expired");
}

#[test]
fn undoes_nothing_that_has_changed_since_or_cannot_be_undone() {
    let world = World::new(vec![site(&["file.write", "request.undo"])]);
    let of = known(&world, write_back());
    let code = |of: &str| world.ask("Helper/RequestUndo", &undo(of, Mode::Execute)).refused().code.clone();
    world.recorder.on_inspect(|arrived, stream| {
        let mut other = arrived.order.inverse.clone().unwrap().left.unwrap();
        other.files[0].sha256 = vec![8; 32];
        facts(stream, other);
    });
    assert_eq!(code(&of), "undo_conflict");
    world.recorder.on_inspect(|_, stream| {
        let file = root::FileFacts { path: "/srv/site/a".to_owned(), ..root::FileFacts::default() };
        facts(stream, root::Facts { files: vec![file], ..root::Facts::default() });
    });
    assert_eq!(code(&of), "undo_conflict", "it was removed since");
    let change =
        |edit: fn(&mut root::Recalled)| edit(world.recorder.ids.lock().unwrap().get_mut(&of).unwrap());
    change(|known| known.inverse.as_mut().unwrap().body = b"\xff".to_vec());
    assert_eq!(code(&of), "undo_gone");
    change(|known| known.undone = true);
    assert_eq!(code(&of), "undo_gone");
    change(|known| (known.undone, known.inverse) = (false, None));
    assert_eq!(code(&of), "undo_gone");
    change(|known| known.state = "running".to_owned());
    assert_eq!(code(&of), "busy");
    assert_eq!(code(&new_id()), "unknown_request");
    assert!(world.recorder.executed.lock().unwrap().is_empty());
}

#[test]
fn undoes_packages_by_the_recorded_steps_without_a_simulation() {
    let rule =
        root::Rule { packages: strings(&["nginx"]), ..rule("site", &["package.remove", "request.undo"]) };
    let world = World::new(vec![rule]);
    let body = wire::PackageRemoveRequest { meta: None, names: strings(&["nginx"]) }.encode_to_vec();
    let step = wire::PackageStep {
        action: wire::Action::Remove.into(),
        name: "nginx".to_owned(),
        arch: "amd64".to_owned(),
        old: "1.22".to_owned(),
        ..Default::default()
    };
    let steps = root::PackageFacts { steps: vec![step], ..Default::default() };
    let of =
        known(&world, root::Inverse { steps: Some(steps), ..inverse("packages", "package.remove", body) });
    let plan = world.ask("Helper/RequestUndo", &undo(&of, Mode::Preview)).completed().plan.clone().unwrap();
    assert_eq!((plan.packages[0].old.as_str(), plan.packages[0].asked), ("1.22", true));
    assert_eq!(world.ask("Helper/RequestUndo", &undo(&of, Mode::Execute)).completed().status(), Status::Done);
    assert!(world.probe.asked.lock().unwrap().is_empty());
    let claim = world.recorder.executed.lock().unwrap().remove(0).claim;
    assert_eq!((claim.family.as_str(), claim.objects), ("packages", strings(&["packages"])));
}

#[test]
fn undoes_a_unit_change_only_if_the_state_is_unchanged() {
    let rule = root::Rule { id: "site".to_owned(), ..unit("u", "x.service", &["unit.stop", "request.undo"]) };
    let world = World::new(vec![rule]);
    let body = wire::UnitStopRequest { meta: None, unit: "x.service".to_owned() }.encode_to_vec();
    let left = Some(of_unit(state("x.service", "active")));
    let of = known(&world, root::Inverse { left, ..inverse("units", "unit.stop", body) });
    assert_eq!(world.ask("Helper/RequestUndo", &undo(&of, Mode::Execute)).completed().status(), Status::Done);
    let Question::Unit(asked) = world.probe.asked.lock().unwrap()[0].clone() else {
        panic!("not about a unit")
    };
    assert_eq!((asked.unit.as_str(), asked.action.as_str()), ("x.service", "stop"));
    world.probe.on(|_, stream| send(stream, Kind::Facts, &of_unit(state("x.service", "failed"))));
    assert_eq!(world.ask("Helper/RequestUndo", &undo(&of, Mode::Execute)).refused().code, "undo_conflict");
}
