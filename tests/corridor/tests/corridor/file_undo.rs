//! A client undoes its own requests, as the inverse request, and only objects that are still as it left them.

use crate::approvals::ask;
use postern_corridor::{
    CLIENT_UID, GROUP_UID, OPERATOR, World, call, change_away, change_to, changing, meta, mkdir, names,
    new_id, patch, remove, rule, set_mode, strings, write_request,
};
use postern_proto::root::v1 as root;
use postern_proto::v1::{self as wire, Mode, Status};
use prost::Message;
use std::fs;
use std::os::unix::fs::{MetadataExt, PermissionsExt};

fn world() -> World {
    World::new(|at| vec![changing(at)])
}

fn undo(of: &str) -> wire::RequestUndoRequest {
    wire::RequestUndoRequest { meta: meta(Mode::Execute), of: of.to_owned() }
}

fn id(meta: Option<&wire::Meta>) -> String {
    meta.unwrap().request_id.clone()
}

/// Does what is asked, takes it back, and takes that back: what each leaves, as `look` sees it.
fn there_and_back<M: Message>(
    world: &World,
    (method, request, meta): (&str, M, Option<wire::Meta>),
    look: impl Fn() -> String,
) -> [String; 4] {
    let mut channel = world.connect(CLIENT_UID);
    let before = look();
    let answer = channel.ask(method, &request);
    assert_eq!((answer.completed().status(), answer.completed().undoable), (Status::Done, true), "{method}");
    let after = look();
    let back = undo(&id(meta.as_ref()));
    let undone = channel.ask("Helper/RequestUndo", &back);
    assert_eq!((undone.completed().status(), undone.completed().undoable), (Status::Done, true), "{method}");
    assert!(undone.completed().plan.is_some());
    let undone = look();
    let again = channel.ask("Helper/RequestUndo", &undo(&id(back.meta.as_ref())));
    assert_eq!(again.completed().status(), Status::Done, "{method}");
    let gone = channel.ask("Helper/RequestUndo", &undo(&id(meta.as_ref())));
    assert_eq!(gone.refused().code, "undo_gone", "{method}");
    assert!(names(&world.path("site")).iter().all(|name| !name.starts_with('.')));
    [before, after, undone, look()]
}

/// Every file and directory below `site` with mode and content.
fn tree(world: &World) -> String {
    let mut lines = Vec::new();
    for name in names(&world.path("site")) {
        let path = world.path(&format!("site/{name}"));
        let mode = fs::metadata(&path).unwrap().mode();
        lines.push(format!("{name} {mode:o} {}", fs::read_to_string(&path).unwrap_or_default()));
    }
    lines.join("\n")
}

#[test]
fn every_change_of_files_can_be_undone_and_the_undo_too() {
    let world = world();
    fs::write(world.path("site/b"), "old b").unwrap();
    fs::set_permissions(world.path("site/b"), fs::Permissions::from_mode(0o640)).unwrap();
    fs::write(world.path("site/c"), "old c").unwrap();
    let at = |name: &str| world.text(&format!("site/{name}"));
    let check = |[before, after, undone, again]: [String; 4]| {
        assert_ne!(before, after);
        assert_eq!((&undone, &again), (&before, &after));
    };
    let look = || tree(&world);
    let write = write_request(&at("b"), b"new b", "any");
    check(there_and_back(&world, ("Helper/FileWrite", write.clone(), write.meta), look));
    let new = write_request(&at("new"), b"x", "absent");
    check(there_and_back(&world, ("Helper/FileWrite", new.clone(), new.meta), look));
    let all = patch(vec![change_to(&at("a"), b"a"), change_to(&at("b"), b"2"), change_away(&at("c"))]);
    check(there_and_back(&world, ("Helper/FilePatch", all.clone(), all.meta), look));
    let gone = remove(&at("a"));
    check(there_and_back(&world, ("Helper/FileRemove", gone.clone(), gone.meta), look));
    let made = mkdir(&at("d"));
    check(there_and_back(&world, ("Helper/FileMkdir", made.clone(), made.meta), look));
    fs::set_permissions(world.path("site/d"), fs::Permissions::from_mode(0o700)).unwrap();
    fs::set_permissions(world.path("site/new"), fs::Permissions::from_mode(0o600)).unwrap();
    let set = set_mode(&at("new"), "0644");
    check(there_and_back(&world, ("Helper/FileSetMode", set.clone(), set.meta), look));
}

#[test]
fn the_same_undo_asked_again_acts_once() {
    let world = world();
    let write = write_request(&world.text("site/a"), b"1", "any");
    let mut channel = world.connect(CLIENT_UID);
    channel.ask("Helper/FileWrite", &write);
    let back = undo(&id(write.meta.as_ref()));
    assert_eq!(channel.ask("Helper/RequestUndo", &back).completed().status(), Status::Done);
    assert!(channel.ask("Helper/RequestUndo", &back).completed().replayed);
    assert_eq!(world.count("begin"), 2);
}

#[test]
fn another_clients_request_is_unknown() {
    let world = World::with(|at| {
        let all = root::Rule { client: "all".to_owned(), id: "all".to_owned(), ..changing(at) };
        let agent = root::Rule { id: "agent".to_owned(), ..changing(at) };
        let group =
            root::Client { name: "all".to_owned(), group: "helpers".to_owned(), ..Default::default() };
        root::Rules { clients: vec![group], rules: vec![all, agent], ..Default::default() }
    });
    let write = write_request(&world.text("site/a"), b"1", "any");
    world.connect(CLIENT_UID).ask("Helper/FileWrite", &write);
    let (stream_of, none) = (undo(&id(write.meta.as_ref())), undo(&new_id()));
    let mut other = world.connect(GROUP_UID);
    let (theirs, missing) =
        (other.ask("Helper/RequestUndo", &stream_of), other.ask("Helper/RequestUndo", &none));
    assert_eq!(theirs.refused(), missing.refused(), "an id of another client is like one that never was");
    assert_eq!(theirs.refused().code, "unknown_request");
}

#[test]
fn undoes_only_the_newest_change_of_a_file() {
    let world = world();
    let mut channel = world.connect(CLIENT_UID);
    let path = world.text("site/a");
    let writes = ["1", "2", "1"].map(|content| {
        let write = write_request(&path, content.as_bytes(), "any");
        channel.ask("Helper/FileWrite", &write);
        id(write.meta.as_ref())
    });
    // The content is what the first one wrote, and yet others came after it.
    let first = channel.ask("Helper/RequestUndo", &undo(&writes[0]));
    assert_eq!(first.refused().code, "undo_conflict");
    assert!(first.refused().message.contains(&writes[2]), "{}", first.refused().message);
    for of in writes.iter().rev() {
        assert_eq!(channel.ask("Helper/RequestUndo", &undo(of)).completed().status(), Status::Done);
    }
    assert_eq!(names(&world.path("site")), strings(&[]));
}

#[test]
fn undoes_nothing_of_a_patch_if_one_file_changed_since() {
    let world = world();
    let mut channel = world.connect(CLIENT_UID);
    let at = |name: &str| world.text(&format!("site/{name}"));
    fs::write(at("c"), "old c").unwrap();
    let all = patch(vec![change_to(&at("a"), b"a"), change_to(&at("b"), b"b"), change_away(&at("c"))]);
    channel.ask("Helper/FilePatch", &all);
    let back = || undo(&id(all.meta.as_ref()));
    let mut conflict = || {
        let before = tree(&world);
        assert_eq!(channel.ask("Helper/RequestUndo", &back()).refused().code, "undo_conflict");
        assert_eq!(tree(&world), before);
    };
    fs::write(at("b"), "a person's work").unwrap();
    conflict();
    fs::write(at("b"), "b").unwrap();
    fs::set_permissions(at("b"), fs::Permissions::from_mode(0o600)).unwrap();
    conflict();
    fs::set_permissions(at("b"), fs::Permissions::from_mode(0o644)).unwrap();
    fs::write(at("c"), "there again").unwrap();
    conflict();
    fs::remove_file(at("c")).unwrap();
    fs::remove_file(at("a")).unwrap();
    conflict();
    fs::write(at("a"), "a").unwrap();
    assert_eq!(channel.ask("Helper/RequestUndo", &back()).completed().status(), Status::Done);
    assert_eq!(names(&world.path("site")), ["c"]);
}

#[test]
fn keeps_a_directory_that_is_not_empty() {
    let world = world();
    let mut channel = world.connect(CLIENT_UID);
    let made = mkdir(&world.text("site/d"));
    channel.ask("Helper/FileMkdir", &made);
    fs::write(world.path("site/d/file"), "x").unwrap();
    let answer = channel.ask("Helper/RequestUndo", &undo(&id(made.meta.as_ref())));
    assert_eq!(
        (answer.completed().status(), answer.completed().code.as_str()),
        (Status::Failed, "precondition_failed")
    );
    assert_eq!(names(&world.path("site")), ["d"]);
    assert!(world.path("site/d/file").exists());
    fs::remove_file(world.path("site/d/file")).unwrap();
    let answer = channel.ask("Helper/RequestUndo", &undo(&id(made.meta.as_ref())));
    assert_eq!(answer.completed().status(), Status::Done);
}

#[test]
fn an_undo_needs_its_rule_the_inverse_verb_and_its_limits() {
    let world = World::new(|at| {
        let of = |id: &str, files: &str, verbs: &[&str]| root::Rule {
            id: id.to_owned(),
            files: strings(&[files]),
            verbs: strings(verbs),
            ..changing(at)
        };
        vec![
            of("no-undo", "a", &["file.write", "file.remove"]),
            of("no-remove", "b", &["file.write", "request.undo"]),
            root::Rule {
                modes: strings(&["0644"]),
                ..of("no-mode", "c", &["file.write", "file.remove", "request.undo"])
            },
        ]
    });
    fs::write(world.path("site/c"), "old").unwrap();
    fs::set_permissions(world.path("site/c"), fs::Permissions::from_mode(0o600)).unwrap();
    let mut channel = world.connect(CLIENT_UID);
    let mut code = |name: &str| {
        let path = world.text(&format!("site/{name}"));
        let write = write_request(&path, b"1", "any");
        let request = if name == "c" { remove(&path) } else { wire::FileRemoveRequest::default() };
        let meta = if name == "c" { request.meta.clone() } else { write.meta.clone() };
        let done = if name == "c" {
            channel.ask("Helper/FileRemove", &request)
        } else {
            channel.ask("Helper/FileWrite", &write)
        };
        assert_eq!(done.completed().status(), Status::Done);
        let refused = channel.ask("Helper/RequestUndo", &undo(&id(meta.as_ref()))).refused().clone();
        (refused.code, refused.missing)
    };
    assert_eq!(code("a"), ("no_grant".to_owned(), "request.undo no-undo".to_owned()));
    assert_eq!(code("b"), ("no_grant".to_owned(), format!("file.remove {}", world.text("site/b"))));
    assert_eq!(code("c"), ("limit_exceeded".to_owned(), String::new()), "it had a mode that no rule grants");
}

#[test]
fn asks_again_before_it_undoes_what_a_person_approved() {
    let world = World::new(|at| {
        let decision = root::Decision::Ask.into();
        vec![root::Rule { decision, approval_ttl_s: 900, approvers: 1, ..changing(at) }]
    });
    fs::write(world.path("site/a"), "old\n").unwrap();
    let mut channel = world.connect(CLIENT_UID);
    let write = write_request(&world.text("site/a"), b"new\n", "any");
    let (stream, waiting) = ask(&mut channel, "Helper/FileWrite", &write);
    world.operator(OPERATOR).approve(&waiting.approval_id).unwrap();
    assert_eq!(channel.answer(stream).completed().status(), Status::Done);
    // The policy now lets it through, but a person has decided before.
    // As an accepted policy has it, a rule that allows says nothing of how long or whom to ask.
    let allowed = root::Rule { approval_ttl_s: 0, approvers: 0, ..changing(&world.path("")) };
    let site = world.text("site");
    let allowed = root::Rule { directories: vec![site], ..allowed };
    world.apply(vec![allowed]);
    let (stream, waiting) = ask(&mut channel, "Helper/RequestUndo", &undo(&id(write.meta.as_ref())));
    let (shown, _) = world.operator(OPERATOR).show(&waiting.approval_id);
    let order = root::Order::decode(shown.order.as_slice()).unwrap();
    assert_eq!((order.verb.as_str(), order.inverse.unwrap().verb.as_str()), ("request.undo", "file.write"));
    assert_eq!(fs::read_to_string(world.path("site/a")).unwrap(), "new\n");
    world.operator(OPERATOR).approve(&waiting.approval_id).unwrap();
    assert_eq!(channel.answer(stream).completed().status(), Status::Done);
    assert_eq!(fs::read_to_string(world.path("site/a")).unwrap(), "old\n");
}

#[test]
fn a_preview_of_an_undo_tells_its_plan_and_changes_nothing() {
    let world = world();
    let mut channel = world.connect(CLIENT_UID);
    let write = write_request(&world.text("site/a"), b"1", "any");
    channel.ask("Helper/FileWrite", &write);
    let request = wire::RequestUndoRequest { meta: meta(Mode::Preview), of: id(write.meta.as_ref()) };
    let answer = channel.ask("Helper/RequestUndo", &request);
    let step = &answer.completed().plan.as_ref().unwrap().files[0];
    assert_eq!((step.kind(), answer.completed().status()), (wire::ChangeKind::Remove, Status::Previewed));
    assert_eq!(names(&world.path("site")), ["a"]);
}

#[test]
fn an_undo_tells_nothing_of_restored_content_without_file_read() {
    let told = |verbs: &[&str]| {
        let world = World::new(|at| vec![root::Rule { verbs: strings(verbs), ..changing(at) }]);
        fs::write(world.path("site/a"), "a secret of another").unwrap();
        let mut channel = world.connect(CLIENT_UID);
        let write = write_request(&world.text("site/a"), b"new", "any");
        channel.ask("Helper/FileWrite", &write);
        let mut ask = |mode| {
            let request = wire::RequestUndoRequest { meta: meta(mode), of: id(write.meta.as_ref()) };
            let completed = channel.ask("Helper/RequestUndo", &request).completed().clone();
            let step = completed.plan.unwrap().files.remove(0);
            let info = completed.files.into_iter().next().unwrap_or_default();
            (step.new_sha256, step.new_size, info.sha256, info.size)
        };
        (ask(Mode::Preview), ask(Mode::Execute))
    };
    let nothing = (String::new(), 0, String::new(), 0);
    assert_eq!(told(&["file.write", "request.undo"]), (nothing.clone(), nothing));
    let (preview, done) = told(&["file.write", "request.undo", "file.read"]);
    assert_eq!((preview.1, done.1, done.3), (19, 19, 19));
}

#[test]
fn an_operators_undo_can_be_undone_by_its_own_id() {
    let world = world();
    fs::write(world.path("site/a"), "old").unwrap();
    let write = write_request(&world.text("site/a"), b"new", "any");
    world.connect(CLIENT_UID).ask("Helper/FileWrite", &write);
    let mut operator = world.operator(OPERATOR);
    let mut undo = |of: &str| {
        let request = wire::OperatorUndoRequest { request_id: of.to_owned(), ..Default::default() };
        let undone: wire::OperatorUndone = call(&mut operator, "Operator/Undo", &request).unwrap();
        assert_eq!(undone.code, "", "{}", undone.message);
    };
    undo(&id(write.meta.as_ref()));
    assert_eq!(fs::read_to_string(world.path("site/a")).unwrap(), "old");
    let begun =
        world.records("begin").into_iter().find(|record| record["client"]["uid"] == OPERATOR).unwrap();
    undo(begun["request_id"].as_str().unwrap());
    assert_eq!(fs::read_to_string(world.path("site/a")).unwrap(), "new");
}

#[test]
fn a_client_stops_the_unit_that_it_started() {
    let world = World::new(|_| {
        let of =
            |id: &str, verbs: &[&str]| root::Rule { units: strings(&["nginx.service"]), ..rule(id, verbs) };
        vec![of("start", &["unit.start", "request.undo"]), of("stop", &["unit.stop"])]
    });
    let shown = |active: &str| {
        format!(
            "Id=nginx.service\\nNames=nginx.service\\nLoadState=loaded\\nActiveState={active}\\nUnitFileState=enabled\\n"
        )
    };
    world.systemctl(&format!(
        "state=$(dirname $0)/up\ncase $1 in show) [ -e $state ] && printf '{}' || printf '{}';; start) touch $state;; stop) rm $state;; esac",
        shown("active"),
        shown("inactive")
    ));
    let mut channel = world.connect(CLIENT_UID);
    let start = wire::UnitStartRequest { meta: meta(Mode::Execute), unit: "nginx.service".to_owned() };
    assert_eq!(channel.ask("Helper/UnitStart", &start).completed().status(), Status::Done);
    let answer = channel.ask("Helper/RequestUndo", &undo(&id(start.meta.as_ref())));
    assert_eq!(answer.completed().status(), Status::Done);
    assert_eq!(answer.completed().plan.as_ref().unwrap().units[0].verb, "stop");
    assert!(!world.path("up").exists());
}

#[test]
fn does_not_undo_a_unit_that_changed_while_a_person_was_asked() {
    let world = World::new(|_| {
        let of =
            |id: &str, verbs: &[&str]| root::Rule { units: strings(&["nginx.service"]), ..rule(id, verbs) };
        let stop = root::Rule {
            decision: root::Decision::Ask.into(),
            approval_ttl_s: 900,
            approvers: 1,
            ..of("stop", &["unit.stop"])
        };
        vec![of("start", &["unit.start", "request.undo"]), stop]
    });
    let shown = |active: &str, enabled: &str| {
        format!(
            "Id=nginx.service\\nNames=nginx.service\\nLoadState=loaded\\nActiveState={active}\\nUnitFileState={enabled}\\n"
        )
    };
    let systemctl = |enabled: &str| {
        let (up, down) = (shown("active", enabled), shown("inactive", enabled));
        world.systemctl(&format!(
            "state=$(dirname $0)/up\ncase $1 in show) [ -e $state ] && printf '{up}' || printf '{down}';; start) touch $state;; stop) rm $state;; esac"
        ));
    };
    systemctl("enabled");
    let mut channel = world.connect(CLIENT_UID);
    let start = wire::UnitStartRequest { meta: meta(Mode::Execute), unit: "nginx.service".to_owned() };
    assert_eq!(channel.ask("Helper/UnitStart", &start).completed().status(), Status::Done);
    let (stream, waiting) = ask(&mut channel, "Helper/RequestUndo", &undo(&id(start.meta.as_ref())));
    systemctl("disabled");
    world.operator(OPERATOR).approve(&waiting.approval_id).unwrap();
    let told = channel.answer(stream).completed().clone();
    assert_eq!((told.status(), told.code.as_str()), (Status::Failed, "undo_conflict"));
    assert!(world.path("up").exists());
}
