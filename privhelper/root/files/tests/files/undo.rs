//! Undo of changes of files: by the client whom the policy grants the inverse, and by an operator.

use crate::support::{
    Answer, CLIENT, OPERATOR, OTHER, Request, World, all_verbs, away, mkdir, names, patch, remove, set_mode,
    set_owner, strings, to, tree, whole, write,
};
use postern_proto::root::v1 as root;
use postern_proto::v1::{self as wire, Status};
use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

fn world() -> World {
    World::new(|at| vec![all_verbs(at)])
}

/// Does what is asked, undoes it, and undoes that: the tree before and after each.
fn there_and_back<R: Request>(world: &World, request: &R) {
    let site = world.path("site");
    let before = tree(&site);
    let answer = world.ask(request);
    assert_eq!((answer.status(), answer.done().undoable), (Status::Done, true), "{}", R::VERB);
    let after = tree(&site);
    assert_ne!(before, after);
    let undone = world.undo(answer.inverse());
    assert_eq!((undone.status(), undone.done().undoable), (Status::Done, true), "{}", R::VERB);
    assert_eq!(undone.outcome.as_ref().unwrap().verb, "request.undo");
    assert_eq!(tree(&site), before, "{}", R::VERB);
    let gone = world.undo(answer.inverse());
    assert!(["undo_gone", "undo_conflict"].contains(&gone.code()), "{}", gone.code());
    assert_eq!(world.undo(undone.inverse()).status(), Status::Done, "{}", R::VERB);
    assert_eq!(tree(&site), after, "{}", R::VERB);
}

#[test]
fn every_change_of_files_can_be_undone_and_the_undo_too() {
    let world = World::new(|at| {
        vec![root::Rule {
            owners: strings(&["root", "postern"]),
            groups: strings(&["root", "helpers"]),
            ..all_verbs(at)
        }]
    });
    fs::write(world.path("site/b"), "old b").unwrap();
    fs::set_permissions(world.path("site/b"), fs::Permissions::from_mode(0o640)).unwrap();
    fs::write(world.path("site/c"), "old c").unwrap();
    let at = |name: &str| world.text(&format!("site/{name}"));
    there_and_back(&world, &write(&at("b"), b"new b"));
    there_and_back(&world, &write(&at("new"), b"x"));
    there_and_back(&world, &patch(vec![to(&at("a"), b"a"), to(&at("b"), b"2"), away(&at("c"))]));
    there_and_back(&world, &patch(vec![to(&at("one"), b"1")]));
    there_and_back(&world, &remove(&at("a")));
    there_and_back(&world, &mkdir(&at("d")));
    fs::set_permissions(world.path("site/d"), fs::Permissions::from_mode(0o700)).unwrap();
    there_and_back(&world, &set_mode(&at("d"), "0755"));
    fs::set_permissions(world.path("site/new"), fs::Permissions::from_mode(0o600)).unwrap();
    there_and_back(&world, &set_mode(&at("new"), "0644"));
    let moded = wire::FileChange { mode: "0600".to_owned(), ..to(&at("b"), b"with a mode") };
    there_and_back(&world, &patch(vec![moded]));
}

#[test]
fn rejects_an_inverse_not_issued_by_this_program_for_this_client() {
    let world = world();
    let written = world.ask(&write(&world.text("site/a"), b"1"));
    let inverse = written.inverse();
    let forged = root::Inverse { uid: OTHER, ..inverse.clone() };
    assert_eq!(world.undo(&forged).code(), "undo_gone");
    let elsewhere = root::Inverse { body: remove(&world.text("site/b")).split().0, ..inverse.clone() };
    assert_eq!(world.undo(&elsewhere).code(), "undo_gone");
    let order = world.undo_order(OTHER, inverse);
    assert_eq!(world.inspect(&order, None).code(), "unknown_request", "another client's");
    let order = world.undo_order(CLIENT, inverse);
    assert_eq!(world.inspect(&root::Order { inverse: None, ..order }, None).code(), "invalid_argument");
    assert_eq!(names(&world.path("site")), ["a"]);
    assert_eq!(world.undo(inverse).status(), Status::Done);
    // The one copy left is of the removed file, for the undo of this undo.
    assert_eq!((names(&world.path("site")).len(), names(&world.path("state/undo")).len()), (0, 1));
}

#[test]
fn nothing_of_a_patch_is_undone_if_one_file_changed_since() {
    let world = world();
    let at = |name: &str| world.text(&format!("site/{name}"));
    fs::write(at("c"), "old c").unwrap();
    let done = world.ask(&patch(vec![to(&at("a"), b"a"), to(&at("b"), b"b"), away(&at("c"))]));
    let conflict = || {
        let before = tree(&world.path("site"));
        assert!(["undo_conflict", "not_found"].contains(&world.undo(done.inverse()).code()));
        assert_eq!(tree(&world.path("site")), before);
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
    assert_eq!(world.undo(done.inverse()).status(), Status::Done);
    assert_eq!(names(&world.path("site")), ["c"]);
}

#[test]
fn a_file_that_changes_between_facts_and_undo_is_left_alone() {
    let world = world();
    let path = world.text("site/a");
    fs::write(&path, "old").unwrap();
    let done = world.ask(&write(&path, b"new"));
    let mut order = world.undo_order(CLIENT, done.inverse());
    order.facts = world.inspect(&order, None).facts;
    fs::write(&path, "a person's work").unwrap();
    assert_eq!(world.execute(&order, &[], whole()).code(), "undo_conflict");
    assert_eq!(fs::read(&path).unwrap(), b"a person's work");
}

#[test]
fn a_directory_that_is_not_empty_stays() {
    let world = world();
    let made = world.ask(&mkdir(&world.text("site/d")));
    fs::write(world.path("site/d/file"), "x").unwrap();
    assert_eq!(world.undo(made.inverse()).code(), "precondition_failed");
    assert_eq!(names(&world.path("site")), ["d"]);
    assert!(world.path("site/d/file").exists() && names(&world.path("state/outcomes")).len() == 1);
    fs::remove_file(world.path("site/d/file")).unwrap();
    assert_eq!(world.undo(made.inverse()).status(), Status::Done);
    // No client can ask for that itself.
    fs::create_dir(world.path("site/d")).unwrap();
    assert_eq!(world.ask(&remove(&world.text("site/d"))).code(), "special_file");
}

#[test]
fn an_undo_needs_its_rule_the_inverse_verb_and_its_limits() {
    let world = World::new(|at| {
        let of = |id: &str, files: &str, verbs: &[&str]| root::Rule {
            id: id.to_owned(),
            files: strings(&[files]),
            verbs: strings(verbs),
            ..all_verbs(at)
        };
        vec![
            of("no-undo", "a", &["file.write", "file.remove"]),
            of("no-remove", "b", &["file.write", "request.undo"]),
            root::Rule {
                modes: strings(&["0644"]),
                ..of("no-mode", "c", &["file.write", "file.remove", "request.undo"])
            },
            root::Rule { lines: strings(&["ok *"]), ..of("lines", "d", &["file.write", "request.undo"]) },
        ]
    });
    fs::write(world.path("site/c"), "old").unwrap();
    fs::set_permissions(world.path("site/c"), fs::Permissions::from_mode(0o600)).unwrap();
    fs::write(world.path("site/d"), "not ok").unwrap();
    let code = |answer: Answer| {
        let undone = world.undo(answer.inverse());
        (undone.code().to_owned(), undone.refused().message.clone())
    };
    let written = |name: &str| world.ask(&write(&world.text(&format!("site/{name}")), b"ok 1"));
    assert_eq!(code(written("a")).0, "no_grant");
    assert_eq!(code(written("b")).0, "no_grant");
    let (limit, why) = code(world.ask(&remove(&world.text("site/c"))));
    assert!(limit == "limit_exceeded" && why.contains("modes"), "{why}");
    let (limit, why) = code(written("d"));
    assert!(
        limit == "limit_exceeded" && why.contains("`lines`"),
        "what comes back is held to the rule too: {why}"
    );
    assert_eq!(fs::read(world.path("site/d")).unwrap(), b"ok 1");
}

#[test]
fn an_undo_reads_nothing_before_it_is_decided() {
    let mut world = world();
    let path = world.text("site/a");
    fs::write(&path, "old").unwrap();
    let done = world.ask(&write(&path, b"new"));
    let kept = world.path("state/undo").join(&names(&world.path("state/undo"))[0]);
    // Opening a FIFO for reading would block.
    fs::remove_file(&kept).unwrap();
    nix::unistd::mkfifo(&kept, nix::sys::stat::Mode::S_IRUSR).unwrap();
    world.apply(vec![root::Rule { verbs: strings(&["file.read"]), ..all_verbs(&world.path("")) }]);
    let order = world.undo_order(CLIENT, done.inverse());
    let is_decided = AtomicBool::new(false);
    std::thread::scope(|scope| {
        // Whoever opens it is let go after a while, and the test fails in place of hanging.
        scope.spawn(|| {
            let deadline = Instant::now() + Duration::from_secs(20);
            while !is_decided.load(Ordering::Relaxed) && Instant::now() < deadline {
                std::thread::sleep(Duration::from_millis(10));
            }
            drop(fs::OpenOptions::new().read(true).write(true).open(&kept));
        });
        assert_eq!(world.execute(&order, &[], whole()).code(), "no_grant");
        assert_eq!(world.inspect(&order, None).code(), "no_grant");
        is_decided.store(true, Ordering::Relaxed);
    });
}

#[test]
fn the_undo_of_an_approved_request_needs_approval() {
    let ask = root::Decision::Ask.into();
    let mut world = World::new(|at| vec![root::Rule { decision: ask, ..all_verbs(at) }]);
    let path = world.text("site/a");
    let approved = |world: &World, order: &root::Order| {
        let (id, policy) = (&world.host.boot_id, world.state().active.policy.digest());
        let bytes = prost::Message::encode_to_vec(order);
        let approved = postern_proto::link::approval_digest(id, policy.as_bytes(), &bytes).to_vec();
        root::Envelope { approvers: vec![OPERATOR], approved, ..whole() }
    };
    let (mut order, contents) = world.order(CLIENT, &write(&path, b"new"));
    order.facts = world.inspect(&order, None).facts;
    let done = world.execute(&order, &contents, approved(&world, &order));
    // The policy allows it now, but a person decided before.
    world.apply(vec![all_verbs(&world.path(""))]);
    let mut undo = world.undo_order(CLIENT, done.inverse());
    undo.facts = world.inspect(&undo, None).facts;
    assert_eq!(world.execute(&undo, &[], whole()).code(), "not_approved");
    assert_eq!(world.execute(&undo, &[], approved(&world, &undo)).status(), Status::Done);
}

#[test]
fn an_operator_undo_needs_no_rule_but_never_touches_protected_paths() {
    let mut world = world();
    let path = world.text("site/a");
    fs::write(&path, "old").unwrap();
    let done = world.ask(&write(&path, b"new"));
    let read_only = root::Rule { verbs: strings(&["file.read"]), ..all_verbs(&world.path("")) };
    world.apply(vec![read_only.clone()]);
    assert_eq!(world.undo(done.inverse()).code(), "no_grant");
    let order = world.undo_order(CLIENT, done.inverse());
    let by_client = root::Envelope { by_operator: true, operator_uid: CLIENT, ..whole() };
    assert_eq!(world.execute(&order, &[], by_client).code(), "not_approved");
    let protect = root::Protect { paths: vec![world.text("site")], ..root::Protect::default() };
    let rules = root::Rules { rules: vec![read_only], protect: Some(protect), ..root::Rules::default() };
    let unprotected = fs::read(&world.host.accepted).unwrap();
    fs::write(&world.host.accepted, crate::support::accepted(rules)).unwrap();
    world.restart();
    assert_eq!(world.operator_undo(done.inverse()).code(), "protected");
    fs::write(&world.host.accepted, unprotected).unwrap();
    world.restart();
    let undone = world.operator_undo(done.inverse());
    assert_eq!((undone.status(), undone.outcome.as_ref().unwrap().uid), (Status::Done, OPERATOR));
    assert_eq!(fs::read(&path).unwrap(), b"old");
    // An operator's undo can be undone by an operator.
    assert_eq!(world.operator_undo(undone.inverse()).status(), Status::Done);
    assert_eq!(fs::read(&path).unwrap(), b"new");
}

/// Tests that need root: other owners.
mod as_root {
    use super::*;

    #[test]
    #[ignore = "needs root: nobody else can give a file away"]
    fn a_file_that_was_given_away_is_taken_back_by_its_undo() {
        let world = World::new(|at| {
            let owners = strings(&["root", "postern"]);
            vec![root::Rule { owners, groups: strings(&["root", "helpers"]), ..all_verbs(at) }]
        });
        let path = world.text("site/new");
        assert_eq!(world.ask(&write(&path, b"new")).status(), Status::Done);
        let owner = || {
            let facts = fs::metadata(&path).unwrap();
            (std::os::unix::fs::MetadataExt::uid(&facts), std::os::unix::fs::MetadataExt::gid(&facts))
        };
        let given = world.ask(&set_owner(&path, "postern", "helpers"));
        assert_eq!(owner(), (CLIENT, 4_000_100));
        let undone = world.undo(given.inverse());
        assert_eq!((undone.status(), owner()), (Status::Done, (0, 0)));
        assert_eq!((world.undo(undone.inverse()).status(), owner()), (Status::Done, (CLIENT, 4_000_100)));
    }

    #[test]
    #[ignore = "needs root: nobody else can give a file away"]
    fn a_change_whose_undo_needs_an_owner_without_a_name_says_that_it_has_none() {
        let world = world();
        fs::write(world.path("site/a"), "x").unwrap();
        std::os::unix::fs::chown(world.path("site/a"), Some(4_999_999), None).unwrap();
        let answer = world.ask(&write(&world.text("site/a"), b"y"));
        assert!(answer.done().undoable, "the owner stays: nothing of it is brought back");
        let answer = world.ask(&remove(&world.text("site/a")));
        assert_eq!((answer.status(), answer.done().undoable), (Status::Done, false));
        assert!(answer.outcome.unwrap().inverse.is_none());
    }
}
